/* Copies and fills. A copy of host memory to or from the device is checked against the allocations. */
#include <string.h>

#include "cudart/cudart.h"

enum { PIECE = 64 << 10 };

static bool is_device(const void *pointer) {
    uint64_t start;
    size_t bytes;
    return ptx_memory_find(cudart.memory, (uintptr_t)pointer, &start, &bytes);
}

/* Whether only the device can use a pointer. */
static bool is_device_only(const void *pointer) {
    return is_device(pointer) && !cudart_find_host_block(pointer);
}

static cudaError_t check_side(const void *pointer, bool device, const char *side) {
    if (device && !is_device(pointer))
        return cudart_refuse(cudaErrorInvalidValue, "a copy whose %s, %p, is not device memory", side,
                             pointer);
    if (!device && is_device_only(pointer))
        return cudart_refuse(cudaErrorInvalidValue, "a copy whose %s, %p, is device memory, not host memory",
                             side, pointer);
    return cudaSuccess;
}

static cudaError_t result_of(ptx_status status, const ptx_error *error) {
    return status == PTX_OK ? cudaSuccess : cudart_refuse_as(error);
}

/* From device to device, by pieces through the host. */
static cudaError_t copy_inside(uint64_t to, uint64_t from, size_t bytes) {
    static char piece[PIECE];
    ptx_error error;
    for (size_t done = 0; done < bytes; done += PIECE) {
        const size_t count = bytes - done < PIECE ? bytes - done : PIECE;
        if (ptx_memory_read(cudart.memory, piece, from + done, count, &error) != PTX_OK ||
            ptx_memory_write(cudart.memory, to + done, piece, count, &error) != PTX_OK)
            return cudart_refuse_as(&error);
    }
    return cudaSuccess;
}

cudaError_t cudart_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    ptx_error error;
    if (bytes == 0)
        return cudaSuccess;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!to || !from)
        return cudart_refuse(cudaErrorInvalidValue, "a copy %s a null pointer", to ? "from" : "to");
    const bool any = kind == cudaMemcpyDefault;
    const bool to_device =
        any ? is_device(to) : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device =
        any ? is_device(from) : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    cudaError_t bad = check_side(to, to_device, "destination");
    if (bad == cudaSuccess)
        bad = check_side(from, from_device, "source");
    if (bad != cudaSuccess)
        return bad;
    if (to_device && from_device)
        return copy_inside((uintptr_t)to, (uintptr_t)from, bytes);
    if (to_device)
        return result_of(ptx_memory_write(cudart.memory, (uintptr_t)to, from, bytes, &error), &error);
    if (from_device)
        return result_of(ptx_memory_read(cudart.memory, to, (uintptr_t)from, bytes, &error), &error);
    memmove(to, from, bytes);
    return cudaSuccess;
}

static cudaError_t fill(void *to, int value, size_t bytes) {
    static char piece[PIECE];
    ptx_error error;
    memset(piece, value, bytes < PIECE ? bytes : PIECE);
    for (size_t done = 0; done < bytes; done += PIECE) {
        const size_t count = bytes - done < PIECE ? bytes - done : PIECE;
        if (ptx_memory_write(cudart.memory, (uintptr_t)to + done, piece, count, &error) != PTX_OK)
            return cudart_refuse_as(&error);
    }
    return cudaSuccess;
}

cudaError_t cudart_blocking(cudaError_t error) {
    cudart_show_printed();
    return error;
}

CUDART_API cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(cudart_copy(to, from, bytes, kind)));
}
CUDART_ALSO(cudaMemcpy_ptds, cudaMemcpy)

/* A copy that a capturing stream does later. */
static cudaError_t copy_in(cudaStream_t stream, void *to, const void *from, size_t bytes,
                           enum cudaMemcpyKind kind) {
    const cudart_work work = cudart_copy_work(to, from, bytes, kind);
    cudaError_t error;
    return cudart_capture(stream, &work, &error) ? error : cudart_copy(to, from, bytes, kind);
}

