/* Allocation of device memory, and of memory that host and device share. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cudart/cudart.h"

enum { PITCH = 512, PAGE = 4096 };

/* ---- device memory ---- */

cudaError_t cudart_allocate(void **out, size_t bytes) {
    ptx_error error;
    uint64_t address;
    if (!out)
        return cudaErrorInvalidValue;
    *out = NULL;
    if (bytes == 0)
        return cudaSuccess;
    if (ptx_memory_alloc(cudart.memory, bytes, &address, &error) != PTX_OK)
        return cudart_refuse_as(&error);
    *out = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudart_release(void *address) {
    ptx_error error;
    if (!address)
        return cudaSuccess;
    const cudart_host_block *block = cudart_find_host_block(address);
    if (block && block->type == cudaMemoryTypeHost)
        return cudart_refuse(cudaErrorInvalidValue, "cudaFree: %p is host memory; use cudaFreeHost", address);
    if (ptx_memory_free(cudart.memory, (uintptr_t)address, &error) != PTX_OK)
        return cudart_refuse(cudaErrorInvalidValue, "cudaFree: %s", error.message);
    return cudaSuccess;
}

/* ---- memory that both sides use at the same address ---- */

void *cudart_map(size_t bytes, size_t alignment) {
    const size_t whole = bytes + alignment;
    char *mapped =
        mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    const size_t before = (alignment - (uintptr_t)mapped % alignment) % alignment;
    return mapped + before;
}

cudart_host_block *cudart_find_host_block(const void *address) {
    for (cudart_host_block *b = cudart.host_blocks; b; b = b->next)
        if ((uintptr_t)address - (uintptr_t)b->address < b->bytes)
            return b;
    return NULL;
}

static cudaError_t add_host_block(const cudart_host_block *wanted) {
    ptx_error error;
    cudart_host_block *block = malloc(sizeof *block);
    if (!block)
        return cudaErrorMemoryAllocation;
    if (ptx_memory_map(cudart.memory, (uintptr_t)wanted->address, wanted->address, wanted->bytes, &error) !=
        PTX_OK) {
        free(block);
        return error.status == PTX_ERR_ARGUMENT ? cudaErrorHostMemoryAlreadyRegistered
                                                : cudart_refuse_as(&error);
    }
    *block = *wanted;
    block->next = cudart.host_blocks;
    cudart.host_blocks = block;
    return cudaSuccess;
}

static size_t whole_pages(size_t bytes) {
    return (bytes + PAGE) / PAGE * PAGE;
}

static cudaError_t allocate_host(void **out, size_t bytes, enum cudaMemoryType type, unsigned flags) {
    if (!out)
        return cudaErrorInvalidValue;
    *out = NULL;
    if (bytes == 0)
        return cudaSuccess;
    void *address = bytes <= cudart.memory_bytes ? mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
                                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                                 : MAP_FAILED;
    if (address == MAP_FAILED)
        return cudart_refuse(cudaErrorMemoryAllocation, "no memory for %zu bytes", bytes);
    const cudart_host_block block = {.address = address, .bytes = bytes, .type = type, .flags = flags};
    const cudaError_t error = add_host_block(&block);
    if (error == cudaSuccess)
        *out = address;
    else
        munmap(address, whole_pages(bytes));
    return error;
}

/* Removes a block that starts at an address, if it is of the kind. */
static bool remove_host_block(void *address, enum cudaMemoryType type, bool registered) {
    for (cudart_host_block **at = &cudart.host_blocks; *at; at = &(*at)->next) {
        cudart_host_block *block = *at;
        if (block->address != address || block->type != type || block->registered != registered)
            continue;
        (void)ptx_memory_free(cudart.memory, (uintptr_t)address, NULL);
        if (!registered)
            munmap(address, whole_pages(block->bytes));
        *at = block->next;
        free(block);
        return true;
    }
    return false;
}

cudaError_t cudart_free(void *address) {
    return remove_host_block(address, cudaMemoryTypeManaged, false) ? cudaSuccess : cudart_release(address);
}

static cudaError_t free_host(void *address) {
    if (!address || remove_host_block(address, cudaMemoryTypeHost, false))
        return cudaSuccess;
    return cudart_refuse(cudaErrorInvalidValue, "cudaFreeHost: %p is not what cudaMallocHost returned",
                         address);
}

static cudaError_t register_host(void *address, size_t bytes, unsigned flags) {
    const cudart_host_block block = {
        .address = address, .bytes = bytes, .type = cudaMemoryTypeHost, .flags = flags, .registered = true};
    return address && bytes ? add_host_block(&block) : cudaErrorInvalidValue;
}

CUDART_API cudaMalloc(void **out, size_t bytes) {
    CUDART_RUN(cudart_allocate(out, bytes));
}

CUDART_API cudaMallocHost(void **out, size_t bytes) {
    CUDART_RUN(allocate_host(out, bytes, cudaMemoryTypeHost, 0));
}

CUDART_API cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
    CUDART_RUN(allocate_host(out, bytes, cudaMemoryTypeHost, flags));
}

