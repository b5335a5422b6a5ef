/* The one interface behind which the CUDA driver and the PTX simulator stand. */
#ifndef GR_DEVICE_BACKEND_H
#define GR_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef uint64_t gr_devptr;

typedef enum gr_device_kind { GR_DEVICE_CUDA, GR_DEVICE_SIM } gr_device_kind;

/* What decides which kernels a device runs, and how they may be launched. */
typedef struct gr_device_caps {
    uint32_t capability; /* 90 for 9.0: of the kernels' builds, which ones can be loaded; nothing else */
    uint32_t shared_per_block; /* bytes of shared memory that a block may be granted */
    bool clusters;             /* blocks may be launched in clusters */
} gr_device_caps;

/* From this compute capability on, kernels are built with bulk copies, and with launches that overlap. */
enum { GR_HOPPER = 90 };

typedef struct gr_device_info {
    gr_device_kind kind;
    int index;
    char name[256];
    int capability_major, capability_minor; /* the compute capability, 0.0 on the simulator */
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint64_t memory_bytes;            /* total device memory */
    uint64_t memory_bytes_per_second; /* peak, by its clock and the width of its bus; 0 on the simulator */
    gr_device_caps caps;
    int driver_version; /* CUDA driver version, 13000 for 13.0; 0 on the simulator */
} gr_device_info;

/* A compiled rung as the package ships it. Both texts live as long as the backend. */
typedef struct gr_image {
    const char *name; /* the rung, for messages */
    const void *data; /* fatbin for CUDA; NUL-terminated PTX text for the simulator */
    size_t size;      /* bytes, the NUL not counted */
} gr_image;

/* A stream as the driver has it; 0 is the legacy default stream, with which other libraries' are ordered. */
typedef uint64_t gr_stream;
typedef uint64_t gr_event; /* a place in a stream, which others can wait for */

enum { GR_LEGACY_HANDLE = 1 };     /* what the driver and others also call the legacy default stream */
enum { GR_PER_THREAD_HANDLE = 2 }; /* the default stream of a thread */

/* A stream as it stands when work is put into it. */
typedef struct gr_stream_state {
    gr_stream stream;
    uint64_t id;      /* of the stream: unlike its handle it is never given out again; 0 for the legacy one */
    uint64_t capture; /* number of the graph that is captured from it, 0 for none */
    uint64_t graph;   /* that graph, as the driver has it */
    bool capture_would_invalidate; /* the legacy one, while a stream is captured that waits for it: to use it
                    now would spoil that capture */
} gr_stream_state;

/* Opaque to the callers: a CUmodule / CUfunction, or a ptx_module / ptx_kernel. */
typedef struct gr_module gr_module;
typedef struct gr_kernel gr_kernel;

/* Work whose kernels a library launches by itself. What it works on follows it in a struct that begins with
   this. */
typedef struct gr_library_call gr_library_call;
struct gr_library_call {
    const char *name; /* for messages */
    /* Puts it into a stream, as the driver has it, of the context that is current. */
    gr_status (*run)(const gr_library_call *self, void *stream, gr_error *error);
};

typedef struct gr_launch {
    const gr_library_call *library; /* when there is one, it takes the place of all that follows */
    const gr_kernel *kernel;
    uint32_t grid[3], block[3]; /* blocks, threads of one; along x, and where not 0 along y and z */
    uint32_t cluster[3];        /* blocks of a cluster, likewise; all 0 or 1: no clusters */
    uint32_t shared_bytes;      /* dynamic shared memory */
    gr_stream stream;
    bool pdl;           /* may start while the kernel before it ends; it waits by itself where it has to */
    const void *params; /* laid out as PTX does: each parameter at its natural alignment */
    size_t param_bytes;
    size_t serialized_offset; /* where among them a uint32_t becomes 1 if the launch does not overlap; 0:
                                 nowhere */
    bool one_param;           /* they are one, whose alignment may be greater than 16 bytes */
} gr_launch;

/* What was left out counts as 1; not along x of a grid or block, which has to be given. */
static inline uint32_t gr_extent(uint32_t given) {
    return given > 0 ? given : 1;
}
#define GR_EXTENTS(size) (size)[0], gr_extent((size)[1]), gr_extent((size)[2])

