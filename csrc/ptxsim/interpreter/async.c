/* State changes of mbarriers, and the queue of bulk copies. */
#include "interpreter/async.h"

#include "interpreter/fault.h"
#include "interpreter/tensor.h"
#include "reserve.h"

/* ---- addresses in shared memory ---- */

static bool contains(const ptx_block *block, const uint8_t *host) {
    return host >= block->shared.host && host < block->shared.host + block->shared.bytes;
}

const ptx_block *ptx_block_at(const ptx_warp *w, const uint8_t *host) {
    for (unsigned b = 0; b < PTX_MAX_CLUSTER && w->block->cluster->blocks[b]; b++)
        if (contains(w->block->cluster->blocks[b], host))
            return w->block->cluster->blocks[b];
    return NULL;
}

ptx_shared_address ptx_shared_address_at(const ptx_warp *w, const uint8_t *at) {
    const ptx_block *block = ptx_block_at(w, at);
    return (ptx_shared_address){.block = block, .offset = block ? (u64)(at - block->shared.host) : 0};
}

/* ---- encoding of mbarriers ---- */

enum { MAX_BYTES = (1 << 20) - 1, BYTES_BIAS = 1 << 21 };

u64 ptx_mbarrier_bits(const ptx_mbarrier *b) {
    return b->expected | (u64)b->pending << 20 | (u64)(b->bytes + BYTES_BIAS) << 40 | (u64)b->phase << 62;
}

/* Returns false for bits that encode no mbarrier, such as poison and zeros. */
static bool decode(u64 bits, ptx_mbarrier *b) {
    *b = (ptx_mbarrier){.expected = bits & PTX_MAX_ARRIVALS,
                        .pending = bits >> 20 & PTX_MAX_ARRIVALS,
                        .bytes = (s32)(bits >> 40 & (2 * BYTES_BIAS - 1)) - BYTES_BIAS,
                        .phase = bits >> 62 & 1};
    return bits >> 63 == 0 && b->pending <= b->expected && b->bytes >= -MAX_BYTES && b->bytes <= MAX_BYTES;
}

static u64 load_bits(const uint8_t *host) {
    u64 bits;
    memcpy(&bits, host, sizeof bits);
    return bits;
}

ptx_status ptx_mbarrier_read(ptx_warp *w, const ptx_instr *in, unsigned lane, const uint8_t *host,
                             ptx_mbarrier *b) {
    if (decode(load_bits(host), b))
        return PTX_OK;
    return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER, "there is no initialised mbarrier at this address");
}

ptx_status ptx_mbarrier_update(ptx_warp *w, const ptx_instr *in, unsigned lane, uint8_t *host,
                               ptx_mbarrier_change c, u64 *before) {
    ptx_mbarrier b;
    ptx_status status = ptx_mbarrier_read(w, in, lane, host, &b);
    if (status != PTX_OK)
        return status;
    *before = load_bits(host);
    if (c.arrivals > b.pending)
        return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER,
                         "%u arrivals at an mbarrier that waits for %u more of %u", c.arrivals, b.pending,
                         b.expected);
    if (b.bytes + c.bytes > MAX_BYTES || b.bytes + c.bytes < -MAX_BYTES)
        return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER,
                         "an mbarrier cannot count %lld bytes, the most is %d",
                         (long long)(b.bytes + c.bytes), MAX_BYTES);
    b.bytes += (s32)c.bytes;
    b.pending -= c.arrivals;
    b.expected -= c.drops;
    bool ends_phase = b.pending == 0 && b.bytes == 0;
    if (ends_phase) {
        b.pending = b.expected;
        b.phase ^= 1;
    }
    u64 after = ptx_mbarrier_bits(&b);
    memcpy(host, &after, sizeof after);
    if (w->block->observer_count)
        ptx_hooks_mbarrier(w, &(ptx_mbarrier_event){.lane = lane,
                                                    .at = ptx_shared_address_at(w, host),
                                                    .arrives = c.arrivals > 0,
                                                    .completes_tx = c.bytes < 0,
                                                    .ends_phase = ends_phase});
    return PTX_OK;
}

/* ---- queued copies ---- */

bool ptx_bulk_copies_add(ptx_cluster *cluster, const ptx_bulk_copy *copy) {
    if (!ptx_reserve(&cluster->bulk_copies, &cluster->bulk_copy_capacity, cluster->bulk_copy_count,
                     sizeof *cluster->bulk_copies))
        return false;
    cluster->bulk_copies[cluster->bulk_copy_count++] = *copy;
    return true;
}

ptx_status ptx_bulk_copies_complete(ptx_cluster *cluster) {
    ptx_status status = PTX_OK;
    for (size_t k = 0; k < cluster->bulk_copy_count && status == PTX_OK; k++) {
        const ptx_bulk_copy *copy = &cluster->bulk_copies[k];
        u64 ignored;
        if (copy->from)
            memmove(copy->to, copy->from, copy->bytes);
        else
            status = ptx_tile_load(copy->warp, copy->in, copy->lane, &copy->tile, copy->to,
                                   ptx_shared_address_at(copy->warp, copy->to).offset);
        if (status == PTX_OK)
            status = ptx_mbarrier_update(copy->warp, copy->in, copy->lane, copy->barrier,
                                         (ptx_mbarrier_change){.bytes = -(s64)copy->bytes}, &ignored);
    }
    cluster->bulk_copy_count = 0;
    return status;
}

ptx_status ptx_bulk_copies_check(const ptx_block *block) {
    const ptx_cluster *cluster = block->cluster;
    for (size_t k = 0; k < cluster->bulk_copy_count; k++) {
        const ptx_bulk_copy *copy = &cluster->bulk_copies[k];
        if (contains(block, copy->to))
            return ptx_fault(copy->warp, copy->in, (int)copy->lane, PTX_ERR_BARRIER,
                             "the block exits while this copy into its shared memory is in flight");
    }
    return PTX_OK;
}
