/* Barriers in shared memory that count arrivals and bytes, and the copies that report to them. */
#include <stdlib.h>

#include "machine/executor.h"
#include "watch/hooks.h"

/* ---- places ---- */

static bool holds(const ptx_block *block, const uint8_t *place) {
    return place >= block->shared.host && place < block->shared.host + block->shared.bytes;
}

static const ptx_block *block_of(const ptx_warp *w, const uint8_t *place) {
    for (unsigned b = 0; b < PTX_MAX_CLUSTER && w->block->cluster->blocks[b]; b++)
        if (holds(w->block->cluster->blocks[b], place))
            return w->block->cluster->blocks[b];
    return NULL;
}

static ptx_place place_of(const ptx_warp *w, const uint8_t *at) {
    const ptx_block *block = block_of(w, at);
    return (ptx_place){.block = block, .offset = block ? (u64)(at - block->shared.host) : 0};
}

/* ---- the 64 bits of an mbarrier; only what is done with them is laid down by PTX ---- */

enum { MOST_ARRIVALS = (1 << 20) - 1, MOST_BYTES = (1 << 20) - 1, BYTES_BIAS = 1 << 21 };

typedef struct mbarrier {
    u32 expected, pending; /* arrivals of a phase, and those still to come */
    s32 bytes;             /* announced and still to come; below 0 when they came first */
    u32 phase;             /* parity of the phase under way */
} mbarrier;

static u64 encode(const mbarrier *b) {
    return b->expected | (u64)b->pending << 20 | (u64)(b->bytes + BYTES_BIAS) << 40 | (u64)b->phase << 62;
}

/* False for poison, zeros and other bits that no mbarrier has. */
static bool decode(u64 bits, mbarrier *b) {
    *b = (mbarrier){.expected = bits & MOST_ARRIVALS,
                    .pending = bits >> 20 & MOST_ARRIVALS,
                    .bytes = (s32)(bits >> 40 & (2 * BYTES_BIAS - 1)) - BYTES_BIAS,
                    .phase = bits >> 62 & 1};
    return bits >> 63 == 0 && b->pending <= b->expected && b->bytes >= -MOST_BYTES && b->bytes <= MOST_BYTES;
}

static u64 load_bits(const uint8_t *place) {
    u64 bits;
    memcpy(&bits, place, sizeof bits);
    return bits;
}

static ptx_status read_barrier(ptx_warp *w, const ptx_instr *in, unsigned lane, const uint8_t *place,
                               mbarrier *b) {
    if (decode(load_bits(place), b))
        return PTX_OK;
    return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER, "there is no initialised mbarrier at this address");
}

typedef struct change {
    u32 arrivals, drops;
    s64 bytes; /* announced; below 0: come */
} change;

/* Ends the phase when nothing more is to come. *before: the barrier's bits as they were. */
static ptx_status update(ptx_warp *w, const ptx_instr *in, unsigned lane, uint8_t *place, change c,
                         u64 *before) {
    mbarrier b;
    ptx_status status = read_barrier(w, in, lane, place, &b);
    if (status != PTX_OK)
        return status;
    *before = load_bits(place);
    if (c.arrivals > b.pending)
        return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER,
                         "%u arrivals at an mbarrier that waits for %u more of %u", c.arrivals, b.pending,
                         b.expected);
    if (b.bytes + c.bytes > MOST_BYTES || b.bytes + c.bytes < -MOST_BYTES)
        return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER,
                         "an mbarrier cannot count %lld bytes, the most is %d",
                         (long long)(b.bytes + c.bytes), MOST_BYTES);
    b.bytes += (s32)c.bytes;
    b.pending -= c.arrivals;
    b.expected -= c.drops;
    bool ends = b.pending == 0 && b.bytes == 0;
    if (ends) {
        b.pending = b.expected;
        b.phase ^= 1;
    }
    u64 after = encode(&b);
    memcpy(place, &after, sizeof after);
    if (w->block->observer_count)
        ptx_hooks_mbarrier(w, &(ptx_arrival){.lane = lane,
                                             .at = place_of(w, place),
                                             .arrives = c.arrivals > 0,
                                             .completes = c.bytes < 0,
                                             .ends = ends});
    return PTX_OK;
}

/* ---- operands ---- */

