/* The CUDA driver library, opened by dlopen at its first use. No CUDA header is needed: the types and
 * constants of its ABI that are used are declared here. */
#ifndef GR_DEVICE_CUDA_DRIVER_H
#define GR_DEVICE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef int gr_cu_result;
typedef int gr_cu_device;
typedef uint64_t gr_cu_deviceptr;
typedef struct gr_cu_context_handle *gr_cu_context;
typedef struct gr_cu_module_handle *gr_cu_module;
typedef struct gr_cu_function_handle *gr_cu_function;
typedef struct gr_cu_stream_handle *gr_cu_stream;
typedef struct gr_cu_graph_handle *gr_cu_graph;
typedef struct gr_cu_graph_exec_handle *gr_cu_graph_exec;
typedef struct gr_cu_graph_node_handle *gr_cu_graph_node;
typedef struct gr_cu_event_handle *gr_cu_event;
typedef struct gr_cu_pool_handle *gr_cu_pool;
typedef struct gr_cu_owner_handle *gr_cu_owner; /* CUuserObject: a resource that a graph owns */

/* Results that need their own treatment; others only appear in messages. */
enum {
    GR_CU_SUCCESS = 0,
    GR_CU_OUT_OF_MEMORY = 2,
    GR_CU_NOT_INITIALIZED = 3,
    GR_CU_NO_MACHINE_CODE = 209, /* CUDA_ERROR_NO_BINARY_FOR_GPU */
    GR_CU_NOT_READY = 600,
    GR_CU_CAPTURE_IMPLICIT = 906
};

enum {
    GR_CU_DEVICE_MULTIPROCESSORS = 16,
    GR_CU_DEVICE_MEMORY_CLOCK_KHZ = 36,
    GR_CU_DEVICE_MEMORY_BUS_BITS = 37,
    GR_CU_DEVICE_THREADS_PER_MULTIPROCESSOR = 39,
    GR_CU_DEVICE_CAPABILITY_MAJOR = 75,
    GR_CU_DEVICE_CAPABILITY_MINOR = 76,
    GR_CU_DEVICE_SHARED_PER_BLOCK_OPTIN = 97,
    GR_CU_DEVICE_MEMORY_POOLS = 115,
    GR_CU_DEVICE_CLUSTER_LAUNCH = 120,
};
enum {
    GR_CU_FUNCTION_STATIC_SHARED = 1,
    GR_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    GR_CU_FUNCTION_ANY_CLUSTER = 14, /* non-portable cluster sizes are allowed */
};
enum {
    GR_CU_POINTER_MEMORY_TYPE = 2,
    GR_CU_POINTER_DEVICE = 9,
    GR_CU_POINTER_RANGE_START = 11,
    GR_CU_POINTER_RANGE_BYTES = 12,
};
enum { GR_CU_MEMORY_HOST = 1, GR_CU_HOST_PORTABLE = 1, GR_CU_HOST_MAPPED = 2 };
enum { GR_CU_EVENT_NO_TIMING = 2 };
enum { GR_CU_JIT_ERROR_LOG = 5, GR_CU_JIT_ERROR_LOG_SIZE = 6 };
enum { GR_CU_STREAM_NON_BLOCKING = 1 };
enum { GR_CU_TENSOR_NOT_INTERLEAVED = 0, GR_CU_TENSOR_L2_128_BYTES = 2, GR_CU_TENSOR_FILL_ZERO = 0 };
/* Capture modes: whose potentially unsafe calls invalidate a capture: those of all threads, of the capturing
 * thread, of none. */
enum { GR_CU_CAPTURE_GLOBAL = 0, GR_CU_CAPTURE_THREAD_LOCAL = 1, GR_CU_CAPTURE_RELAXED = 2 };
enum { GR_CU_CAPTURE_NONE = 0, GR_CU_CAPTURE_ACTIVE = 1, GR_CU_CAPTURE_INVALIDATED = 2 };
enum { GR_CU_OWNER_NO_SYNC = 1, GR_CU_GRAPH_TAKES_REFERENCES = 1 };
enum {
    GR_CU_POOL_PINNED = 1,
    GR_CU_POOL_ON_DEVICE = 1,
    GR_CU_POOL_REUSE_BY_WAITING = 3,
    GR_CU_POOL_RELEASE_THRESHOLD = 4
};

typedef struct gr_cu_pool_properties {
    int type;         /* GR_CU_POOL_PINNED */
    int handle_types; /* 0: not shared with other processes */
    struct {
        int type; /* GR_CU_POOL_ON_DEVICE */
        int id;
    } location;
    void *security;
    size_t max_bytes; /* 0: the default of the system */
    unsigned short usage;
    unsigned char reserved[54];
} gr_cu_pool_properties;
_Static_assert(sizeof(gr_cu_pool_properties) == 88, "as the driver has it");

enum { GR_CU_LAUNCH_CLUSTER = 4, GR_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };

typedef struct gr_cu_launch_attribute {
    int id;
    char padding[8 - sizeof(int)];
    union {
        char reserved[64];
        unsigned cluster[3];
        int pdl;
    } value;
} gr_cu_launch_attribute;

typedef struct gr_cu_launch_config {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    gr_cu_stream stream;
    gr_cu_launch_attribute *attributes;
    unsigned attribute_count;
} gr_cu_launch_config;

/* Keys of the `extra` list of cuLaunchKernel. */
#define GR_CU_LAUNCH_PARAM_END ((void *)0)
#define GR_CU_LAUNCH_PARAM_BUFFER ((void *)(uintptr_t)1)
#define GR_CU_LAUNCH_PARAM_BYTES ((void *)(uintptr_t)2)

/* CU_STREAM_LEGACY, which is ordered with the default streams of other libraries. */
#define GR_CU_STREAM_LEGACY ((gr_cu_stream)(uintptr_t)1)

typedef struct gr_cuda_driver {
#define GR_CUDA_SYMBOL(field, symbol, parameters) gr_cu_result(*field) parameters;
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
} gr_cuda_driver;

/* Returns the initialised driver, which stays loaded. The library is libcuda.so.1, or the file that the
 * environment variable GPUREDUCE_LIBCUDA names. After an error the next call tries again. */
gr_status gr_cuda_driver_get(const gr_cuda_driver **out, gr_error *error);

/* Locks or unlocks the state of gr_cuda_driver_get around fork(), so that the child inherits it unlocked and
   complete. */
void gr_cuda_driver_lock_for_fork(bool taken);

/* GR_ERR_DEVICE in a child that was forked after the driver was initialised: CUDA does not work there. */
gr_status gr_cuda_check_process(gr_error *error);

/* Converts a result of the driver to a status. The message is "<description>: NAME: text", where `doing` is
 * the format of the description. Out of memory is GR_ERR_MEMORY, all else GR_ERR_DEVICE. */
gr_status gr_cuda_check(const gr_cuda_driver *driver, gr_cu_result result, gr_error *error, const char *doing,
                        ...) __attribute__((format(printf, 4, 5)));

#endif