CUDART_API cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
    CUDART_RUN(allocate_host(out, bytes, cudaMemoryTypeManaged, flags));
}

CUDART_API cudaFreeHost(void *address) {
    CUDART_RUN(free_host(address));
}

CUDART_API cudaHostRegister(void *address, size_t bytes, unsigned flags) {
    CUDART_RUN(register_host(address, bytes, flags));
}

CUDART_API cudaHostUnregister(void *address) {
    CUDART_RUN(remove_host_block(address, cudaMemoryTypeHost, true) ? cudaSuccess
                                                                    : cudaErrorHostMemoryNotRegistered);
}

static cudaError_t device_pointer(void **out, void *host) {
    const cudart_host_block *block = cudart_find_host_block(host);
    *out = block ? host : NULL;
    return block ? cudaSuccess : cudaErrorInvalidValue;
}

CUDART_API cudaHostGetDevicePointer(void **out, void *host, unsigned flags) {
    (void)flags;
    CUDART_RUN(device_pointer(out, host));
}

static cudaError_t host_flags(unsigned *flags, void *host) {
    const cudart_host_block *block = cudart_find_host_block(host);
    if (block)
        *flags = block->flags;
    return block ? cudaSuccess : cudaErrorInvalidValue;
}

CUDART_API cudaHostGetFlags(unsigned *flags, void *host) {
    CUDART_RUN(host_flags(flags, host));
}

/* ---- pitched memory ---- */

static cudaError_t allocate_pitched(void **out, size_t *pitch, size_t width, size_t rows) {
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return rows && *pitch > SIZE_MAX / rows ? cudaErrorInvalidValue : cudart_allocate(out, *pitch * rows);
}

CUDART_API cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
    CUDART_RUN(allocate_pitched(out, pitch, width, height));
}

CUDART_API cudaMalloc3D(cudaPitchedPtr *out, cudaExtent extent) {
    out->xsize = extent.width;
    out->ysize = extent.height;
    CUDART_RUN(allocate_pitched(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth));
}

/* ---- questions ---- */

static cudaError_t pointer_attributes(cudaPointerAttributes *out, const void *pointer) {
    uint64_t start;
    size_t bytes;
    memset(out, 0, sizeof *out);
    out->device = -1;
    const cudart_host_block *block = cudart_find_host_block(pointer);
    if (block) {
        out->type = block->type;
        out->device = 0;
        out->devicePointer = out->hostPointer = (void *)(uintptr_t)pointer;
    } else if (ptx_memory_find(cudart.memory, (uintptr_t)pointer, &start, &bytes)) {
        out->type = cudaMemoryTypeDevice;
        out->device = 0;
        out->devicePointer = (void *)(uintptr_t)pointer;
    } else {
        out->hostPointer = (void *)(uintptr_t)pointer;
    }
    return cudaSuccess;
}

CUDART_API cudaPointerGetAttributes(cudaPointerAttributes *out, const void *pointer) {
    CUDART_RUN(pointer_attributes(out, pointer));
}

static cudaError_t memory_info(size_t *available, size_t *total) {
    const size_t used = ptx_memory_used(cudart.memory);
    *total = cudart.memory_bytes;
    *available = used < cudart.memory_bytes ? cudart.memory_bytes - used : 0;
    return cudaSuccess;
}

CUDART_API cudaMemGetInfo(size_t *available, size_t *total) {
    CUDART_RUN(memory_info(available, total));
}

/* Advice: managed memory is where both sides use it. */
CUDART_API cudaMemPrefetchAsync(const void *pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                cudaStream_t stream) {
    (void)bytes, (void)location, (void)flags, (void)stream;
    CUDART_RUN(cudart_find_host_block(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}
CUDART_ALSO(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync)

CUDART_API cudaMemAdvise(const void *pointer, size_t bytes, int advice, cudaMemLocation location) {
    (void)bytes, (void)advice, (void)location;
    CUDART_RUN(cudart_find_host_block(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}

CUDART_API cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned flags) {
    (void)stream, (void)bytes, (void)flags;
    CUDART_RUN(cudart_find_host_block(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}
CUDART_ALSO(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync)
