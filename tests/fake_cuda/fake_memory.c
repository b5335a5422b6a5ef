/* Memory of the fake driver's devices, which is host memory, and the copies between both. */
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

object *memory_at(const context *of, uint64_t address, uint64_t bytes) {
    for (object *o = state.objects; o; o = o->next) {
        const uint64_t start = (uint64_t)(uintptr_t)o->memory;
        if ((o->kind == ALLOCATION || o->kind == PINNED) && o->context == of && address >= start &&
            address - start <= o->bytes && bytes <= o->bytes - (address - start))
            return o;
    }
    return NULL;
}

void *reach(const context *of, uint64_t address, uint64_t bytes) {
    const object *o = memory_at(of, address, bytes);
    return o && o->live ? (void *)(uintptr_t)address : NULL;
}

/* Memory that is not there yet for device code; NULL when there is not that much. */
static object *new_memory(size_t bytes) {
    context *current = top();
    char *memory = current->used <= state.memory_limit && bytes <= state.memory_limit - current->used
                       ? malloc(bytes)
                       : NULL;
    if (!memory)
        return NULL;
    object *o = make(ALLOCATION);
    o->memory = memory;
    o->bytes = bytes;
    current->used += bytes;
    return o;
}

gr_cu_result cuMemAlloc_v2(gr_cu_deviceptr *address, size_t bytes) {
    gr_cu_result result = begin(S_cuMemAlloc_v2, SAFE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    if (bytes == 0)
        return end(INVALID_VALUE);
    object *o = new_memory(bytes);
    if (!o)
        return end(OUT_OF_MEMORY);
    memset(o->memory, 0xa5, bytes); /* what was there before is not zero on a device either */
    o->live = true;
    *address = (uint64_t)(uintptr_t)o->memory;
    return end(GR_CU_SUCCESS);
}

static object *allocated(uint64_t address) {
    object *o = memory_at(top(), address, 0);
    return o && o->kind == ALLOCATION && (uint64_t)(uintptr_t)o->memory == address && !o->freed ? o : NULL;
}

gr_cu_result cuMemFree_v2(gr_cu_deviceptr address) {
    gr_cu_result result = begin(S_cuMemFree_v2, SAFE);
    object *o = result == GR_CU_SUCCESS ? allocated(address) : NULL;
    if (result != GR_CU_SUCCESS || !o)
        return end(result != GR_CU_SUCCESS ? result : INVALID_VALUE);
    if (!o->pool) /* the driver waits for the device; whoever frees a pool's memory so has done that himself
                   */
        drain(top());
    destroy(o);
    return end(top()->sticky);
}

gr_cu_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    gr_cu_result result = begin(S_cuMemHostAlloc, SAFE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    if (bytes == 0 || flags != (GR_CU_HOST_PORTABLE | GR_CU_HOST_MAPPED))
        return end(INVALID_VALUE);
    object *o = make(PINNED);
    o->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!o->memory)
        abort();
    memset(o->memory, 0xa5, bytes);
    o->bytes = bytes;
    o->live = true;
    *memory = o->memory;
    return end(GR_CU_SUCCESS);
}

/* The pinned memory that holds an address, or begins there. */
static object *pinned_at(const void *memory, bool begins) {
    object *o = state.objects;
    while (o && !(o->kind == PINNED &&
                  (begins ? o->memory == memory : (uintptr_t)memory - (uintptr_t)o->memory < o->bytes)))
        o = o->next;
    return o;
}