/* A tensor in a device's memory, and the box of it that kernels of compute capability 9.0 copy at once by a
   tensor map. The numbers are the CUDA driver's. */
typedef enum gr_tensor_type {
    GR_TENSOR_U8 = 0,
    GR_TENSOR_F16 = 6,
    GR_TENSOR_F32 = 7,
    GR_TENSOR_F64 = 8,
    GR_TENSOR_BF16 = 9,
    GR_TENSOR_TF32 = 11, /* float32 in memory, rounded to 10 bits of fraction on the way, ties to even */
} gr_tensor_type;

/* In shared memory 16-byte pieces change places within 32, 64 or 128 bytes, as `wgmma` wants them. */
typedef enum gr_swizzle { GR_SWIZZLE_NONE, GR_SWIZZLE_32, GR_SWIZZLE_64, GR_SWIZZLE_128 } gr_swizzle;

enum { GR_TENSOR_DIMENSIONS = 5 };

typedef struct gr_tensor {
    gr_tensor_type type;
    gr_swizzle swizzle;
    uint32_t rank;
    gr_devptr address;                          /* a multiple of 16 */
    uint64_t sizes[GR_TENSOR_DIMENSIONS];       /* elements, of the dimension that lies together first */
    uint64_t strides[GR_TENSOR_DIMENSIONS - 1]; /* bytes, multiples of 16, of the second dimension first */
    uint32_t box[GR_TENSOR_DIMENSIONS];         /* elements, up to 256; what lies outside the tensor is 0 */
    uint32_t steps[GR_TENSOR_DIMENSIONS];       /* every which of them is copied, up to the 8th; 0: as 1 */
} gr_tensor;

/* A parameter of kernels, `const __grid_constant__ CUtensorMap`. */
typedef struct gr_tensor_map {
    _Alignas(64) unsigned char bytes[128];
} gr_tensor_map;

/* Asked from time to time during long work, on the calling thread; true stops it. */
typedef struct gr_interrupt {
    bool (*pending)(void *arg);
    void *arg;
} gr_interrupt;

typedef struct gr_backend gr_backend;

/* Work beside the default stream, and memory of the host that a device copies from by itself. On the
   simulator all of it is done by the time a call returns. */
typedef struct gr_stream_ops {
    bool maps; /* kernels reach the memory of host_alloc */
    /* *mapped is its address for kernels, 0 where they cannot reach it. */
    gr_status (*host_alloc)(gr_backend *self, size_t bytes, void **out, gr_devptr *mapped, gr_error *error);
    void (*host_free)(gr_backend *self, void *memory); /* NULL is allowed, and below 0 */
    /* Whether a device may copy from this memory while the caller goes on; *mapped as above. */
    bool (*pinned)(gr_backend *self, const void *memory, size_t bytes, gr_devptr *mapped);

    /* How a stream stands. GR_ERR_DEVICE where it takes no work at all. */
    gr_status (*get_state)(gr_backend *self, gr_stream stream, gr_stream_state *out, gr_error *error);
    /* Memory that is there, and goes, in the order of a stream's work; what is gone may be there again at
       once. Nothing of it waits. */
    gr_status (*alloc_async)(gr_backend *self, gr_stream stream, size_t bytes, gr_devptr *out,
                             gr_error *error);
    void (*free_async)(gr_backend *self, gr_stream stream, gr_devptr address); /* address 0 is allowed */
    /* Has the graph that is being captured call `forget(arg)`, from any thread and only once, when neither it
       nor anything made of it will run again. `forget` must not call the driver. */
    gr_status (*retain_in_graph)(gr_backend *self, const gr_stream_state *stream_state,
                                 void (*forget)(void *arg), void *arg, gr_error *error);
    gr_status (*stream_open)(gr_backend *self, gr_stream *out, gr_error *error);
    void (*stream_close)(gr_backend *self, gr_stream stream);
    gr_status (*event_open)(gr_backend *self, gr_event *out, gr_error *error);
    void (*event_close)(gr_backend *self, gr_event event);
    gr_status (*record)(gr_backend *self, gr_stream stream, gr_event event, gr_error *error);
    /* What comes next in the stream waits for the event. */
    gr_status (*wait_event)(gr_backend *self, gr_stream stream, gr_event event, gr_error *error);
    /* Whether what was recorded is done; with `wait` it returns when it is. */
    gr_status (*event_done)(gr_backend *self, gr_event event, bool wait, bool *done, gr_error *error);
} gr_stream_ops;

