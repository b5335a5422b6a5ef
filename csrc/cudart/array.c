/* CUDA arrays, and the objects of textures and surfaces. The elements of an array lie row by row in device
   memory; the handle of an object is the address of its descriptor there. */
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum { MAX_SIZE = 1 << 17 };

/* ---- formats ---- */

static unsigned channels_of(const cudaChannelFormatDesc *format) {
    return (unsigned)((format->x > 0) + (format->y > 0) + (format->z > 0) + (format->w > 0));
}

static bool is_format(const cudaChannelFormatDesc *f) {
    const unsigned channels = channels_of(f);
    const bool same = (channels < 2 || f->y == f->x) && (channels < 4 || (f->z == f->x && f->w == f->x));
    return same && channels && channels != 3 && (f->x == 8 || f->x == 16 || f->x == 32) &&
           (unsigned)f->f <= cudaChannelFormatKindFloat;
}

/* ---- arrays ---- */

static cudaError_t allocate_array(cudaArray_t *out, const cudaChannelFormatDesc *format, cudaExtent extent,
                                  unsigned flags) {
    if (!out || !format || !is_format(format) || !extent.width || extent.width > MAX_SIZE ||
        extent.height > MAX_SIZE || extent.depth > MAX_SIZE)
        return cudart_refuse(cudaErrorInvalidValue, "an array of %zu x %zu x %zu elements, or its format",
                             extent.width, extent.height, extent.depth);
    struct cudart_array *array = calloc(1, sizeof *array);
    if (!array)
        return cudaErrorMemoryAllocation;
    *array = (struct cudart_array){.format = *format,
                                   .extent = extent,
                                   .flags = flags,
                                   .pitch = extent.width * cudart_element_bytes(format),
                                   .rows = extent.height ? extent.height : 1,
                                   .slices = extent.depth ? extent.depth : 1};
    const cudaError_t error = cudart_allocate(&array->data, array->pitch * array->rows * array->slices);
    if (error != cudaSuccess) {
        free(array);
        return error;
    }
    *out = array;
    return cudaSuccess;
}

static cudaError_t free_array(cudaArray_t array) {
    if (!array)
        return cudaSuccess;
    const cudaError_t error = cudart_release(array->data);
    if (error == cudaSuccess)
        free(array);
    return error;
}

CUDART_API cudaMallocArray(cudaArray_t *out, const cudaChannelFormatDesc *format, size_t width, size_t height,
                           unsigned flags) {
    CUDART_RUN(allocate_array(out, format, (cudaExtent){width, height, 0}, flags));
}

CUDART_API cudaMalloc3DArray(cudaArray_t *out, const cudaChannelFormatDesc *format, cudaExtent extent,
                             unsigned flags) {
    CUDART_RUN(allocate_array(out, format, extent, flags));
}

CUDART_API cudaFreeArray(cudaArray_t array) {
    CUDART_RUN(cudart_blocking(free_array(array)));
}

static cudaError_t array_info(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags,
                              cudaArray_t array) {
    if (!array)
        return cudaErrorInvalidValue;
    if (format)
        *format = array->format;
    if (extent)
        *extent = array->extent;
    if (flags)
        *flags = array->flags;
    return cudaSuccess;
}

CUDART_API cudaArrayGetInfo(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags,
                            cudaArray_t array) {
    CUDART_RUN(array_info(format, extent, flags, array));
}

CUDART_API cudaGetChannelDesc(cudaChannelFormatDesc *format, cudaArray_t array) {
    CUDART_RUN(array_info(format, NULL, NULL, array));
}

/* ---- copies ---- */

/* The part of an array from a byte of a row on; NULL if `width` bytes of `height` rows do not fit. */
static char *part_of(cudaArray_t array, size_t x, size_t y, size_t width, size_t height) {
    if (!array || x > array->pitch || width > array->pitch - x || y > array->rows ||
        height > array->rows - y) {
        (void)cudart_refuse(cudaErrorInvalidValue, "a copy of %zu bytes x %zu rows is outside the array",
                            width, height);
        return NULL;
    }
    return (char *)array->data + y * array->pitch + x;
}

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                            size_t height, enum cudaMemcpyKind kind) {
    char *start = part_of(to, x, y, width, height);
    return start ? cudart_copy_rows(start, to->pitch, from, pitch, width, height, kind)
                 : cudaErrorInvalidValue;
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
                              size_t height, enum cudaMemcpyKind kind) {
    const char *start = part_of(from, x, y, width, height);
    return start ? cudart_copy_rows(to, pitch, start, from->pitch, width, height, kind)
                 : cudaErrorInvalidValue;
}

