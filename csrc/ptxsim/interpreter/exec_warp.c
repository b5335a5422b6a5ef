/* Handlers of warp-level instructions: shfl, vote, match, redux, elect, bar.warp.sync, setmaxnreg. The mask
   of a handler is the set of lanes that execute the instruction together. */
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"

ptx_status ptx_require_whole_warp(ptx_warp *w, const ptx_instr *in, uint32_t mask) {
    if (mask == PTX_ALL_LANES)
        return PTX_OK;
    if (!w->no_more_lanes && w->live & ~mask)
        return PTX_DIVERGED_RETRY;
    return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                     "all lanes of the warp must execute it together: lanes 0x%08x are here, 0x%08x are not",
                     mask, ~mask);
}

/* Each lane must be in its own membermask, and all live lanes of a membermask must execute the
   instruction. */
static ptx_status check_members(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned operand) {
    const ptx_u32 *members = ptx_lanes(w, in, operand);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        if (!(members[i] >> i & 1))
            return ptx_fault(w, in, (int)i, PTX_ERR_BARRIER, "the lane is not in its own membermask 0x%08x",
                             members[i]);
        uint32_t missing = members[i] & w->live & ~mask;
        if (missing && !w->no_more_lanes)
            return PTX_DIVERGED_RETRY;
        if (missing)
            return ptx_fault(w, in, (int)i, PTX_ERR_BARRIER,
                             "the membermask 0x%08x has lanes that do not execute this instruction (0x%08x)",
                             members[i], missing);
    }
    return PTX_OK;
}

/* Fast path: all lanes execute it, with full membermasks. */
static inline ptx_status check_all_members(ptx_warp *w, const ptx_instr *in, uint32_t mask,
                                           unsigned operand) {
    const ptx_u32 *members = ptx_lanes(w, in, operand);
    uint32_t common = mask;
    for (unsigned i = 0; i < PTX_LANES; i++)
        common &= members[i];
    return common == PTX_ALL_LANES ? PTX_OK : check_members(w, in, mask, operand);
}

/* ---- shfl ---- */

typedef enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX } shuffle;

/* The lane to read from; returns false if it is outside the segment. */
static inline bool source_lane(shuffle mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t *source) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31, distance = b & 31;
    uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    switch (mode) {
    case SHUFFLE_UP:
        *source = lane - distance;
        return (int32_t)*source >= (int32_t)highest;
    case SHUFFLE_DOWN:
        *source = lane + distance;
        return *source <= highest;
    case SHUFFLE_BFLY:
        *source = lane ^ distance;
        return *source <= highest;
    default:
        *source = lowest | (distance & ~segment);
        return *source <= highest;
    }
}

/* Fast path for all 32 lanes. shfl.up and shfl.down with a uniform distance move the whole register. */
static inline void exchange_all(ptx_warp *w, const ptx_instr *in, shuffle mode) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *a = ptx_lanes(w, in, 2), *b = ptx_lanes(w, in, 3), *c = ptx_lanes(w, in, 4);
    uint32_t from[3 * PTX_LANES] = {0}, *middle = from + PTX_LANES, source[PTX_LANES];
    uint32_t in_range = 0, differs = 0;
    memcpy(middle, a, PTX_LANES * sizeof *middle);
    for (uint32_t i = 0; i < PTX_LANES; i++) {
        bool valid = source_lane(mode, i, b[i], c[i], &source[i]);
        source[i] = valid ? source[i] : i;
        in_range |= valid ? 1u << i : 0;
        differs |= b[i] ^ b[0];
    }
    if ((mode == SHUFFLE_UP || mode == SHUFFLE_DOWN) && !differs) {
        const uint32_t distance = b[0] & 31;
        const uint32_t *moved = mode == SHUFFLE_UP ? middle - distance : middle + distance;
        for (uint32_t i = 0; i < PTX_LANES; i++)
            d[i] = source[i] == i ? middle[i] : moved[i];
    } else {
        for (uint32_t i = 0; i < PTX_LANES; i++)
            d[i] = middle[source[i] % PTX_LANES];
    }
    ptx_set_predicate(w, in, 1, PTX_ALL_LANES, in_range);
}

/* PTX does not define the result if the source lane is inactive: it is poison here, so that the error
   shows. */
