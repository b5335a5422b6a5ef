/* A device of the CUDA driver, and its context around each call: for the files of the CUDA backend. */
#ifndef GR_DEVICE_CUDA_CONTEXT_H
#define GR_DEVICE_CUDA_CONTEXT_H

#include <stdatomic.h>

#include "device/backend.h"
#include "device/cuda/driver.h"

typedef struct cuda_backend {
    gr_backend base; /* first, so that a gr_backend is one of these */
    const gr_cuda_driver *driver;
    gr_cu_device device;
    gr_cu_context context;
    gr_cu_pool pool;                /* of stream-ordered memory; NULL where the device has none */
    _Atomic(gr_cu_deviceptr) least; /* a byte whose end waits for all work; 0 where there is none */
    /* Of the last kernel of ours that was captured and lets the next one in: the capture, and its node. */
    _Atomic(uint64_t) last_capture;
    _Atomic(gr_cu_graph_node) last_node;
} cuda_backend;

static inline cuda_backend *as_cuda(gr_backend *base) {
    return (cuda_backend *)base;
}

static inline gr_cu_stream gr_cuda_stream(gr_stream stream) {
    return stream != 0 ? (gr_cu_stream)(uintptr_t)stream : GR_CU_STREAM_LEGACY;
}

/* Makes the device's context current, and lets this thread do what would spoil the captures of others: what
   is done here, outside the streams that are being captured, has nothing to do with them. */
gr_status gr_cuda_enter(const cuda_backend *self, gr_error *error);
/* Ends what gr_cuda_enter began; `status` is how the work between them went, and wins. */
gr_status gr_cuda_leave(const cuda_backend *self, gr_status status, gr_error *error);

/* The status of a driver call with a stream. After a failure the message names the stream's device where that
   is another device than the backend's. */
gr_status gr_cuda_check_stream(const cuda_backend *self, gr_stream stream, gr_status status, gr_error *error);

/* Between the two, gr_cuda_enter and gr_cuda_leave of this device have nothing to do in this thread. */
gr_status gr_cuda_attach(gr_backend *base, gr_error *error);
void gr_cuda_detach(gr_backend *base);

/* The status of one call of the driver in the device's context; what comes after `result`, the call, says as
   for printf what it does. */
#define GR_CUDA_CALL(self, error, result, ...)                                                               \
    (gr_cuda_enter(self, error) != GR_OK                                                                     \
         ? (error)->status                                                                                   \
         : gr_cuda_leave(self, gr_cuda_check((self)->driver, result, error, __VA_ARGS__), error))

/* A call that releases something, and tells nobody how that went. */
#define GR_CUDA_RELEASE(self, result)                                                                        \
    do {                                                                                                     \
        gr_error ignored_;                                                                                   \
        if (gr_cuda_enter(self, &ignored_) == GR_OK) {                                                       \
            (void)(result);                                                                                  \
            gr_cuda_leave(self, GR_OK, &ignored_);                                                           \
        }                                                                                                    \
    } while (0)

#endif
