/* Declarations that the files of the CUDA backend share: the state of a device, how each call makes its
 * context current, memory, kernels and streams. */
#ifndef GR_DEVICE_CUDA_CONTEXT_H
#define GR_DEVICE_CUDA_CONTEXT_H

#include <stdatomic.h>

#include "device/backend.h"
#include "device/cuda/driver.h"

typedef struct cuda_backend {
    gr_backend base; /* first member: a gr_backend * is a cuda_backend * */
    const gr_cuda_driver *driver;
    gr_cu_device device;
    gr_cu_context context;
    gr_cu_pool pool; /* stream-ordered memory pool; NULL if the device has none */
    _Atomic(gr_cu_deviceptr)
        sync_probe; /* a one-byte allocation; freeing it synchronizes the device. 0 if there is none */
    /* The last captured launch of this library that triggers programmatic dependent launch: id of the
     * capture, and its graph node. */
    _Atomic(uint64_t) last_capture;
    _Atomic(gr_cu_graph_node) last_node;
} cuda_backend;

struct gr_kernel {
    gr_kernel *next;
    gr_cu_function function;
    uint32_t static_shared;
    _Atomic uint32_t occupancy; /* blocks per multiprocessor, where launches have parts; 0: not known yet */
    char name[];
};

static inline cuda_backend *as_cuda(gr_backend *base) {
    return (cuda_backend *)base;
}

static inline gr_cu_stream gr_cuda_stream(gr_stream stream) {
    return stream != 0 ? (gr_cu_stream)(uintptr_t)stream : GR_CU_STREAM_LEGACY;
}

/* Makes the context of the device current, and sets the capture mode of the thread to relaxed: these calls
 * are outside the captured streams and cannot make their captures wrong. */
gr_status gr_cuda_enter(const cuda_backend *self, gr_error *error);
/* Undoes gr_cuda_enter. Returns `status`, the result of the work, if that is an error. */
gr_status gr_cuda_leave(const cuda_backend *self, gr_status status, gr_error *error);

/* Completes the error of a driver call with a stream: names the device of the stream if that is another
 * device. */
gr_status gr_cuda_check_stream(const cuda_backend *self, gr_stream stream, gr_status status, gr_error *error);

/* Between attach and detach, gr_cuda_enter and gr_cuda_leave of this device do nothing in this thread. */
gr_status gr_cuda_attach(gr_backend *base, gr_error *error);
void gr_cuda_detach(gr_backend *base);

/* Evaluates driver->call in the context of the device and returns its status. `stream` is the stream of the
 * call, 0 if it has none. A format and its arguments follow, which describe the call for messages. */
#define GR_CUDA_CALL(base, stream, error, call, ...)                                                         \
    gr_cuda_check_stream(as_cuda(base), stream,                                                              \
                         gr_cuda_enter(as_cuda(base), error) != GR_OK                                        \
                             ? (error)->status                                                               \
                             : gr_cuda_leave(as_cuda(base),                                                  \
                                             gr_cuda_check(as_cuda(base)->driver,                            \
                                                           as_cuda(base)->driver->call, error, __VA_ARGS__), \
                                             error),                                                         \
                         error)

/* Evaluates a driver call that releases something; its errors are ignored. */
#define GR_CUDA_RELEASE(self, call)                                                                          \
    do {                                                                                                     \
        gr_error ignored_;                                                                                   \
        if (gr_cuda_enter(self, &ignored_) == GR_OK) {                                                       \
            (void)(self)->driver->call;                                                                      \
            gr_cuda_leave(self, GR_OK, &ignored_);                                                           \
        }                                                                                                    \
    } while (0)

/* ---- memory.c ---- */

/* Opens and closes the stream-ordered memory pool. */
gr_status gr_cuda_memory_open(cuda_backend *self, gr_error *error);
void gr_cuda_memory_close(cuda_backend *self);

/* Functions of gr_backend and gr_stream_ops: see backend.h. */
gr_status gr_cuda_alloc(gr_backend *base, size_t bytes, gr_devptr *out, gr_error *error);
void gr_cuda_free(gr_backend *base, gr_devptr address);
gr_status gr_cuda_upload(gr_backend *base, gr_stream stream, gr_devptr to, const void *from, size_t bytes,
                         gr_error *error);
gr_status gr_cuda_download(gr_backend *base, gr_stream stream, void *to, gr_devptr from, size_t bytes,
                           gr_error *error);
gr_status gr_cuda_memset_async(gr_backend *base, gr_stream stream, gr_devptr address, unsigned char value,
                               size_t bytes, gr_error *error);
gr_status gr_cuda_alloc_async(gr_backend *base, gr_stream stream, size_t bytes, gr_devptr *out,
                              gr_error *error);
void gr_cuda_free_async(gr_backend *base, gr_stream stream, gr_devptr address);
void gr_cuda_release_cached(gr_backend *base);

/* ---- module.c ---- */

/* Functions of gr_backend: see backend.h. */
gr_status gr_cuda_load(gr_backend *base, const gr_image *image, gr_module **out, gr_error *error);
void gr_cuda_unload(gr_backend *base, gr_module *module);
gr_status gr_cuda_find(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                       gr_error *error);

/* ---- launch.c ---- */

/* Sets the attributes without which the driver refuses a launch, outside a capture. */
gr_status gr_cuda_permit(cuda_backend *self, const gr_launch *launch, gr_error *error);
/* Enqueues a permitted launch, in parts if its blocks must be resident. */
gr_status gr_cuda_enqueue(cuda_backend *self, const gr_launch *launch, gr_cu_stream stream, gr_error *error);

/* Functions of gr_backend: see backend.h. */
gr_status gr_cuda_map_tensor(gr_backend *base, const gr_tensor *tensor, gr_tensor_map *out, gr_error *error);
gr_status gr_cuda_launch(gr_backend *base, const gr_launch *launch, const gr_interrupt *interrupt,
                         gr_error *error);

/* ---- timing.c ---- */

gr_status gr_cuda_time(gr_backend *base, const gr_launch *launches, size_t count, size_t repeats,
                       double *microseconds, gr_error *error);

/* ---- stream.c ---- */

extern const gr_stream_ops gr_cuda_stream_ops;

#endif
