/* Attributes of functions, and occupancy. How many registers ptxas would use is not known: limits by
   registers are left out. */
#include <string.h>

#include "cudart/cudart.h"

enum { STATIC_SHARED = 48 << 10, REGISTERS_ASSUMED = 32, COMPILED_FOR = 90 };

static cudaError_t attributes_of(cudaFuncAttributes *out, const void *function) {
    cudart_function *f;
    ptx_error failed;
    const cudaError_t error = cudart_find_function(function, &f);
    if (error != cudaSuccess)
        return error;
    if (ptx_kernel_parse(f->kernel, &failed) != PTX_OK)
        return cudart_refuse_as(&failed);
    const unsigned limit = ptx_kernel_max_threads(f->kernel);
    memset(out, 0, sizeof *out);
    out->sharedSizeBytes = ptx_kernel_shared_bytes(f->kernel);
    out->localSizeBytes = ptx_kernel_local_bytes(f->kernel);
    out->maxThreadsPerBlock = limit ? (int)limit : 1024;
    out->numRegs = REGISTERS_ASSUMED;
    out->ptxVersion = out->binaryVersion = COMPILED_FOR;
    out->maxDynamicSharedSizeBytes =
        f->max_dynamic_shared ? f->max_dynamic_shared : STATIC_SHARED - (int)out->sharedSizeBytes;
    return cudaSuccess;
}

CUDART_API cudaFuncGetAttributes(cudaFuncAttributes *out, const void *function) {
    CUDART_RUN(attributes_of(out, function));
}

static cudaError_t set_attribute(const void *function, int attribute, int value) {
    cudart_function *f;
    const cudaError_t error = cudart_find_function(function, &f);
    if (error != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return error; /* the others are hints, or have no effect on results */
    if (value < 0 || (size_t)value + ptx_kernel_shared_bytes(f->kernel) > PTX_MAX_SHARED)
        return cudart_refuse(cudaErrorInvalidValue,
                             "kernel %s: %d bytes of dynamic shared memory; a block has %d", f->title, value,
                             PTX_MAX_SHARED);
    f->max_dynamic_shared = value;
    return cudaSuccess;
}

CUDART_API cudaFuncSetAttribute(const void *function, int attribute, int value) {
    CUDART_RUN(set_attribute(function, attribute, value));
}

static cudaError_t check_function(const void *function) {
    cudart_function *f;
    return cudart_find_function(function, &f);
}

CUDART_API cudaFuncSetCacheConfig(const void *function, int config) {
    (void)config;
    CUDART_RUN(check_function(function));
}

CUDART_API cudaFuncSetSharedMemConfig(const void *function, int config) {
    (void)config;
    CUDART_RUN(check_function(function));
}

static cudaError_t name_of(const char **name, const void *function) {
    cudart_function *f;
    const cudaError_t error = cudart_find_function(function, &f);
    if (error == cudaSuccess)
        *name = f->name;
    return error;
}

CUDART_API cudaFuncGetName(const char **name, const void *function) {
    CUDART_RUN(name_of(name, function));
}

static cudaError_t param_info(const void *function, size_t index, size_t *offset, size_t *bytes) {
    cudart_function *f;
    size_t where, size;
    const cudaError_t error = cudart_find_function(function, &f);
    if (error != cudaSuccess || index >= ptx_kernel_param_count(f->kernel))
        return error != cudaSuccess ? error : cudaErrorInvalidValue;
    ptx_kernel_param_at(f->kernel, index, &where, &size);
    *offset = where;
    if (bytes)
        *bytes = size;
    return cudaSuccess;
}

CUDART_API cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes) {
    CUDART_RUN(param_info(function, index, offset, bytes));
}

/* ---- occupancy ---- */

static cudaError_t find_parsed(const void *function, cudart_function **f) {
    ptx_error failed;
    const cudaError_t error = cudart_find_function(function, f);
    if (error != cudaSuccess)
        return error;
    return ptx_kernel_parse((*f)->kernel, &failed) == PTX_OK ? cudaSuccess : cudart_refuse_as(&failed);
}

static cudaError_t max_blocks(int *blocks, const void *function, int threads, size_t shared) {
    cudart_function *f;
    const cudaError_t error = threads < 1 ? cudaErrorInvalidValue : find_parsed(function, &f);
    if (error == cudaSuccess)
        *blocks = (int)cudart_occupancy(f, (unsigned)threads, shared);
    return error;
}

CUDART_API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                         size_t shared) {
    CUDART_RUN(max_blocks(blocks, function, threads, shared));
}

CUDART_API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                  int threads, size_t shared,
                                                                  unsigned flags) {
    (void)flags;
    CUDART_RUN(max_blocks(blocks, function, threads, shared));
}

static cudaError_t available_shared(size_t *bytes, const void *function, int blocks, int threads) {
    cudart_function *f;
    if (blocks < 1 || blocks > CUDART_BLOCKS_PER_SM || threads < 1)
        return cudaErrorInvalidValue;
    const cudaError_t error = find_parsed(function, &f);
    if (error != cudaSuccess)
        return error;
    const size_t used = ptx_kernel_shared_bytes(f->kernel) + CUDART_SHARED_RESERVED;
    const size_t share = (size_t)CUDART_SHARED_PER_SM / (size_t)blocks;
    const size_t allowed = f->max_dynamic_shared ? (size_t)f->max_dynamic_shared
                                                 : STATIC_SHARED - ptx_kernel_shared_bytes(f->kernel);
    *bytes = share > used ? share - used : 0;
    if (*bytes > allowed)
        *bytes = allowed;
    return cudaSuccess;
}

CUDART_API cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                     int threads) {
    CUDART_RUN(available_shared(bytes, function, blocks, threads));
}

static unsigned volume(dim3 d) {
    return d.x * d.y * d.z;
}

static cudaError_t max_clusters(int *clusters, const void *function, const cudaLaunchConfig_t *config) {
    int blocks = 0;
    unsigned size = 1;
    const cudaError_t error =
        max_blocks(&blocks, function, (int)volume(config->blockDim), config->dynamicSmemBytes);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            size = volume(config->attrs[i].val.clusterDim);
    if (error == cudaSuccess)
        *clusters = size ? blocks * CUDART_SMS / (int)size : 0;
    return error;
}

CUDART_API cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                          const cudaLaunchConfig_t *config) {
    CUDART_RUN(max_clusters(clusters, function, config));
}

static cudaError_t max_cluster_size(int *size, const void *function) {
    enum { PORTABLE = 8 };
    *size = PORTABLE;
    return check_function(function);
}

CUDART_API cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                const cudaLaunchConfig_t *config) {
    (void)config;
    CUDART_RUN(max_cluster_size(size, function));
}