gr_cu_result cuMemFreeHost(void *memory) {
    gr_cu_result result = begin(S_cuMemFreeHost, SAFE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *o = pinned_at(memory, true);
    if (!o)
        return end(INVALID_VALUE);
    drain(top());
    destroy(o);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemHostGetDevicePointer_v2(gr_cu_deviceptr *address, void *memory, unsigned flags) {
    gr_cu_result result = begin(S_cuMemHostGetDevicePointer_v2, CONTEXT);
    if (result == GR_CU_SUCCESS && (flags != 0 || !pinned_at(memory, true)))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *address = (uint64_t)(uintptr_t)memory;
    return end(result);
}

/* ---- pools ---- */

gr_cu_result cuMemPoolCreate(gr_cu_pool *out, const gr_cu_pool_properties *asked) {
    gr_cu_result result = begin(S_cuMemPoolCreate, SAFE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    if (asked->type != GR_CU_POOL_PINNED || asked->handle_types || asked->security || asked->max_bytes ||
        asked->usage || asked->location.type != GR_CU_POOL_ON_DEVICE ||
        asked->location.id != (int)(top() - state.contexts))
        return end(INVALID_VALUE);
    for (size_t i = 0; i < sizeof asked->reserved; i++)
        if (asked->reserved[i])
            return end(INVALID_VALUE);
    *out = (gr_cu_pool)make(POOL);
    return end(GR_CU_SUCCESS);
}

/* Gives memory back that was freed, and whose freeing is done, down to `keep` bytes of all that the pool has.
 */
void trim(object *pool, uint64_t keep) {
    uint64_t held = 0;
    for (const object *o = state.objects; o; o = o->next)
        held += o->pool == pool ? o->bytes : 0;
    for (object *o = state.objects, *next; o && held > keep; o = next) {
        next = o->next;
        if (o->pool == pool && o->freed && is_done(o->freed_by)) {
            held -= o->bytes;
            destroy(o);
        }
    }
}

gr_cu_result cuMemPoolDestroy(gr_cu_pool handle) {
    gr_cu_result result = begin(S_cuMemPoolDestroy, SAFE);
    object *pool = result == GR_CU_SUCCESS ? known(POOL, handle) : NULL;
    if (result == GR_CU_SUCCESS && !pool)
        result = INVALID_HANDLE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    trim(pool, 0);
    for (object *o = state.objects; o; o = o->next)
        if (o->pool == pool)
            o->pool = NULL; /* it goes when it is freed */
    destroy(pool);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemPoolSetAttribute(gr_cu_pool handle, int attribute, void *value) {
    gr_cu_result result = begin(S_cuMemPoolSetAttribute, CONTEXT);
    object *pool = result == GR_CU_SUCCESS ? known(POOL, handle) : NULL;
    const bool waits = attribute == GR_CU_POOL_REUSE_BY_WAITING; /* this pool never does */
    if (result == GR_CU_SUCCESS && (!pool || !(waits || attribute == GR_CU_POOL_RELEASE_THRESHOLD)))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS && !waits)
        memcpy(&pool->threshold, value, sizeof pool->threshold);
    return end(result);
}

gr_cu_result cuMemPoolTrimTo(gr_cu_pool handle, size_t keep) {
    gr_cu_result result = begin(S_cuMemPoolTrimTo, CONTEXT);
    object *pool = result == GR_CU_SUCCESS ? known(POOL, handle) : NULL;
    if (result == GR_CU_SUCCESS && !pool)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS)
        trim(pool, keep);
    return end(result);
}

/* Freed memory comes back at once in the stream that freed it, and anywhere when the freeing is done. */
static object *again(const object *pool, size_t bytes, uint64_t lane) {
    object *o = state.objects;
    while (o && !(o->pool == pool && o->freed && o->bytes >= bytes &&
                  (o->freed_in == lane || is_done(o->freed_by))))
        o = o->next;
    return o;
}

gr_cu_result cuMemAllocFromPoolAsync(gr_cu_deviceptr *address, size_t bytes, gr_cu_pool handle,
                                     gr_cu_stream stream_handle) {
    gr_cu_result result = begin(S_cuMemAllocFromPoolAsync, CONTEXT);
    object *stream = NULL;
    if (result == GR_CU_SUCCESS)
        result = find_stream(stream_handle, &stream);
    object *pool = result == GR_CU_SUCCESS ? known(POOL, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!pool || bytes == 0))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS && stream && stream->graph)
        result = spoil(stream->graph, CAPTURE_UNSUPPORTED); /* there are no nodes that allocate, here */
    if (result != GR_CU_SUCCESS)
        return end(result);
    const size_t whole = (bytes + 511) / 512 * 512; /* as a pool rounds it */
    object *o = again(pool, whole, stream ? stream->lane : 0);
    if (!o)
        o = new_memory(whole);
    if (!o) {
        trim(pool, 0);
        o = new_memory(whole);
    }
    if (!o)
        return end(OUT_OF_MEMORY);
    o->pool = pool;
    o->freed = false;
    *address = (uint64_t)(uintptr_t)o->memory;
    return end(put(stream, (work){.action = ALLOCATE, .on = o}));
}

gr_cu_result cuMemFreeAsync(gr_cu_deviceptr address, gr_cu_stream stream_handle) {
    gr_cu_result result = begin(S_cuMemFreeAsync, CONTEXT);
    object *stream = NULL;
    if (result == GR_CU_SUCCESS)
        result = find_stream(stream_handle, &stream);
    object *o = result == GR_CU_SUCCESS ? allocated(address) : NULL;
    if (result == GR_CU_SUCCESS && !o)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS && stream && stream->graph) /* it would be freed by each replay */
        result = spoil(stream->graph, CAPTURE_UNSUPPORTED);
    if (result != GR_CU_SUCCESS)
        return end(result);
    o->freed = true;
    o->freed_by = state.last_id + 1;
    o->freed_in = stream ? stream->lane : 0;
    return end(put(stream, (work){.action = RELEASE, .on = o}));
}

/* ---- what is known of an address ---- */

/* What is known of an allocation; false for an attribute that it does not have. */
static bool describe_pointer(const object *o, int attribute, void *value) {
    const int device = (int)(o->context - state.contexts);
    const unsigned type = o->kind == PINNED ? GR_CU_MEMORY_HOST : 2;
    const uint64_t start = (uint64_t)(uintptr_t)o->memory;
    switch (attribute) {
    case GR_CU_POINTER_DEVICE:
        memcpy(value, &device, sizeof device);
        return true;
    case GR_CU_POINTER_MEMORY_TYPE:
        memcpy(value, &type, sizeof type);
        return true;
    case GR_CU_POINTER_RANGE_START:
        memcpy(value, &start, sizeof start);
        return true;
    case GR_CU_POINTER_RANGE_BYTES:
        memcpy(value, &o->bytes, sizeof o->bytes);
        return true;
    }
    return false;
}

