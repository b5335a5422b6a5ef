/* Handlers of TMA tile copies (cp.async.bulk.tensor) and of bulk copies out of shared memory in commit
   groups. */
#include "interpreter/address.h"
#include "interpreter/async.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/tensor.h"
#include "reserve.h"

/* ---- tiles ---- */

enum { MAP_ALIGNMENT = 64, TILE_ALIGNMENT = 128 };

/* Reads the tensor map at an address; `rank` is the instruction's number of dimensions, 0 for any. */
static ptx_status read_map(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned space, u64 address,
                           unsigned rank, ptx_tensor *tensor) {
    uint8_t *map;
    ptx_status status = ptx_locate(w, in, lane, space, address, PTX_TENSOR_MAP_BYTES, MAP_ALIGNMENT, &map);
    if (status != PTX_OK)
        return status;
    if (!ptx_tensor_map_decode(map, tensor))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ARGUMENT, "there is no tensor map at 0x%llx",
                         (unsigned long long)address);
    if (rank && tensor->rank != rank)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ARGUMENT,
                         "the tensor map is of %u dimensions, the instruction of %u", tensor->rank, rank);
    return PTX_OK;
}

/* Reads the tile of the operands that start at `first`. */
static ptx_status read_tile(ptx_warp *w, const ptx_instr *in, unsigned first, unsigned lane, ptx_tile *tile) {
    for (unsigned i = 0; i < in->vector; i++)
        tile->at[i] = (s32)ptx_number_of(w, in, first + 2 + i, lane);
    ptx_status status = read_map(w, in, lane, PTX_SPACE_GENERIC, ptx_further_address(w, in, first, lane),
                                 in->vector, &tile->tensor);
    if (status == PTX_OK && !ptx_tile_is_aligned(tile))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "the tile begins at element %d, which is no multiple of 16 bytes", tile->at[0]);
    return status;
}

/* Bytes of shared memory that a tile may touch: a swizzle extends to the end of the last 128-byte line. */
static u64 span_of(const ptx_tensor *t) {
    const u64 bytes = ptx_tile_span_bytes(t);
    return t->swizzle ? (bytes + TILE_ALIGNMENT - 1) / TILE_ALIGNMENT * TILE_ALIGNMENT : bytes;
}

/* Queues a copy and poisons its destination until it completes on the mbarrier. */
static ptx_status issue_tile(ptx_warp *w, const ptx_instr *in, const ptx_bulk_copy *copy,
                             bool multicast_repeat) {
    if (!ptx_bulk_copies_add(w->block->cluster, copy))
        return ptx_fault(w, in, (int)copy->lane, PTX_ERR_MEMORY, "out of memory for a bulk copy");
    if (w->block->observer_count)
        ptx_hooks_async(w, in,
                        &(ptx_async){.lane = copy->lane,
                                     .multicast_repeat = multicast_repeat,
                                     .bytes = copy->bytes,
                                     .to = ptx_shared_address_at(w, copy->to),
                                     .barrier = ptx_shared_address_at(w, copy->barrier)});
    ptx_tile_poison(&copy->tile.tensor, copy->to, ptx_shared_address_at(w, copy->to).offset);
    return PTX_OK;
}

/* Reads and validates the operands of a lane's copy into shared memory. */
static ptx_status read_copy(ptx_warp *w, const ptx_instr *in, unsigned lane, ptx_bulk_copy *copy) {
    const unsigned rank = in->vector;
    *copy = (ptx_bulk_copy){.warp = w, .in = in, .lane = lane};
    ptx_status status = read_tile(w, in, 0, lane, &copy->tile);
    if (status != PTX_OK)
        return status;
    status = ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), span_of(&copy->tile.tensor),
                        TILE_ALIGNMENT, &copy->to);
    copy->bytes = (u32)ptx_tile_bytes(&copy->tile.tensor);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, in->space, ptx_further_address(w, in, 2 + rank, lane), sizeof(u64),
                            sizeof(u64), &copy->barrier);
    if (status == PTX_OK && ptx_block_at(w, copy->to) != ptx_block_at(w, copy->barrier))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                         "the mbarrier of a bulk copy is in another block than the copy's destination");
    return status;
}

PTX_LANE_HANDLER(tensor_load) {
    ptx_bulk_copy copy;
    const ptx_status status = read_copy(w, in, lane, &copy);
    return status == PTX_OK ? issue_tile(w, in, &copy, false) : status;
}

/* Multicast: every block in the 16-bit mask receives the tile at the same offset, and its mbarrier at the
   same offset completes. */
PTX_LANE_HANDLER(tensor_multicast) {
    ptx_bulk_copy copy;
    ptx_status status = read_copy(w, in, lane, &copy);
    if (status != PTX_OK)
        return status;
    const u64 to = ptx_shared_address_at(w, copy.to).offset,
              barrier = ptx_shared_address_at(w, copy.barrier).offset;
    u32 blocks = ptx_number_of(w, in, 4 + in->vector, lane) & 0xffff;
    bool multicast_repeat = false;
    for (; blocks && status == PTX_OK; blocks &= blocks - 1) {
        const unsigned rank = (unsigned)__builtin_ctz(blocks);
        const ptx_block *block = w->block->cluster->blocks[rank];
        if (!block || !block->live_warps)
            return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                             "a copy to block %u, which the cluster does not have or which has ended", rank);
        copy.to = block->shared.host + to;
        copy.barrier = block->shared.host + barrier;
        status = issue_tile(w, in, &copy, multicast_repeat);
        multicast_repeat = true;
    }
    return status;
}

