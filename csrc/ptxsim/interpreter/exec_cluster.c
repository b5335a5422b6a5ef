/* Handlers of address-space instructions for clusters: mapa, getctarank, isspacep. */
#include "interpreter/exec.h"
#include "interpreter/fault.h"

/* The rank of the block whose part of the window contains the offset; returns false outside all parts. */
static bool find_rank(const ptx_warp *w, u64 offset, u32 *rank) {
    u64 part = offset / PTX_SHARED_PART;
    *rank = part ? (u32)part - 1 : w->block->rank;
    return part <= w->worker->run->cluster_blocks;
}

/* mapa: the corresponding address in the shared memory of another block. */
static ptx_status map(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 offset, u32 rank, u64 *mapped) {
    u32 ignored;
    if (!find_rank(w, offset, &ignored))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "0x%llx is no address of shared memory",
                         (unsigned long long)offset);
    if (rank >= w->worker->run->cluster_blocks)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "there is no block %u in a cluster of %u", rank,
                         w->worker->run->cluster_blocks);
    *mapped = (rank + 1) * PTX_SHARED_PART + offset % PTX_SHARED_PART;
    return PTX_OK;
}

#define MAPA(name, T, window)                                                                                \
    PTX_HANDLER(mapa_##name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_u32 *rank = ptx_lanes(w, in, 2);                                                           \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            u64 mapped = 0;                                                                                  \
            ptx_status status = map(w, in, i, a[i] - (window), rank[i], &mapped);                            \
            if (status != PTX_OK)                                                                            \
                return status;                                                                               \
            d[i] = (T)(mapped + (window));                                                                   \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

MAPA(u32, u32, 0)
MAPA(u64, u64, 0)
MAPA(generic, u64, PTX_SHARED_WINDOW)

#define GETCTARANK(name, T, window)                                                                          \
    PTX_HANDLER(getctarank_##name) {                                                                         \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            u32 rank;                                                                                        \
            if (!find_rank(w, a[i] - (window), &rank))                                                       \
                return ptx_fault(w, in, (int)i, PTX_ERR_ADDRESS, "0x%llx is no address of shared memory",    \
                                 (unsigned long long)a[i]);                                                  \
            d[i] = rank;                                                                                     \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

GETCTARANK(u32, u32, 0)
GETCTARANK(u64, u64, 0)
GETCTARANK(generic, u64, PTX_SHARED_WINDOW)

/* isspacep: whether a generic address belongs to a state space. */
PTX_HANDLER(isspacep) {
    const ptx_u64 *a = ptx_lanes(w, in, 1);
    uint32_t outcome = 0;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        u64 offset = a[i] - PTX_SHARED_WINDOW;
        u32 rank = 0;
        bool shared = offset < PTX_SHARED_WINDOW_BYTES && find_rank(w, offset, &rank);
        bool yes = in->space == PTX_SPACE_CLUSTER  ? shared
                   : in->space == PTX_SPACE_SHARED ? shared && rank == w->block->rank
                   : in->space == PTX_SPACE_LOCAL  ? a[i] - PTX_LOCAL_WINDOW < PTX_LOCAL_WINDOW
                   : in->space == PTX_SPACE_PARAM  ? a[i] - PTX_PARAM_WINDOW < PTX_PARAM_WINDOW
                   : in->space == PTX_SPACE_CONST
                       ? a[i] - PTX_CONST_WINDOW < PTX_CONST_WINDOW
                       : a[i] >= PTX_VARIABLES_WINDOW ||
                             (a[i] < PTX_LOCAL_WINDOW && offset >= PTX_SHARED_WINDOW_BYTES);
        outcome |= (uint32_t)yes << i;
    }
    ptx_set_predicate(w, in, 0, mask, outcome);
    return PTX_OK;
}
