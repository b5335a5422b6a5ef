/* Device memory of the CUDA backend, and copies between host and device. */
#ifndef GR_DEVICE_CUDA_MEMORY_H
#define GR_DEVICE_CUDA_MEMORY_H

#include "device/cuda/context.h"

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

#endif
