/* A device of the CUDA driver, and its context around each call: for the files of the CUDA backend. */
#ifndef GR_DEVICE_CUDA_CONTEXT_H
#define GR_DEVICE_CUDA_CONTEXT_H

#include "device/backend.h"
#include "device/cuda/driver.h"

typedef struct cuda_backend {
    gr_backend base; /* first, so that a gr_backend is one of these */
    const gr_cuda_driver *driver;
    gr_cu_device device;
    gr_cu_context context;
} cuda_backend;

static inline cuda_backend *as_cuda(gr_backend *base) {
    return (cuda_backend *)base;
}

static inline gr_cu_stream gr_cuda_stream(gr_stream stream) {
    return stream != 0 ? (gr_cu_stream)(uintptr_t)stream : GR_CU_STREAM_LEGACY;
}

/* Makes the device's context current. */
gr_status gr_cuda_enter(const cuda_backend *self, gr_error *error);
/* Ends what gr_cuda_enter began; `status` is how the work between them went, and wins. */
gr_status gr_cuda_leave(const cuda_backend *self, gr_status status, gr_error *error);

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