static inline __attribute__((always_inline)) ptx_status exchange(ptx_warp *w, const ptx_instr *in,
                                                                 uint32_t mask, shuffle mode) {
    ptx_status status = check_all_members(w, in, mask, 5);
    if (status != PTX_OK)
        return status;
    if (mask == PTX_ALL_LANES) {
        exchange_all(w, in, mode);
        return PTX_OK;
    }
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *a = ptx_lanes(w, in, 2), *b = ptx_lanes(w, in, 3), *c = ptx_lanes(w, in, 4);
    uint32_t result[PTX_LANES] = {0}, in_range = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        uint32_t source;
        bool valid = source_lane(mode, i, b[i], c[i], &source);
        in_range |= (uint32_t)valid << i;
        if (!valid)
            source = i;
        if (!(mask >> source & 1) && w->block->observer_count)
            ptx_hooks_absent_source(w, in, i, source);
        result[i] = mask >> source & 1 ? a[source] : PTX_POISON * 0x01010101u;
    }
    PTX_STORE_EACH_LANE(u32, d, result[i])
    ptx_set_predicate(w, in, 1, mask, in_range);
    return PTX_OK;
}

PTX_CLONES PTX_HANDLER(shfl_up) {
    return exchange(w, in, mask, SHUFFLE_UP);
}

PTX_CLONES PTX_HANDLER(shfl_down) {
    return exchange(w, in, mask, SHUFFLE_DOWN);
}

PTX_CLONES PTX_HANDLER(shfl_bfly) {
    return exchange(w, in, mask, SHUFFLE_BFLY);
}

PTX_CLONES PTX_HANDLER(shfl_idx) {
    return exchange(w, in, mask, SHUFFLE_IDX);
}

/* ---- votes; lanes with other membermasks may execute the instruction at the same time ---- */

static inline uint32_t true_votes(const ptx_warp *w, const ptx_instr *in, uint32_t mask) {
    return (*ptx_predicate(w, in, 1) ^ (in->flip ? PTX_ALL_LANES : 0)) & mask;
}

PTX_HANDLER(vote_ballot) {
    ptx_status status = check_all_members(w, in, mask, 2);
    if (status != PTX_OK)
        return status;
    uint32_t yes = true_votes(w, in, mask);
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *members = ptx_lanes(w, in, 2);
    PTX_STORE_EACH_LANE(u32, d, yes & members[i])
    return PTX_OK;
}

/* Stores a predicate from an expression of the true votes y and the voters v of each lane's membermask. */
#define VOTE(name, value)                                                                                    \
    PTX_HANDLER(vote_##name) {                                                                               \
        ptx_status status = check_all_members(w, in, mask, 2);                                               \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        uint32_t yes = true_votes(w, in, mask), outcome = 0;                                                 \
        const ptx_u32 *members = ptx_lanes(w, in, 2);                                                        \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            uint32_t v = members[i] & mask, y = yes & v;                                                     \
            (void)v;                                                                                         \
            outcome |= (uint32_t)(value) << i;                                                               \
        }                                                                                                    \
        ptx_set_predicate(w, in, 0, mask, outcome);                                                          \
        return PTX_OK;                                                                                       \
    }

VOTE(any, y != 0)
VOTE(all, y == v)
VOTE(uni, y == 0 || y == v)

PTX_HANDLER(bar_warp_sync) {
    return check_all_members(w, in, mask, 0);
}

/* The lowest lane of each membermask is elected. */
PTX_HANDLER(elect) {
    ptx_status status = check_all_members(w, in, mask, 2);
    if (status != PTX_OK)
        return status;
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *members = ptx_lanes(w, in, 2);
    uint32_t leader[PTX_LANES] = {0}, leads = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        leader[i] = (uint32_t)__builtin_ctz(members[i] & mask);
        leads |= (uint32_t)(leader[i] == i) << i;
    }
    PTX_STORE_EACH_LANE(u32, d, leader[i])
    ptx_set_predicate(w, in, 1, mask, leads);
    return PTX_OK;
}

PTX_HANDLER(activemask) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    PTX_STORE_LANES(u32, d, mask)
    return PTX_OK;
}

/* ---- redux ---- */

/* The lanes of `left` that have the same membermask as the first of them. */
static uint32_t same_members(const ptx_u32 *members, uint32_t left) {
    const uint32_t of = members[__builtin_ctz(left)];
    uint32_t same = 0;
    for (unsigned i = 0; i < PTX_LANES; ++i)
        same |= (uint32_t)(members[i] == of) << i;
    return same & left;
}

