/* Handlers of malloc and free in kernels. A call is one instruction, as in exec_print.c. Which addresses
   malloc returns is not specified; here it depends on the calls before it alone, which the ticket of the
   cluster orders. */
#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/heap.h"
#include "reserve.h"

enum { HEAP_ALIGNMENT = 16 };

ptx_status ptx_heap_create(ptx_memory *memory, size_t bytes, ptx_heap **out, ptx_error *error) {
    *out = NULL;
    ptx_heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory");
    if (pthread_mutex_init(&heap->lock, NULL) != 0) {
        free(heap);
        return ptx_fail(error, PTX_ERR_MEMORY, "cannot create a lock");
    }
    heap->bytes = bytes;
    const ptx_status status = ptx_memory_alloc(memory, bytes, &heap->address, error);
    if (status == PTX_OK)
        *out = heap;
    else
        ptx_heap_destroy(heap, memory);
    return status;
}

void ptx_heap_destroy(ptx_heap *heap, ptx_memory *memory) {
    if (!heap)
        return;
    (void)ptx_memory_free(memory, heap->address, NULL);
    pthread_mutex_destroy(&heap->lock);
    for (size_t i = 0; i < heap->launch_count; i++)
        free(heap->launches[i].params);
    free(heap->launches);
    free(heap->blocks);
    free(heap);
}

/* The end of the block before a position, or the start of the heap. */
static uint64_t end_before(const ptx_heap *heap, size_t index) {
    return index ? heap->blocks[index - 1].address + heap->blocks[index - 1].bytes : heap->address;
}

static uint64_t gap_before(const ptx_heap *heap, size_t index) {
    const uint64_t end = index < heap->count ? heap->blocks[index].address : heap->address + heap->bytes;
    return end - end_before(heap, index);
}

/* Behind the last block, otherwise from the first gap that is large enough. */
uint64_t ptx_heap_take(ptx_heap *heap, uint64_t bytes) {
    if (bytes == 0 || bytes > heap->bytes ||
        !ptx_reserve(&heap->blocks, &heap->capacity, heap->count, sizeof *heap->blocks))
        return 0;
    bytes = (bytes + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
    size_t index = heap->count;
    if (gap_before(heap, index) < bytes)
        for (index = 0; index < heap->count && gap_before(heap, index) < bytes; index++)
            ;
    if (gap_before(heap, index) < bytes)
        return 0;
    const ptx_heap_block block = {.address = end_before(heap, index), .bytes = bytes};
    memmove(&heap->blocks[index + 1], &heap->blocks[index], (heap->count - index) * sizeof *heap->blocks);
    heap->blocks[index] = block;
    heap->count++;
    return block.address;
}

bool ptx_heap_give_back(ptx_heap *heap, uint64_t address) {
    size_t low = 0, high = heap->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (heap->blocks[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == heap->count || heap->blocks[low].address != address)
        return false;
    heap->count--;
    memmove(&heap->blocks[low], &heap->blocks[low + 1], (heap->count - low) * sizeof *heap->blocks);
    return true;
}

/* The call's .param variable of 8 bytes. */
static ptx_status locate_param(ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane,
                               uint8_t **at) {
    return ptx_locate(w, in, lane, PTX_SPACE_LOCAL, ptx_further_address(w, in, operand, lane), 8, 8, at);
}

PTX_LANE_HANDLER(heap_malloc) {
    ptx_heap *heap = w->worker->run->config->heap;
    uint8_t *to = NULL, *from = NULL;
    u64 bytes, address;
    if (!heap)
        return ptx_fault(w, in, (int)lane, PTX_ERR_UNSUPPORTED, "this launch has no heap for malloc");
    ptx_status status = locate_param(w, in, 0, lane, &to);
    if (status == PTX_OK)
        status = locate_param(w, in, 2, lane, &from);
    if (status != PTX_OK)
        return status;
    memcpy(&bytes, from, sizeof bytes);
    pthread_mutex_lock(&heap->lock);
    address = ptx_heap_take(heap, bytes);
    pthread_mutex_unlock(&heap->lock);
    memcpy(to, &address, sizeof address);
    return PTX_OK;
}

PTX_LANE_HANDLER(heap_free) {
    ptx_heap *heap = w->worker->run->config->heap;
    uint8_t *from = NULL;
    u64 address;
    ptx_status status = locate_param(w, in, 0, lane, &from);
    if (status != PTX_OK)
        return status;
    memcpy(&address, from, sizeof address);
    if (!address)
        return PTX_OK;
    bool known = false;
    if (heap) {
        pthread_mutex_lock(&heap->lock);
        known = ptx_heap_give_back(heap, address);
        pthread_mutex_unlock(&heap->lock);
    }
    return known ? PTX_OK
                 : ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                             "free: malloc has not returned 0x%llx, or it is freed already",
                             (unsigned long long)address);
}