PTX_LANE_HANDLER(tensor_prefetch) {
    ptx_tile ignored;
    return read_tile(w, in, 0, lane, &ignored);
}

PTX_LANE_HANDLER(prefetch_map) {
    ptx_tensor ignored;
    return read_map(w, in, lane, in->space, ptx_address_of(w, in, lane), 0, &ignored);
}

/* ---- out of shared memory ---- */

PTX_HANDLER(fence_async) {
    if (w->block->observer_count && in->space != PTX_SPACE_GLOBAL)
        ptx_hooks_async_fence(w, mask);
    return PTX_OK;
}

/* The copy reads shared memory when the thread waits for the group, so that a kernel which overwrites the
   source too early gets wrong data. */
static ptx_status enqueue_store(ptx_warp *w, const ptx_instr *in, const ptx_pending_store *copy) {
    if (!ptx_reserve(&w->pending_stores, &w->pending_store_capacity, w->pending_store_count,
                     sizeof *w->pending_stores))
        return ptx_fault(w, in, (int)copy->lane, PTX_ERR_MEMORY, "out of memory for a bulk copy");
    w->pending_stores[w->pending_store_count++] = *copy;
    if (w->block->observer_count)
        ptx_hooks_async(w, in,
                        &(ptx_async){.lane = copy->lane,
                                     .grouped = true,
                                     .bytes = copy->bytes,
                                     .from = ptx_shared_address_at(w, copy->from)});
    return PTX_OK;
}

PTX_LANE_HANDLER(bulk_store) {
    const u32 bytes = ptx_number_of(w, in, 2, lane);
    uint8_t *from;
    ptx_pending_store copy = {.in = in, .lane = lane, .bytes = bytes, .group = w->store_groups[lane]};
    if (bytes % 16)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "a bulk copy of %u bytes, which is no multiple of 16", bytes);
    ptx_status status = ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), bytes, 16, &copy.to);
    if (status == PTX_OK)
        status =
            ptx_locate(w, in, lane, PTX_SPACE_SHARED, ptx_further_address(w, in, 0, lane), bytes, 16, &from);
    if (status != PTX_OK)
        return status;
    copy.from = from;
    return enqueue_store(w, in, &copy);
}

PTX_LANE_HANDLER(tensor_store) {
    uint8_t *from;
    ptx_pending_store copy = {.in = in, .lane = lane, .group = w->store_groups[lane]};
    ptx_status status = read_tile(w, in, 0, lane, &copy.tile);
    if (status != PTX_OK)
        return status;
    status = ptx_locate(w, in, lane, PTX_SPACE_SHARED, ptx_further_address(w, in, 2u + in->vector, lane),
                        span_of(&copy.tile.tensor), TILE_ALIGNMENT, &from);
    for (unsigned i = 0; i < in->vector && status == PTX_OK; i++)
        if (copy.tile.at[i] < 0)
            return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                             "a tile is stored at the coordinate %d; none may be below 0", copy.tile.at[i]);
    copy.bytes = (u32)ptx_tile_bytes(&copy.tile.tensor);
    if (status != PTX_OK)
        return status;
    copy.from = from;
    return enqueue_store(w, in, &copy);
}

PTX_HANDLER(bulk_commit) {
    (void)in;
    for (uint32_t left = mask; left; left &= left - 1)
        w->store_groups[__builtin_ctz(left)]++;
    return PTX_OK;
}

static ptx_status complete_store(ptx_warp *w, const ptx_pending_store *copy) {
    const ptx_shared_address from = ptx_shared_address_at(w, copy->from);
    if (w->block->observer_count)
        ptx_hooks_async(
            w, copy->in,
            &(ptx_async){
                .lane = copy->lane, .grouped = true, .completed = true, .bytes = copy->bytes, .from = from});
    if (copy->tile.tensor.rank)
        return ptx_tile_store(w, copy->in, copy->lane, &copy->tile, copy->from, from.offset);
    memcpy(copy->to, copy->from, copy->bytes);
    return PTX_OK;
}

/* Completes the stores of the lanes in the mask, except those in the last `imm` committed groups of each
   lane. */
PTX_HANDLER(bulk_wait) {
    const u64 keep = (u64)in->imm;
    size_t remaining = 0;
    ptx_status status = PTX_OK;
    for (size_t k = 0; k < w->pending_store_count && status == PTX_OK; k++) {
        const ptx_pending_store copy = w->pending_stores[k];
        if (!(mask >> copy.lane & 1) || copy.group + keep >= w->store_groups[copy.lane])
            w->pending_stores[remaining++] = copy;
        else
            status = complete_store(w, &copy);
    }
    w->pending_store_count = remaining;
    return status;
}