static u64 main_address(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    const void *base = ptx_lanes(w, in, PTX_ADDRESS_OPERAND);
    if (in->address == PTX_ADDRESS_32)
        return (u32)(((const ptx_u32 *)base)[lane] + (u32)in->imm);
    return ((const ptx_u64 *)base)[lane] + (u64)in->imm;
}

/* An address that is written as base and offset, an operand each. */
static u64 further_address(const ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane) {
    u64 offset = ((const ptx_u64 *)ptx_lanes(w, in, operand + 1))[lane];
    if (in->wide >> operand & 1)
        return ((const ptx_u64 *)ptx_lanes(w, in, operand))[lane] + offset;
    return (u32)(((const ptx_u32 *)ptx_lanes(w, in, operand))[lane] + (u32)offset);
}

static ptx_status locate_barrier(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 address,
                                 uint8_t **place) {
    return ptx_locate(w, in, lane, in->space, address, sizeof(u64), sizeof(u64), place);
}

static u32 number(const ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane) {
    return ((const ptx_u32 *)ptx_lanes(w, in, operand))[lane];
}

/* ---- mbarrier.* ---- */

/* The host's place of each lane's mbarrier. */
static ptx_status locate_barriers(ptx_warp *w, const ptx_instr *in, uint32_t mask,
                                  uint8_t *place[PTX_LANES]) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        status = locate_barrier(w, in, i, main_address(w, in, i), &place[i]);
    }
    return status;
}

PTX_HANDLER(mbarrier_init) {
    uint8_t *place[PTX_LANES];
    ptx_status status = locate_barriers(w, in, mask, place);
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        u32 count = number(w, in, 0, i);
        u64 bits = encode(&(mbarrier){.expected = count, .pending = count});
        if (count < 1 || count > MOST_ARRIVALS)
            return ptx_fault(w, in, (int)i, PTX_ERR_BARRIER, "an mbarrier for %u arrivals; it counts 1 to %d",
                             count, MOST_ARRIVALS);
        memcpy(place[i], &bits, sizeof bits);
    }
    return status;
}

PTX_HANDLER(mbarrier_inval) {
    uint8_t *place[PTX_LANES];
    mbarrier ignored;
    ptx_status status = locate_barriers(w, in, mask, place);
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        status = read_barrier(w, in, i, place[i], &ignored);
        if (status == PTX_OK)
            memset(place[i], PTX_POISON, sizeof(u64));
    }
    return status;
}

/* Operations that give the state before them to operand 0, if they give one. */
#define MBARRIER_UPDATE(name, gives_state, ...)                                                              \
    PTX_HANDLER(mbarrier_##name) {                                                                           \
        uint8_t *place[PTX_LANES];                                                                           \
        ptx_status status = locate_barriers(w, in, mask, place);                                             \
        for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {                             \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            u64 before = 0;                                                                                  \
            status = update(w, in, i, place[i], (change){__VA_ARGS__}, &before);                             \
            if (gives_state)                                                                                 \
                ((ptx_u64 *)ptx_lanes(w, in, 0))[i] = before;                                                \
        }                                                                                                    \
        return status;                                                                                       \
    }

/* A count that is left out reads as 0 and means 1. */
static u32 arrivals(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    u32 count = number(w, in, 1, lane);
    return count ? count : 1;
}

MBARRIER_UPDATE(expect_tx, false, .bytes = number(w, in, 0, i))
MBARRIER_UPDATE(complete_tx, false, .bytes = -(s64)number(w, in, 0, i))
MBARRIER_UPDATE(arrive, true, .arrivals = arrivals(w, in, i))
MBARRIER_UPDATE(arrive_expect_tx, true, .arrivals = 1, .bytes = number(w, in, 1, i))
MBARRIER_UPDATE(arrive_drop, true, .arrivals = arrivals(w, in, i), .drops = arrivals(w, in, i))
MBARRIER_UPDATE(arrive_drop_expect_tx, true, .arrivals = 1, .drops = 1, .bytes = number(w, in, 1, i))

/* Tells observers of the lanes that go on, those at one mbarrier together. */
static void tell_waited(const ptx_warp *w, uint8_t *const place[PTX_LANES], uint32_t over) {
    while (over) {
        const uint8_t *at = place[__builtin_ctz(over)];
        uint32_t together = 0;
        for (uint32_t left = over; left; left &= left - 1)
            if (place[__builtin_ctz(left)] == at)
                together |= left & -left;
        ptx_hooks_mbarrier_wait(w, place_of(w, at), together);
        over &= ~together;
    }
}

