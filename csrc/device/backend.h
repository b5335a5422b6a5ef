/* The device interface (a vtable), implemented by the CUDA driver (cuda/) and by the PTX simulator (sim/). */
#ifndef GR_DEVICE_BACKEND_H
#define GR_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef uint64_t gr_devptr;

typedef enum gr_device_kind { GR_DEVICE_CUDA, GR_DEVICE_SIM } gr_device_kind;

/* Device capabilities that decide which kernels run and how they may be launched. */
typedef struct gr_device_caps {
    uint32_t capability; /* compute capability, 90 for 9.0; decides only which builds of the kernels can be
                            loaded */
    uint32_t shared_per_block; /* max bytes of shared memory per block (opt-in limit) */
    bool clusters;             /* thread block clusters are supported */
} gr_device_caps;

/* First compute capability with bulk copies (TMA) and programmatic dependent launch: the kernels for it are
 * separate builds. */
enum { GR_HOPPER = 90 };

typedef struct gr_device_info {
    gr_device_kind kind;
    int index;
    char name[256];
    int capability_major, capability_minor; /* compute capability; 0.0 on the simulator */
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint64_t memory_bytes;            /* total device memory, bytes */
    uint64_t memory_bytes_per_second; /* peak bandwidth, bytes per second, from memory clock and bus width; 0
                                         on the simulator */
    gr_device_caps caps;
    int driver_version; /* CUDA driver version, 13000 for 13.0; 0 on the simulator */
} gr_device_info;

/* A compiled kernel file of the package. `name` and `data` live as long as the backend. */
typedef struct gr_image {
    const char *name;   /* name of the rung, for messages */
    const void *data;   /* fatbin or NUL-terminated PTX text; for the simulator PTX */
    size_t size;        /* bytes, the NUL not counted */
    bool optional;      /* if it has no machine code for the device, `load` succeeds and makes no module */
    const char *kernel; /* of PTX: the module needs this kernel alone. NULL: all */
} gr_image;

/* A CUstream; 0 is the legacy default stream, which is ordered with other libraries' default streams. */
typedef uint64_t gr_stream;
typedef uint64_t gr_event; /* a CUevent: a point in a stream that other streams can wait for */

enum { GR_LEGACY_HANDLE = 1, GR_PER_THREAD_HANDLE = 2 }; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */

/* The state of a stream when work is enqueued. */
typedef struct gr_stream_state {
    gr_stream stream;
    uint64_t id; /* id of the stream; unlike the handle it is never reused; 0 for the legacy default stream */
    uint64_t capture;              /* id of the capture sequence, 0 if the stream is not being captured */
    uint64_t graph;                /* CUgraph of the capture */
    bool capture_would_invalidate; /* true for the legacy default stream while a blocking stream is being
                                      captured: any use of the legacy default stream would invalidate that
                                      capture */
} gr_stream_state;

/* Opaque: a CUmodule and CUfunction, or a ptx_module and ptx_kernel. */
typedef struct gr_module gr_module;
typedef struct gr_kernel gr_kernel;

/* A call of a vendor library that launches its own kernels. Its operands follow in a struct that begins with
 * this one. */
typedef struct gr_library_call gr_library_call;
struct gr_library_call {
    const char *name; /* name of the function, for messages */
    /* Enqueues the call in a CUstream of the current context. */
    gr_status (*run)(const gr_library_call *self, void *stream, gr_error *error);
};

/* max. bytes of parameters in which a backend writes a field */
enum { GR_MAX_PATCHED_PARAMS = 256 };

typedef struct gr_launch {
    const gr_library_call *library; /* if set, the call of a library; all other fields are unused */
    const gr_kernel *kernel;
    uint32_t grid[3],
        block[3]; /* blocks per grid, threads per block, along x, y, z; 0 counts as 1, but not along x */
    uint32_t cluster[3];   /* blocks per cluster; all 0 or 1: no clusters */
    uint32_t shared_bytes; /* dynamic shared memory, bytes */
    gr_stream stream;
    bool pdl; /* programmatic dependent launch: may start before the preceding kernel has ended; waits for it
                 by griddepcontrol.wait */
    const void *params; /* kernel parameters, each at its natural alignment, as in PTX */
    size_t param_bytes;
    size_t serialized_offset;  /* offset in bytes of a uint32_t in params that is set to 1 if the launch is
                                  serialized, without pdl; 0: none */
    size_t first_block_offset; /* 0, or the offset in bytes of a uint32_t in params that is 0: blocks wait for
                                  blocks with smaller numbers. A grid of more blocks than the device holds at
                                  once is then launched in parts, along x, each with the number of its first
                                  block in that field */
    bool one_param;            /* params is one parameter, whose alignment may exceed 16 bytes */
} gr_launch;