CUDART_API cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t stream) {
    CUDART_RUN(copy_in(stream, to, from, bytes, kind));
}
CUDART_ALSO(cudaMemcpyAsync_ptsz, cudaMemcpyAsync)

CUDART_API cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    CUDART_RUN(to_device || from_device
                   ? cudaErrorInvalidDevice
                   : cudart_blocking(cudart_copy(to, from, bytes, cudaMemcpyDeviceToDevice)));
}

CUDART_API cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                               cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(to_device || from_device ? cudaErrorInvalidDevice
                                        : cudart_copy(to, from, bytes, cudaMemcpyDeviceToDevice));
}

/* ---- rows and boxes ---- */

cudaError_t cudart_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t rows, enum cudaMemcpyKind kind) {
    cudaError_t error =
        rows > 1 && (width > to_pitch || width > from_pitch) ? cudaErrorInvalidPitchValue : cudaSuccess;
    for (size_t row = 0; row < rows && error == cudaSuccess; row++)
        error = cudart_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    return error;
}

static char *start_of(const cudaPitchedPtr *p, const cudaPos *at, size_t element_bytes, size_t slice) {
    return (char *)p->ptr + (at->z + slice) * p->ysize * p->pitch + at->y * p->pitch + at->x * element_bytes;
}

/* One side of a copy of a box: a pitched pointer, whose elements are bytes, or an array. */
static cudaPitchedPtr side_of(cudaArray_t array, const cudaPitchedPtr *pointer, size_t *element_bytes) {
    *element_bytes = array ? cudart_element_bytes(&array->format) : 1;
    return array ? (cudaPitchedPtr){.ptr = array->data, .pitch = array->pitch, .ysize = array->rows}
                 : *pointer;
}

static bool box_is_inside(cudaArray_t array, const cudaPos *at, const cudaExtent *extent) {
    return !array || (at->x + extent->width <= array->extent.width && at->y + extent->height <= array->rows &&
                      at->z + extent->depth <= array->slices);
}

/* The extent is in elements if an array takes part. */
cudaError_t cudart_copy_box(const cudaMemcpy3DParms *p) {
    size_t to_bytes, from_bytes;
    const cudaPitchedPtr to = side_of(p->dstArray, &p->dstPtr, &to_bytes);
    const cudaPitchedPtr from = side_of(p->srcArray, &p->srcPtr, &from_bytes);
    const size_t width = p->extent.width * (to_bytes > from_bytes ? to_bytes : from_bytes);
    if ((p->dstArray && p->srcArray && to_bytes != from_bytes) ||
        !box_is_inside(p->dstArray, &p->dstPos, &p->extent) ||
        !box_is_inside(p->srcArray, &p->srcPos, &p->extent))
        return cudart_refuse(cudaErrorInvalidValue, "a copy of %zu x %zu x %zu elements is outside the array",
                             p->extent.width, p->extent.height, p->extent.depth);
    cudaError_t error = cudaSuccess;
    for (size_t slice = 0; slice < p->extent.depth && error == cudaSuccess; slice++)
        error = cudart_copy_rows(start_of(&to, &p->dstPos, to_bytes, slice), to.pitch,
                                 start_of(&from, &p->srcPos, from_bytes, slice), from.pitch, width,
                                 p->extent.height, p->kind);
    return error;
}

static cudaError_t box_in(cudaStream_t stream, const cudaMemcpy3DParms *p) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemcpy, .copy = *p};
    cudaError_t error;
    return cudart_capture(stream, &work, &error) ? error : cudart_copy_box(p);
}

CUDART_API cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                        size_t height, enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(cudart_copy_rows(to, to_pitch, from, from_pitch, width, height, kind)));
}
CUDART_ALSO(cudaMemcpy2D_ptds, cudaMemcpy2D)

CUDART_API cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(cudart_copy_rows(to, to_pitch, from, from_pitch, width, height, kind));
}
CUDART_ALSO(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync)

