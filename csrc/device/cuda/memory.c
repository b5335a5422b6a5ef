/* Device memory: plain and stream-ordered allocation, copies and memset. */
#include "base/limits.h"
#include "device/cuda/context.h"

/* Release threshold of the pool: freed memory up to this size stays in the pool for the next call; the rest
 * returns to the driver at the next synchronization. To map it again takes more than 1 ms per GB on an H200.
 */
enum { MIN_THRESHOLD = 256 << 20, THRESHOLD_SHARE = 64 }; /* bytes; 1/64 of the device memory */

gr_status gr_cuda_memory_open(cuda_backend *self, gr_error *error) {
    const gr_cuda_driver *driver = self->driver;
    const int index = self->base.info.index;
    int pools = 0;
    size_t free_bytes = 0, total_bytes = 0;
    int waiting = 0; /* off: memory that another stream freed would make this stream wait for the other one */
    const gr_cu_pool_properties properties = {.type = GR_CU_POOL_PINNED,
                                              .location = {GR_CU_POOL_ON_DEVICE, index}};
    gr_status status =
        gr_cuda_check(driver, driver->device_attribute(&pools, GR_CU_DEVICE_MEMORY_POOLS, self->device),
                      error, "asking cuda:%d for its memory pools", index);
    gr_devptr sync_probe = 0;
    if (status == GR_OK)
        status = gr_cuda_alloc(&self->base, 1, &sync_probe, error);
    atomic_store(&self->sync_probe, sync_probe);
    if (status != GR_OK || !pools || (status = gr_cuda_enter(self, error)) != GR_OK)
        return status;
    status = gr_cuda_check(driver, driver->pool_create(&self->pool, &properties), error,
                           "making a memory pool on cuda:%d", index);
    gr_cu_result result = GR_CU_SUCCESS;
    if (status == GR_OK)
        result = driver->memory_info(&free_bytes, &total_bytes);
    uint64_t kept = gr_max(MIN_THRESHOLD, total_bytes / THRESHOLD_SHARE);
    if (status == GR_OK && result == GR_CU_SUCCESS)
        result = driver->pool_set(self->pool, GR_CU_POOL_RELEASE_THRESHOLD, &kept);
    if (status == GR_OK && result == GR_CU_SUCCESS)
        result = driver->pool_set(self->pool, GR_CU_POOL_REUSE_BY_WAITING, &waiting);
    if (status == GR_OK)
        status = gr_cuda_check(driver, result, error, "setting up a memory pool on cuda:%d", index);
    return gr_cuda_leave(self, status, error);
}

void gr_cuda_memory_close(cuda_backend *self) {
    if (self->pool)
        GR_CUDA_RELEASE(self, pool_destroy(self->pool));
}

/* Converts the result of an allocation; the message has the free and the total memory. */
static gr_status check_allocated(const cuda_backend *self, gr_cu_result result, size_t bytes,
                                 gr_error *error) {
    size_t free_bytes = 0, total_bytes = 0;
    if (result == GR_CU_OUT_OF_MEMORY &&
        self->driver->memory_info(&free_bytes, &total_bytes) == GR_CU_SUCCESS)
        return gr_cuda_check(self->driver, result, error,
                             "allocating %zu bytes on cuda:%d, which has %zu of %zu bytes free%s", bytes,
                             self->base.info.index, free_bytes, total_bytes,
                             bytes <= free_bytes ? ", but the driver allocates in larger pieces" : "");
    return gr_cuda_check(self->driver, result, error, "allocating %zu bytes on cuda:%d", bytes,
                         self->base.info.index);
}

/* Frees memory of alloc(); address 0 is allowed. */
static void release(const cuda_backend *self, gr_cu_pool pool, gr_stream stream, gr_devptr address) {
    if (address != 0 && pool)
        GR_CUDA_RELEASE(self, pool_free(address, gr_cuda_stream(stream)));
    else if (address != 0)
        GR_CUDA_RELEASE(self, free(address));
}

/* Allocates from a pool, or without one if `pool` is NULL. */
static gr_status alloc(const cuda_backend *self, gr_cu_pool pool, gr_stream stream, size_t bytes,
                       gr_devptr *out, gr_error *error) {
    const gr_cuda_driver *driver = self->driver;
    const size_t size = bytes ? bytes : 16; /* the driver refuses 0 bytes */
    gr_cu_deviceptr address = 0;
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    const gr_cu_result result = pool ? driver->pool_alloc(&address, size, pool, gr_cuda_stream(stream))
                                     : driver->alloc(&address, size);
    status = check_allocated(self, result, bytes, error);
    status = gr_cuda_check_stream(self, stream, status, error);
    status = gr_cuda_leave(self, status, error);
    if (status == GR_OK)
        *out = address;
    else
        release(self, pool, stream, address);
    return status;
}

gr_status gr_cuda_alloc(gr_backend *base, size_t bytes, gr_devptr *out, gr_error *error) {
    return alloc(as_cuda(base), NULL, 0, bytes, out, error);
}

gr_status gr_cuda_alloc_async(gr_backend *base, gr_stream stream, size_t bytes, gr_devptr *out,
                              gr_error *error) {
    const cuda_backend *self = as_cuda(base);
    return alloc(self, self->pool, self->pool ? stream : 0, bytes, out, error);
}

void gr_cuda_free(gr_backend *base, gr_devptr address) {
    release(as_cuda(base), NULL, 0, address);
}

void gr_cuda_free_async(gr_backend *base, gr_stream stream, gr_devptr address) {
    release(as_cuda(base), as_cuda(base)->pool, stream, address);
}

gr_status gr_cuda_upload(gr_backend *base, gr_stream stream, gr_devptr to, const void *from, size_t bytes,
                         gr_error *error) {
    if (bytes == 0)
        return gr_cuda_check_process(error);
    return GR_CUDA_CALL(base, stream, error, upload_async(to, from, bytes, gr_cuda_stream(stream)),
                        "copying %zu bytes to cuda:%d", bytes, base->info.index);
}

gr_status gr_cuda_download(gr_backend *base, gr_stream stream, void *to, gr_devptr from, size_t bytes,
                           gr_error *error) {
    if (bytes == 0)
        return gr_cuda_check_process(error);
    cuda_backend *self = as_cuda(base);
    const gr_cuda_driver *driver = self->driver;
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    gr_cu_result result = driver->download_async(to, from, bytes, gr_cuda_stream(stream));
    if (result == GR_CU_SUCCESS)
        result = driver->stream_wait(gr_cuda_stream(stream));
    status = gr_cuda_check(driver, result, error, "copying %zu bytes from cuda:%d", bytes, base->info.index);
    status = gr_cuda_check_stream(self, stream, status, error);
    return gr_cuda_leave(self, status, error);
}

gr_status gr_cuda_memset_async(gr_backend *base, gr_stream stream, gr_devptr address, unsigned char value,
                               size_t bytes, gr_error *error) {
    if (bytes == 0)
        return gr_cuda_check_process(error);
    return GR_CUDA_CALL(base, stream, error, memset_async(address, value, bytes, gr_cuda_stream(stream)),
                        "clearing %zu bytes on cuda:%d", bytes, base->info.index);
}

void gr_cuda_release_cached(gr_backend *base) {
    cuda_backend *self = as_cuda(base);
    if (self->pool)
        GR_CUDA_RELEASE(self, pool_trim(self->pool, 0));
}