/* An extent of 0 counts as 1. Along x the caller must give the extent. */
static inline uint32_t gr_extent(uint32_t given) {
    return given > 0 ? given : 1;
}
#define GR_EXTENTS(size) (size)[0], gr_extent((size)[1]), gr_extent((size)[2])

/* A tensor in device memory and the box of it that TMA copies (a CUtensorMap; compute capability 9.0).
 * Enumerators have the values of the CUDA driver. */
typedef enum gr_tensor_type {
    GR_TENSOR_U8 = 0,
    GR_TENSOR_F16 = 6,
    GR_TENSOR_F32 = 7,
    GR_TENSOR_F64 = 8,
    GR_TENSOR_BF16 = 9,
    GR_TENSOR_TF32 = 11, /* float32 in memory, rounded to 10 fraction bits by the copy, ties to even */
} gr_tensor_type;

/* Swizzle: permutes 16-byte chunks in shared memory within 32, 64 or 128 bytes, as wgmma operands need. */
typedef enum gr_swizzle { GR_SWIZZLE_NONE, GR_SWIZZLE_32, GR_SWIZZLE_64, GR_SWIZZLE_128 } gr_swizzle;

enum { GR_TENSOR_DIMENSIONS = 5 };

typedef struct gr_tensor {
    gr_tensor_type type;
    gr_swizzle swizzle;
    uint32_t rank;
    gr_devptr address;                          /* multiple of 16 bytes */
    uint64_t sizes[GR_TENSOR_DIMENSIONS];       /* elements per dimension, the contiguous dimension first */
    uint64_t strides[GR_TENSOR_DIMENSIONS - 1]; /* bytes, multiples of 16, of the second dimension first */
    uint32_t box[GR_TENSOR_DIMENSIONS]; /* elements per dimension of the box, max 256; elements outside the
                                           tensor read as 0 */
    uint32_t
        steps[GR_TENSOR_DIMENSIONS]; /* element strides: every n-th element is copied, max 8; 0 counts as 1 */
} gr_tensor;

/* A kernel parameter of type `const __grid_constant__ CUtensorMap`. */
typedef struct gr_tensor_map {
    _Alignas(64) unsigned char bytes[128];
} gr_tensor_map;

/* Polled during long work, on the calling thread; true stops the work. */
typedef struct gr_interrupt {
    bool (*pending)(void *arg);
    void *arg;
} gr_interrupt;

typedef struct gr_backend gr_backend;

/* Operations with streams, events and pinned memory. On the simulator every operation is complete when its
 * call returns. */
typedef struct gr_stream_ops {
    bool maps; /* memory of host_alloc is mapped: kernels can access it */
    /* Allocates pinned host memory. *mapped is its device address, 0 if it is not mapped. The caller frees
     * *out also after a failure, unless it is NULL; so it does with a stream and an event. */
    gr_status (*host_alloc)(gr_backend *self, size_t bytes, void **out, gr_devptr *mapped, gr_error *error);
    void (*host_free)(gr_backend *self, void *memory); /* NULL is allowed */
    /* Whether host memory is pinned, so that copies from it are asynchronous. NULL if memory is not mapped.
     */
    bool (*pinned)(gr_backend *self, const void *memory, size_t bytes);

    /* Writes the state of a stream. GR_ERR_DEVICE if its capture has failed. */
    gr_status (*get_state)(gr_backend *self, gr_stream stream, gr_stream_state *out, gr_error *error);
    /* Stream-ordered allocation (cuMemAllocFromPoolAsync, cuMemFreeAsync). Freed memory may be reused at once
     * by the same stream. Neither call waits. */
    gr_status (*alloc_async)(gr_backend *self, gr_stream stream, size_t bytes, gr_devptr *out,
                             gr_error *error);
    void (*free_async)(gr_backend *self, gr_stream stream, gr_devptr address); /* address 0 is allowed */
    /* Attaches a user object to the graph that is being captured: forget(arg) is called once, from any
     * thread, when neither the graph nor its instances will run again. `forget` must not call the driver.
     * NULL on the simulator. */
    gr_status (*retain_in_graph)(gr_backend *self, const gr_stream_state *stream_state,
                                 void (*forget)(void *arg), void *arg, gr_error *error);
    gr_status (*stream_open)(gr_backend *self, gr_stream *out, gr_error *error);
    void (*stream_close)(gr_backend *self, gr_stream stream);
    gr_status (*event_open)(gr_backend *self, gr_event *out, gr_error *error);
    void (*event_close)(gr_backend *self, gr_event event);
    gr_status (*record)(gr_backend *self, gr_stream stream, gr_event event, gr_error *error);
    /* Later work of the stream waits for the event. */
    gr_status (*wait_event)(gr_backend *self, gr_stream stream, gr_event event, gr_error *error);
    /* Whether the event is complete; with `wait` it waits. */
    gr_status (*event_done)(gr_backend *self, gr_event event, bool wait, bool *done, gr_error *error);
} gr_stream_ops;