CUDART_API cudaMemcpy3D(const cudaMemcpy3DParms *p) {
    CUDART_RUN(cudart_blocking(cudart_copy_box(p)));
}
CUDART_ALSO(cudaMemcpy3D_ptds, cudaMemcpy3D)

CUDART_API cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
    CUDART_RUN(box_in(stream, p));
}
CUDART_ALSO(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync)

/* ---- fills ---- */

static cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t rows) {
    cudaError_t error = rows > 1 && width > pitch ? cudaErrorInvalidValue : cudaSuccess;
    for (size_t row = 0; row < rows && error == cudaSuccess; row++)
        error = fill((char *)to + row * pitch, value, width);
    return error;
}

static cudaError_t fill_box(const cudaPitchedPtr *to, int value, const cudaExtent *extent) {
    cudaError_t error = cudaSuccess;
    for (size_t slice = 0; slice < extent->depth && error == cudaSuccess; slice++)
        error = fill_rows((char *)to->ptr + slice * to->pitch * to->ysize, to->pitch, value, extent->width,
                          extent->height);
    return error;
}

CUDART_API cudaMemset(void *to, int value, size_t bytes) {
    CUDART_RUN(fill(to, value, bytes));
}
CUDART_ALSO(cudaMemset_ptds, cudaMemset)

static cudaError_t fill_in(cudaStream_t stream, void *to, int value, size_t bytes) {
    const cudart_work work = {.type = cudaGraphNodeTypeMemset,
                              .fill = {to, bytes, (unsigned char)value, 1, bytes, 1}};
    cudaError_t error;
    return cudart_capture(stream, &work, &error) ? error : fill(to, value, bytes);
}

CUDART_API cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    CUDART_RUN(fill_in(stream, to, value, bytes));
}
CUDART_ALSO(cudaMemsetAsync_ptsz, cudaMemsetAsync)

CUDART_API cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    CUDART_RUN(fill_rows(to, pitch, value, width, height));
}
CUDART_ALSO(cudaMemset2D_ptds, cudaMemset2D)

CUDART_API cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                             cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(fill_rows(to, pitch, value, width, height));
}
CUDART_ALSO(cudaMemset2DAsync_ptsz, cudaMemset2DAsync)

CUDART_API cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    CUDART_RUN(fill_box(&to, value, &extent));
}
CUDART_ALSO(cudaMemset3D_ptds, cudaMemset3D)

CUDART_API cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(fill_box(&to, value, &extent));
}
CUDART_ALSO(cudaMemset3DAsync_ptsz, cudaMemset3DAsync)

/* ---- variables ---- */

/* The address of a part of a variable. */
static cudaError_t part_of(const void *symbol, size_t bytes, size_t offset, void **address) {
    uint64_t at;
    size_t size;
    const cudaError_t error = cudart_find_symbol(symbol, &at, &size);
    if (error != cudaSuccess)
        return error;
    if (offset > size || bytes > size - offset)
        return cudart_refuse(cudaErrorInvalidValue, "%zu bytes from byte %zu of a variable of %zu bytes",
                             bytes, offset, size);
    *address = (void *)(uintptr_t)(at + offset);
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                             enum cudaMemcpyKind kind) {
    void *to = NULL;
    const cudaError_t error = part_of(symbol, bytes, offset, &to);
    return error == cudaSuccess ? cudart_copy(to, from, bytes, kind) : error;
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
    void *from = NULL;
    const cudaError_t error = part_of(symbol, bytes, offset, &from);
    return error == cudaSuccess ? cudart_copy(to, from, bytes, kind) : error;
}

CUDART_API cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                              enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(to_symbol(symbol, from, bytes, offset, kind)));
}
CUDART_ALSO(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol)

CUDART_API cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(to_symbol(symbol, from, bytes, offset, kind));
}
CUDART_ALSO(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync)

CUDART_API cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(from_symbol(to, symbol, bytes, offset, kind)));
}
CUDART_ALSO(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol)

CUDART_API cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(from_symbol(to, symbol, bytes, offset, kind));
}
CUDART_ALSO(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync)