/* The phase that a state or a parity stands for is over when another one is under way. */
static ptx_status wait_for_phase(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool parity) {
    uint8_t *place[PTX_LANES];
    uint32_t over = 0;
    u64 seen = 0;
    unsigned last = 0;
    mbarrier b, late = {0};
    ptx_status status = locate_barriers(w, in, mask, place);
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        u64 state = parity ? (u64)number(w, in, 1, i) << 62 : ((const ptx_u64 *)ptx_lanes(w, in, 1))[i];
        status = read_barrier(w, in, i, place[i], &b);
        over |= (uint32_t)(b.phase != (state >> 62 & 1)) << i;
        seen = (seen ^ (uintptr_t)place[i] ^ encode(&b) << 1) * 0x9e3779b97f4a7c15u;
        if (!(over >> i & 1)) {
            late = b;
            last = i;
        }
    }
    if (status != PTX_OK)
        return status;
    ptx_set_predicate(w, in, 0, mask, over);
    if (w->block->observer_count)
        tell_waited(w, place, over);
    if (over == mask)
        return PTX_OK;
    status = ptx_poll_watch(w, in, mask, seen);
    if (status == PTX_OK || status == PTX_PAUSED)
        return status;
    return ptx_fault(w, in, (int)last, PTX_ERR_BARRIER,
                     "deadlock: the mbarrier waits for %u of %u arrivals and for %d bytes that nobody left "
                     "will bring",
                     late.pending, late.expected, late.bytes);
}

PTX_HANDLER(mbarrier_wait) {
    return wait_for_phase(w, in, mask, false);
}

PTX_HANDLER(mbarrier_wait_parity) {
    return wait_for_phase(w, in, mask, true);
}

PTX_HANDLER(mbarrier_pending_count) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u64 *state = ptx_lanes(w, in, 1);
    PTX_STORE_LANES(u32, d, state[i] >> 20 & MOST_ARRIVALS)
    return PTX_OK;
}

/* ---- copies ---- */

static bool reserve_copy(ptx_cluster *cluster) {
    return ptx_reserve(&cluster->copies, &cluster->copy_capacity, cluster->copy_count,
                       sizeof *cluster->copies);
}

/* A bulk copy into shared memory takes its time, however short the way: what it will overwrite is gone at
   once, and what it brings is there when it reports to the mbarrier, which is when the warps have all had
   their turns. So a kernel that does not wait for it reads poison. */
static ptx_status start_copy(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned from_space) {
    ptx_cluster *cluster = w->block->cluster;
    u32 bytes = number(w, in, 2, lane);
    ptx_copy copy = {.warp = w, .in = in, .lane = lane, .bytes = bytes};
    uint8_t *from = NULL;
    if (bytes % 16)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "a bulk copy of %u bytes, which is no multiple of 16", bytes);
    ptx_status status = ptx_locate(w, in, lane, in->space, main_address(w, in, lane), bytes, 16, &copy.to);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, from_space, further_address(w, in, 0, lane), bytes, 16, &from);
    if (status == PTX_OK)
        status = locate_barrier(w, in, lane, further_address(w, in, 3, lane), &copy.barrier);
    if (status != PTX_OK)
        return status;
    if (bytes && block_of(w, copy.to) != block_of(w, copy.barrier))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                         "the mbarrier of a bulk copy is in another block than the copy's destination");
    if (!reserve_copy(cluster))
        return ptx_fault(w, in, (int)lane, PTX_ERR_MEMORY, "out of memory for a bulk copy");
    if (w->block->observer_count)
        ptx_hooks_async(w, in,
                        &(ptx_async){.lane = lane,
                                     .bytes = bytes,
                                     .to = place_of(w, copy.to),
                                     .from = place_of(w, from),
                                     .barrier = place_of(w, copy.barrier)});
    memset(copy.to, PTX_POISON, bytes);
    copy.from = from;
    cluster->copies[cluster->copy_count++] = copy;
    return PTX_OK;
}

static ptx_status start_copies(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned from_space) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1)
        status = start_copy(w, in, (unsigned)__builtin_ctz(left), from_space);
    return status;
}

PTX_HANDLER(bulk_load) {
    return start_copies(w, in, mask, PTX_SPACE_GLOBAL);
}