struct gr_backend {
    gr_device_info info;
    const char *machine_code_suffix; /* ".fatbin"; NULL if `load` takes PTX only */
    const gr_stream_ops *streams;
    bool detects_out_of_bounds; /* reports every access outside an allocation */
    gr_stream internal_stream;  /* internal stream, which waits for no other stream */

    void (*close)(gr_backend *self);
    gr_status (*alloc)(gr_backend *self, size_t bytes, gr_devptr *out, gr_error *error);
    /* Frees memory of `alloc`, or memory of `alloc_async` that no stream uses; address 0 is allowed. */
    void (*free)(gr_backend *self, gr_devptr address);
    /* Copies to the device in stream order. If `from` is pinned it is read later; otherwise it may change
     * when the call returns. */
    gr_status (*upload)(gr_backend *self, gr_stream stream, gr_devptr to, const void *from, size_t bytes,
                        gr_error *error);
    /* Copies to the host in stream order; returns when `to` is written. */
    gr_status (*download)(gr_backend *self, gr_stream stream, void *to, gr_devptr from, size_t bytes,
                          gr_error *error);
    /* Sets every byte of a range to one value, in stream order. */
    gr_status (*memset_async)(gr_backend *self, gr_stream stream, gr_devptr address, unsigned char value,
                              size_t bytes, gr_error *error);
    void (*release_cached)(
        gr_backend *self); /* returns cached memory of alloc_async to the system; may be NULL */
    gr_status (*load)(gr_backend *self, const gr_image *image, gr_module **out, gr_error *error);
    void (*unload)(gr_backend *self, gr_module *module);
    gr_status (*find)(gr_backend *self, gr_module *module, const char *entry, gr_kernel **out,
                      gr_error *error);
    gr_status (*launch)(gr_backend *self, const gr_launch *launch, const gr_interrupt *interrupt,
                        gr_error *error);
    /* Encodes a tensor map for the kernels of this backend. */
    gr_status (*map_tensor)(gr_backend *self, const gr_tensor *tensor, gr_tensor_map *out, gr_error *error);
    /* Waits for all work on the device, also of other libraries, in all streams. No capture is invalidated.
     */
    gr_status (*sync)(gr_backend *self, gr_error *error);
    /* Locks (taken) or unlocks the lock of the backend around fork(), so that the child does not inherit it
     * locked. May be NULL. */
    void (*lock_for_fork)(gr_backend *self, bool taken);
    /* Makes the device current for other libraries in this thread, until `leave`. NULL on the simulator. */
    gr_status (*enter)(gr_backend *self, gr_error *error);
    void (*leave)(gr_backend *self);
    /* Makes the context current for a sequence of calls of this interface, which otherwise do so one by one.
     */
    gr_status (*attach)(gr_backend *self, gr_error *error);
    void (*detach)(gr_backend *self);
    /* Waits for a stream, which may be a CUstream of another library. */
    gr_status (*wait)(gr_backend *self, gr_stream stream, gr_error *error);
    /* Measures `count` launches back to back in one CUDA graph, replayed `repeats` times. Writes one figure
     * per replay: the mean time per launch in microseconds. NULL on the simulator. */
    gr_status (*time)(gr_backend *self, const gr_launch *launches, size_t count, size_t repeats,
                      double *microseconds, gr_error *error);
};

/* Opens a device. The caller closes it by (*out)->close. GR_ERR_DEVICE without a driver, or for an index that
 * does not exist. */
gr_status gr_backend_cuda_open(int index, gr_backend **out, gr_error *error);
gr_status gr_backend_sim_open(gr_backend **out, gr_error *error);

/* The number of CUDA devices; GR_ERR_DEVICE with the reason if the driver cannot be used. */
gr_status gr_backend_cuda_count(int *count, gr_error *error);
/* Properties of CUDA device `index`; makes no context on it. */
gr_status gr_backend_cuda_info(int index, gr_device_info *info, gr_error *error);

/* The index of the CUDA device that owns an address; GR_ERR_DEVICE if none does. */
gr_status gr_backend_cuda_pointer(uint64_t address, int *index, gr_error *error);
/* The index of the CUDA device that is current in this thread; GR_ERR_DEVICE if none is. */
gr_status gr_backend_cuda_current(int *index, gr_error *error);

#endif