/* Reduces the sources of each lane's membermask with an expression of x and y. */
#define REDUX(name, T, value)                                                                                \
    PTX_HANDLER(redux_##name) {                                                                              \
        ptx_status status = check_all_members(w, in, mask, 2);                                               \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_u32 *members = ptx_lanes(w, in, 2);                                                        \
        T result[PTX_LANES] = {0};                                                                           \
        for (uint32_t left = mask, same; left; left &= ~same) {                                              \
            same = same_members(members, left);                                                              \
            uint32_t rest = members[__builtin_ctz(left)] & mask;                                             \
            T x = a[__builtin_ctz(rest)];                                                                    \
            while (rest &= rest - 1) {                                                                       \
                T y = a[__builtin_ctz(rest)];                                                                \
                x = (T)(value);                                                                              \
            }                                                                                                \
            for (unsigned i = 0; i < PTX_LANES; ++i)                                                         \
                result[i] = same >> i & 1 ? x : result[i];                                                   \
        }                                                                                                    \
        PTX_STORE_EACH_LANE(T, d, result[i])                                                                 \
        return PTX_OK;                                                                                       \
    }

REDUX(add, u32, x + y)
REDUX(min_u32, u32, x < y ? x : y)
REDUX(min_s32, s32, x < y ? x : y)
REDUX(max_u32, u32, x > y ? x : y)
REDUX(max_s32, s32, x > y ? x : y)
REDUX(and, u32, x &y)
REDUX(or, u32, x | y)
REDUX(xor, u32, x ^ y)

/* ---- match ---- */

/* match.any: the lanes of each membermask with the same value; match.all: whether all have the same value. */
#define MATCH(bits)                                                                                          \
    PTX_HANDLER(match_any_b##bits) {                                                                         \
        ptx_status status = check_all_members(w, in, mask, 2);                                               \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_u##bits *a = ptx_lanes(w, in, 1);                                                          \
        const ptx_u32 *members = ptx_lanes(w, in, 2);                                                        \
        uint32_t result[PTX_LANES] = {0};                                                                    \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned lane = (unsigned)__builtin_ctz(left);                                             \
            for (uint32_t rest = members[lane] & mask; rest; rest &= rest - 1)                               \
                if (a[__builtin_ctz(rest)] == a[lane])                                                       \
                    result[lane] |= rest & -rest;                                                            \
        }                                                                                                    \
        PTX_STORE_EACH_LANE(u32, d, result[i])                                                               \
        return PTX_OK;                                                                                       \
    }                                                                                                        \
    PTX_HANDLER(match_all_b##bits) {                                                                         \
        ptx_status status = check_all_members(w, in, mask, 3);                                               \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_u##bits *a = ptx_lanes(w, in, 2);                                                          \
        const ptx_u32 *members = ptx_lanes(w, in, 3);                                                        \
        uint32_t result[PTX_LANES] = {0}, all = 0;                                                           \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned lane = (unsigned)__builtin_ctz(left);                                             \
            bool same = true;                                                                                \
            for (uint32_t rest = members[lane] & mask; rest && same; rest &= rest - 1)                       \
                same = a[__builtin_ctz(rest)] == a[lane];                                                    \
            result[lane] = same ? members[lane] & mask : 0;                                                  \
            all |= (uint32_t)same << lane;                                                                   \
        }                                                                                                    \
        PTX_STORE_EACH_LANE(u32, d, result[i])                                                               \
        ptx_set_predicate(w, in, 1, mask, all);                                                              \
        return PTX_OK;                                                                                       \
    }

MATCH(32)
MATCH(64)

/* ---- setmaxnreg ---- */

/* The simulator does not limit registers. It checks when the warps of a warpgroup exit that all requested the
   same. */
static ptx_status set_max_registers(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool more) {
    enum { MIN_REGISTERS = 24, MAX_REGISTERS = 256, REGISTER_STEP = 8 };
    if (mask != w->live)
        return w->no_more_lanes ? ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                                            "lanes 0x%08x are here, lanes 0x%08x of the warp are elsewhere",
                                            mask, w->live & ~mask)
                                : PTX_DIVERGED_RETRY;
    if (in->imm < MIN_REGISTERS || in->imm > MAX_REGISTERS || in->imm % REGISTER_STEP)
        return ptx_fault(w, in, -1, PTX_ERR_ARGUMENT,
                         "setmaxnreg with %lld registers; a multiple of %d from %d to %d", (long long)in->imm,
                         REGISTER_STEP, MIN_REGISTERS, MAX_REGISTERS);
    w->warpgroup_digest = (w->warpgroup_digest + (u64)in->imm * 2 + more) * 0x9e3779b97f4a7c15u;
    w->warpgroup_last = in;
    return PTX_OK;
}

PTX_HANDLER(setmaxnreg_inc) {
    return set_max_registers(w, in, mask, true);
}

PTX_HANDLER(setmaxnreg_dec) {
    return set_max_registers(w, in, mask, false);
}