static bool look_up_pointer(int attribute, void *value, gr_cu_deviceptr address) {
    const object *o = state.objects;
    while (o && !((o->kind == ALLOCATION || o->kind == PINNED) && !o->freed &&
                  address - (uint64_t)(uintptr_t)o->memory < o->bytes))
        o = o->next;
    return o && describe_pointer(o, attribute, value);
}

gr_cu_result cuPointerGetAttribute(void *value, int attribute, gr_cu_deviceptr address) {
    gr_cu_result result = begin(S_cuPointerGetAttribute, INITIALISED);
    if (result != GR_CU_SUCCESS)
        return end(result);
    return end(look_up_pointer(attribute, value, address) ? GR_CU_SUCCESS : INVALID_VALUE);
}

/* What is not known leaves the values, which the driver sets to zero: ours are zero before. */
gr_cu_result cuPointerGetAttributes(unsigned count, int *attributes, void **values, gr_cu_deviceptr address) {
    gr_cu_result result = begin(S_cuPointerGetAttributes, INITIALISED);
    for (unsigned i = 0; result == GR_CU_SUCCESS && i < count; ++i)
        look_up_pointer(attributes[i], values[i], address);
    return end(result);
}

gr_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    gr_cu_result result = begin(S_cuMemGetInfo_v2, CONTEXT);
    if (result == GR_CU_SUCCESS) {
        *free_bytes = state.memory_limit - top()->used;
        *total_bytes = state.memory_limit;
    }
    return end(result);
}

/* ---- copies ---- */

static gr_cu_result in_stream(enum symbol symbol, work item, gr_cu_stream handle) {
    gr_cu_result result = begin(symbol, CONTEXT);
    object *stream = NULL;
    if (result == GR_CU_SUCCESS)
        result = find_stream(handle, &stream);
    if (result == GR_CU_SUCCESS && !memory_at(top(), item.device, item.bytes))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    /* Pageable memory may change when the call has returned; a graph reads it when it runs. */
    const bool deferred = item.action == FILL || pinned_at(item.host, false) || (stream && stream->graph);
    if (!deferred && item.action == COPY_IN) {
        void *staged = malloc(item.bytes);
        if (!staged)
            abort();
        memcpy(staged, item.host, item.bytes);
        item.host = staged;
        item.staged = true;
    }
    result = put(stream, item);
    if (result == GR_CU_SUCCESS && !deferred && item.action == COPY_OUT) {
        run_until(state.last_id);
        result = top()->sticky;
    }
    return end(result);
}

gr_cu_result cuMemcpyHtoDAsync_v2(gr_cu_deviceptr to, const void *from, size_t bytes, gr_cu_stream stream) {
    const work item = {.action = COPY_IN, .device = to, .host = (void *)(uintptr_t)from, .bytes = bytes};
    return in_stream(S_cuMemcpyHtoDAsync_v2, item, stream);
}

gr_cu_result cuMemcpyDtoHAsync_v2(void *to, gr_cu_deviceptr from, size_t bytes, gr_cu_stream stream) {
    const work item = {.action = COPY_OUT, .device = from, .host = to, .bytes = bytes};
    return in_stream(S_cuMemcpyDtoHAsync_v2, item, stream);
}

gr_cu_result cuMemsetD8Async(gr_cu_deviceptr to, unsigned char value, size_t bytes, gr_cu_stream stream) {
    const work item = {.action = FILL, .device = to, .value = value, .bytes = bytes};
    return in_stream(S_cuMemsetD8Async, item, stream);
}

/* Its checks are some of the driver's. */
gr_cu_result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,
                                    const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                                    int interleave, int swizzle, int promotion, int fill) {
    gr_cu_result result = begin(S_cuTensorMapEncodeTiled, CONTEXT);
    fake_tensor_map made = {.address = (uintptr_t)address};
    bool good = rank >= 1 && rank <= 5 && made.address % 16 == 0 && (uintptr_t)map % 64 == 0 && type >= 0 &&
                type <= 12 && swizzle >= 0 && swizzle <= 3 && promotion >= 0 && promotion <= 3 &&
                interleave == 0 && fill == 0;
    for (uint32_t i = 0; i < rank && good; i++) {
        made.sizes[i] = sizes[i];
        made.box[i] = (uint16_t)box[i];
        good = sizes[i] > 0 && box[i] >= 1 && box[i] <= 256 && steps[i] == 1;
        if (i > 0)
            made.strides[i - 1] = strides[i - 1];
        good = good && (i == 0 || strides[i - 1] % 16 == 0);
    }
    if (result == GR_CU_SUCCESS && !good)
        result = INVALID_VALUE;
    made.type = (uint8_t)type;
    made.rank = (uint8_t)rank;
    made.swizzle = (uint8_t)swizzle;
    made.promotion = (uint8_t)promotion;
    if (result == GR_CU_SUCCESS)
        memcpy(map, &made, sizeof made);
    return end(result);
}
