/* The inside of the CUDA backend, shared by its two files. */
#ifndef GR_DEVICE_CUDA_BACKEND_H
#define GR_DEVICE_CUDA_BACKEND_H

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

extern const gr_stream_ops gr_cuda_stream_ops;

#endif