CUDART_API cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(to_array(to, x, y, from, pitch, width, height, kind)));
}
CUDART_ALSO(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray)

CUDART_API cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                    size_t width, size_t height, enum cudaMemcpyKind kind,
                                    cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(to_array(to, x, y, from, pitch, width, height, kind));
}
CUDART_ALSO(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync)

CUDART_API cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
                                 size_t height, enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(from_array(to, pitch, from, x, y, width, height, kind)));
}
CUDART_ALSO(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray)

CUDART_API cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
                                      size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(from_array(to, pitch, from, x, y, width, height, kind));
}
CUDART_ALSO(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync)

/* Bytes of an array in the order of its rows. */
static cudaError_t copy_bytes(cudaArray_t array, size_t x, size_t y, void *other, size_t bytes, bool to,
                              enum cudaMemcpyKind kind) {
    const size_t all = array ? array->pitch * array->rows : 0, begin = array ? y * array->pitch + x : 0;
    if (begin > all || bytes > all - begin)
        return cudart_refuse(cudaErrorInvalidValue, "a copy of %zu bytes is outside the array", bytes);
    char *start = (char *)array->data + begin;
    return to ? cudart_copy(start, other, bytes, kind) : cudart_copy(other, start, bytes, kind);
}

CUDART_API cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                             enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(copy_bytes(to, x, y, (void *)(uintptr_t)from, bytes, true, kind)));
}
CUDART_ALSO(cudaMemcpyToArray_ptds, cudaMemcpyToArray)

CUDART_API cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(copy_bytes(to, x, y, (void *)(uintptr_t)from, bytes, true, kind));
}
CUDART_ALSO(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync)

CUDART_API cudaMemcpyFromArray(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes,
                               enum cudaMemcpyKind kind) {
    CUDART_RUN(cudart_blocking(copy_bytes(from, x, y, to, bytes, false, kind)));
}
CUDART_ALSO(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray)

CUDART_API cudaMemcpyFromArrayAsync(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    CUDART_RUN(copy_bytes(from, x, y, to, bytes, false, kind));
}
CUDART_ALSO(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync)

/* ---- textures and surfaces ---- */

/* The descriptions of a texture or surface object, which the program may query. */
typedef struct cudart_object {
    struct cudart_object *next;
    uint64_t handle;
    cudaResourceDesc resource;
    cudaTextureDesc texture;
} cudart_object;

static cudart_object *objects;

static void describe_format(ptx_texture *to, const cudaChannelFormatDesc *format) {
    to->channels = (uint8_t)channels_of(format);
    to->channel_bytes = (uint8_t)(format->x / 8);
    to->format = (uint8_t)format->f;
}

/* The data of a resource; false if it is none that is simulated. */
static bool describe_data(ptx_texture *to, const cudaResourceDesc *from) {
    size_t width, height = 1, depth = 1;
    const cudaChannelFormatDesc *format;
    const void *data;
    if (from->resType == cudaResourceTypeArray && from->res.array) {
        const struct cudart_array *array = from->res.array;
        format = &array->format, data = array->data;
        width = array->extent.width, height = array->rows, depth = array->slices;
        to->pitch = array->pitch;
    } else if (from->resType == cudaResourceTypeLinear) {
        format = &from->res.linear.desc, data = from->res.linear.devPtr;
        width =
            cudart_element_bytes(format) ? from->res.linear.sizeInBytes / cudart_element_bytes(format) : 0;
        to->linear_memory = true;
    } else if (from->resType == cudaResourceTypePitch2D) {
        format = &from->res.pitch2D.desc, data = from->res.pitch2D.devPtr;
        width = from->res.pitch2D.width, height = from->res.pitch2D.height;
        to->pitch = from->res.pitch2D.pitchInBytes;
    } else {
        return false;
    }
    to->address = (uintptr_t)data;
    to->slice = to->pitch * height;
    to->size[0] = (uint32_t)width, to->size[1] = (uint32_t)height, to->size[2] = (uint32_t)depth;
    describe_format(to, format);
    return is_format(format) && width <= UINT32_MAX && height <= MAX_SIZE && depth <= MAX_SIZE;
}

