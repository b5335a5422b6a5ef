/* Memory that streams allocate and free, where a graph may own the memory, and pools. Pools keep nothing:
   memory is freed at once. */
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

/* Memory of a graph stays, as a later launch uses it again. */
static cudaError_t free_any(void *address) {
    return cudart_is_graph_memory(address) ? cudaSuccess : cudart_free(address);
}

static cudaError_t synchronize_and_free(void *address) {
    cudart_show_printed();
    return free_any(address);
}

CUDART_API cudaFree(void *address) {
    CUDART_RUN(synchronize_and_free(address));
}

/* ---- pools ---- */

struct cudart_pool {
    uint64_t attributes[9];
};

static cudaMemPool_t default_pool(void) {
    static struct cudart_pool pool;
    return &pool;
}

static cudaError_t give_default_pool(cudaMemPool_t *pool, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    *pool = default_pool();
    return cudaSuccess;
}

static cudaError_t new_pool(cudaMemPool_t *pool) {
    *pool = calloc(1, sizeof **pool);
    return *pool ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t destroy_pool(cudaMemPool_t pool) {
    if (!pool || pool == default_pool())
        return cudaErrorInvalidValue;
    free(pool);
    return cudaSuccess;
}

enum { WIDE_ATTRIBUTES = 4, CURRENT_RESERVED = 5, MAX_RESERVED, CURRENT_USED, MAX_USED, POOL_ATTRIBUTES };

/* The first three attributes are of type int, the others 64-bit integers. */
static cudaError_t pool_attribute(cudaMemPool_t pool, int attribute, void *value, bool set) {
    if (!pool || attribute < 1 || attribute >= POOL_ATTRIBUTES)
        return cudaErrorInvalidValue;
    uint64_t *kept = &pool->attributes[attribute];
    const size_t bytes = attribute < WIDE_ATTRIBUTES ? sizeof(int) : sizeof(uint64_t);
    if (!set && attribute >= CURRENT_RESERVED)
        *kept = ptx_memory_used(cudart.memory);
    memcpy(set ? (void *)kept : value, set ? value : (void *)kept, bytes);
    return cudaSuccess;
}

/* A capturing stream allocates at once: the address is a parameter of the graph's other work. */
static cudaError_t allocate_in(cudaStream_t stream, void **out, size_t bytes) {
    cudaError_t error = cudart_allocate(out, bytes), captured;
    const cudart_work work = {.type = cudaGraphNodeTypeMemAlloc,
                              .address = error == cudaSuccess ? *out : NULL};
    if (error == cudaSuccess && cudart_capture(stream, &work, &captured))
        error = captured;
    return error;
}

static cudaError_t free_in(cudaStream_t stream, void *address) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemFree, .address = address};
    cudaError_t captured;
    return cudart_capture(stream, &work, &captured) ? captured : free_any(address);
}

CUDART_API cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    CUDART_RUN(allocate_in(stream, out, bytes));
}
CUDART_ALSO(cudaMallocAsync_ptsz, cudaMallocAsync)

CUDART_API cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    CUDART_RUN(pool ? allocate_in(stream, out, bytes) : cudaErrorInvalidValue);
}
CUDART_ALSO(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync)

CUDART_API cudaFreeAsync(void *address, cudaStream_t stream) {
    CUDART_RUN(free_in(stream, address));
}
CUDART_ALSO(cudaFreeAsync_ptsz, cudaFreeAsync)

CUDART_API cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    CUDART_RUN(give_default_pool(pool, device));
}
CUDART_ALSO(cudaDeviceGetMemPool, cudaDeviceGetDefaultMemPool)

CUDART_API cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    CUDART_RUN(device != 0 ? cudaErrorInvalidDevice : pool ? cudaSuccess : cudaErrorInvalidValue);
}

CUDART_API cudaMemPoolCreate(cudaMemPool_t *pool, const void *properties) {
    (void)properties;
    CUDART_RUN(new_pool(pool));
}

CUDART_API cudaMemPoolDestroy(cudaMemPool_t pool) {
    CUDART_RUN(destroy_pool(pool));
}

CUDART_API cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    (void)bytes;
    CUDART_RUN(pool ? cudaSuccess : cudaErrorInvalidValue);
}

CUDART_API cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    CUDART_RUN(pool_attribute(pool, attribute, value, true));
}

CUDART_API cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    CUDART_RUN(pool_attribute(pool, attribute, value, false));
}

CUDART_API cudaMemPoolSetAccess(cudaMemPool_t pool, const void *descriptions, size_t count) {
    (void)descriptions, (void)count;
    CUDART_RUN(pool ? cudaSuccess : cudaErrorInvalidValue);
}