PTX_HANDLER(bulk_send) {
    return start_copies(w, in, mask, PTX_SPACE_SHARED);
}

ptx_status ptx_copies_finish(ptx_cluster *cluster) {
    ptx_status status = PTX_OK;
    for (size_t k = 0; k < cluster->copy_count && status == PTX_OK; k++) {
        const ptx_copy *copy = &cluster->copies[k];
        u64 ignored;
        memmove(copy->to, copy->from, copy->bytes);
        status = update(copy->warp, copy->in, copy->lane, copy->barrier, (change){.bytes = -(s64)copy->bytes},
                        &ignored);
    }
    cluster->copy_count = 0;
    return status;
}

ptx_status ptx_copies_check(const ptx_block *block) {
    const ptx_cluster *cluster = block->cluster;
    for (size_t k = 0; k < cluster->copy_count; k++) {
        const ptx_copy *copy = &cluster->copies[k];
        if (holds(block, copy->to))
            return ptx_fault(copy->warp, copy->in, (int)copy->lane, PTX_ERR_BARRIER,
                             "the block ends while this copy into its shared memory is under way");
    }
    return PTX_OK;
}

/* To global memory the copy is done at once, so there is nothing to wait for. */
PTX_HANDLER(bulk_store) {
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        u32 bytes = number(w, in, 2, i);
        uint8_t *to, *from;
        if (bytes % 16)
            return ptx_fault(w, in, (int)i, PTX_ERR_ALIGNMENT,
                             "a bulk copy of %u bytes, which is no multiple of 16", bytes);
        ptx_status status = ptx_locate(w, in, i, in->space, main_address(w, in, i), bytes, 16, &to);
        if (status == PTX_OK)
            status = ptx_locate(w, in, i, PTX_SPACE_SHARED, further_address(w, in, 0, i), bytes, 16, &from);
        if (status != PTX_OK)
            return status;
        if (w->block->observer_count)
            ptx_hooks_async(w, in, &(ptx_async){.lane = i, .bytes = bytes, .from = place_of(w, from)});
        memcpy(to, from, bytes);
    }
    return PTX_OK;
}

/* Prefetching changes nothing, but must stay within the allocation. */
PTX_HANDLER(prefetch) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        uint8_t *ignored;
        status = ptx_locate(w, in, i, in->space, main_address(w, in, i), 1, 1, &ignored);
    }
    return status;
}

PTX_HANDLER(bulk_prefetch) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        u32 bytes = number(w, in, 0, i);
        uint8_t *ignored;
        if (bytes % 16)
            return ptx_fault(w, in, (int)i, PTX_ERR_ALIGNMENT,
                             "a bulk prefetch of %u bytes, which is no multiple of 16", bytes);
        status = ptx_locate(w, in, i, in->space, main_address(w, in, i), bytes, 16, &ignored);
    }
    return status;
}

/* A store that reports to the mbarrier behind its values. */
#define ST_ASYNC(name, T)                                                                                    \
    PTX_HANDLER(st_async_##name) {                                                                           \
        const unsigned size = (unsigned)sizeof(T) * in->vector;                                              \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            uint8_t *to, *barrier;                                                                           \
            u64 ignored;                                                                                     \
            ptx_status status = ptx_locate(w, in, i, in->space, main_address(w, in, i), size, size, &to);    \
            if (status == PTX_OK)                                                                            \
                status = locate_barrier(w, in, i, further_address(w, in, in->vector, i), &barrier);          \
            if (status == PTX_OK && w->block->observer_count)                                                \
                ptx_hooks_async(                                                                             \
                    w, in,                                                                                   \
                    &(ptx_async){                                                                            \
                        .lane = i, .bytes = size, .to = place_of(w, to), .barrier = place_of(w, barrier)});  \
            for (unsigned e = 0; e < in->vector && status == PTX_OK; e++)                                    \
                memcpy(to + e * sizeof(T), (ptx_##T *)ptx_lanes(w, in, e) + i, sizeof(T));                   \
            if (status == PTX_OK)                                                                            \
                status = update(w, in, i, barrier, (change){.bytes = -(s64)size}, &ignored);                 \
            if (status != PTX_OK)                                                                            \
                return status;                                                                               \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

ST_ASYNC(b32, u32)
ST_ASYNC(b64, u64)