struct gr_backend {
    gr_device_info info;
    const char *image_suffix; /* ".fatbin" or ".ptx.gz": which file of a rung `load` takes */
    const gr_stream_ops *streams;
    bool detects_out_of_bounds; /* sees every access outside an allocation */
    gr_stream own;              /* a stream in which nothing waits for the work of others */

    void (*close)(gr_backend *self);
    gr_status (*alloc)(gr_backend *self, size_t bytes, gr_devptr *out, gr_error *error);
    /* Also of what `take` gave, when nothing works with it any more; address 0 is allowed. */
    void (*free)(gr_backend *self, gr_devptr address);
    /* In the order of a stream. Where `from` is pinned memory it is read later, else it may change at once.
     */
    gr_status (*upload)(gr_backend *self, gr_stream stream, gr_devptr to, const void *from, size_t bytes,
                        gr_error *error);
    /* Returns when `to` is written. */
    gr_status (*download)(gr_backend *self, gr_stream stream, void *to, gr_devptr from, size_t bytes,
                          gr_error *error);
    /* Gives every byte of a piece of memory one value. */
    gr_status (*fill)(gr_backend *self, gr_stream stream, gr_devptr address, unsigned char value,
                      size_t bytes, gr_error *error);
    void (*trim)(
        gr_backend *self); /* gives back to the system what `take` may be answered from. May be NULL. */
    gr_status (*load)(gr_backend *self, const gr_image *image, gr_module **out, gr_error *error);
    void (*unload)(gr_backend *self, gr_module *module);
    gr_status (*find)(gr_backend *self, gr_module *module, const char *entry, gr_kernel **out,
                      gr_error *error);
    gr_status (*launch)(gr_backend *self, const gr_launch *launch, const gr_interrupt *interrupt,
                        gr_error *error);
    /* Puts a tensor into the form that this backend's kernels take. */
    gr_status (*map_tensor)(gr_backend *self, const gr_tensor *tensor, gr_tensor_map *out, gr_error *error);
    /* Returns when all work of the device is done, of other libraries and in all streams, too. No capture is
       spoilt by it. */
    gr_status (*sync)(gr_backend *self, gr_error *error);
    /* Takes the backend's own lock, or gives it back: a child of a fork must not find it taken. May be NULL.
     */
    void (*hold)(gr_backend *self, bool taken);
    /* Makes the device current for other libraries in this thread, until `leave`. NULL on the simulator. */
    gr_status (*enter)(gr_backend *self, gr_error *error);
    void (*leave)(gr_backend *self);
    /* The same for the calls of this interface alone, none of which need then do it each. */
    gr_status (*attach)(gr_backend *self, gr_error *error);
    void (*detach)(gr_backend *self);
    /* Returns when the work in a stream is done, of ours or, as its CUstream, of another library. */
    gr_status (*wait)(gr_backend *self, gr_stream stream, gr_error *error);
    /* Device time of `count` launches run back to back in one graph, `repeats` times: writes one figure a
       repeat, the mean of its launches, in microseconds. NULL where time has no meaning (the simulator). */
    gr_status (*time)(gr_backend *self, const gr_launch *launches, size_t count, size_t repeats,
                      double *microseconds, gr_error *error);
};

/* Opens a device. On success *out owns it until (*out)->close. Without a driver or with an index that is
   not there the status is GR_ERR_DEVICE and the message says which. */
gr_status gr_backend_cuda_open(int index, gr_backend **out, gr_error *error);
gr_status gr_backend_sim_open(gr_backend **out, gr_error *error);

/* The number of CUDA devices; GR_ERR_DEVICE with the reason when there is no usable driver. */
gr_status gr_backend_cuda_count(int *count, gr_error *error);
/* What is known of CUDA device `index` without making a context on it. */
gr_status gr_backend_cuda_info(int index, gr_device_info *info, gr_error *error);

/* The number of the CUDA device that an address lies on; GR_ERR_DEVICE when it lies on none. */
gr_status gr_backend_cuda_pointer(uint64_t address, int *index, gr_error *error);
/* The number of the CUDA device that is current in this thread; GR_ERR_DEVICE when none is. */
gr_status gr_backend_cuda_current(int *index, gr_error *error);

#endif