static cudaError_t create_object(uint64_t *out, const cudaResourceDesc *resource, const ptx_texture *texture,
                                 const cudaTextureDesc *description) {
    char descriptor[PTX_TEXTURE_BYTES];
    ptx_error error;
    void *address = NULL;
    if (ptx_texture_encode(texture, descriptor, &error) != PTX_OK)
        return cudart_refuse(cudaErrorInvalidValue, "%s", error.message);
    cudart_object *object = calloc(1, sizeof *object);
    if (!object)
        return cudaErrorMemoryAllocation;
    cudaError_t status = cudart_allocate(&address, sizeof descriptor);
    if (status == cudaSuccess &&
        ptx_memory_write(cudart.memory, (uintptr_t)address, descriptor, sizeof descriptor, &error) != PTX_OK)
        status = cudart_refuse_as(&error);
    if (status != cudaSuccess) {
        free(object);
        return status;
    }
    *object = (cudart_object){.next = objects, .handle = (uintptr_t)address, .resource = *resource};
    if (description)
        object->texture = *description;
    objects = object;
    *out = object->handle;
    return cudaSuccess;
}

static cudaError_t destroy_object(uint64_t handle) {
    for (cudart_object **at = &objects; *at; at = &(*at)->next) {
        cudart_object *object = *at;
        if (object->handle != handle)
            continue;
        *at = object->next;
        free(object);
        return cudart_release((void *)(uintptr_t)handle);
    }
    return cudaErrorInvalidValue;
}

static cudaError_t create_texture(uint64_t *out, const cudaResourceDesc *resource, const cudaTextureDesc *d,
                                  const void *view) {
    ptx_texture texture = {.address = 0};
    if (!out || !resource || !d)
        return cudaErrorInvalidValue;
    if (view || resource->resType == cudaResourceTypeMipmappedArray)
        return cudart_refuse(cudaErrorNotSupported,
                             "resource views and mipmapped arrays are not simulated yet");
    if (!describe_data(&texture, resource))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < 3; i++) {
        if ((unsigned)d->addressMode[i] > PTX_ADDRESS_BORDER)
            return cudaErrorInvalidValue;
        texture.mode[i] = (uint8_t)d->addressMode[i];
    }
    texture.linear_filter = d->filterMode == 1;
    texture.normalized_read = d->readMode == 1 && texture.format != PTX_TEXTURE_FLOAT;
    texture.normalized_coordinates = d->normalizedCoords != 0;
    texture.srgb = d->sRGB != 0;
    memcpy(texture.border, d->borderColor, sizeof texture.border);
    if (texture.linear_filter && texture.format != PTX_TEXTURE_FLOAT && !texture.normalized_read)
        return cudart_refuse(cudaErrorInvalidFilterSetting,
                             "linear filtering of integers needs cudaReadModeNormalizedFloat");
    return create_object(out, resource, &texture, d);
}

static cudaError_t create_surface(uint64_t *out, const cudaResourceDesc *resource) {
    ptx_texture texture = {.address = 0};
    if (!out || !resource || resource->resType != cudaResourceTypeArray || !describe_data(&texture, resource))
        return cudaErrorInvalidValue;
    return create_object(out, resource, &texture, NULL);
}

static const cudart_object *find_object(uint64_t handle) {
    const cudart_object *object = objects;
    while (object && object->handle != handle)
        object = object->next;
    return object;
}

static cudaError_t give_resource(cudaResourceDesc *out, uint64_t handle) {
    const cudart_object *object = find_object(handle);
    if (object)
        *out = object->resource;
    return object ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t give_texture(cudaTextureDesc *out, uint64_t handle) {
    const cudart_object *object = find_object(handle);
    if (object)
        *out = object->texture;
    return object ? cudaSuccess : cudaErrorInvalidValue;
}

CUDART_API cudaCreateTextureObject(uint64_t *out, const cudaResourceDesc *resource,
                                   const cudaTextureDesc *description, const void *view) {
    CUDART_RUN(create_texture(out, resource, description, view));
}

CUDART_API cudaDestroyTextureObject(uint64_t handle) {
    CUDART_RUN(destroy_object(handle));
}
CUDART_ALSO(cudaDestroySurfaceObject, cudaDestroyTextureObject)

CUDART_API cudaCreateSurfaceObject(uint64_t *out, const cudaResourceDesc *resource) {
    CUDART_RUN(create_surface(out, resource));
}

CUDART_API cudaGetTextureObjectResourceDesc(cudaResourceDesc *out, uint64_t handle) {
    CUDART_RUN(give_resource(out, handle));
}
CUDART_ALSO(cudaGetSurfaceObjectResourceDesc, cudaGetTextureObjectResourceDesc)

CUDART_API cudaGetTextureObjectTextureDesc(cudaTextureDesc *out, uint64_t handle) {
    CUDART_RUN(give_texture(out, handle));
}
