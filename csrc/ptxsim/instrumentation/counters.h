/* Observer that counts, per PTX instruction and per interval between block barriers, what a profiler shows:
   issues by active lanes, divergent branches, shared-memory wavefronts, global-memory sectors. */
#ifndef PTXSIM_COUNTERS_H
#define PTXSIM_COUNTERS_H

#include "interpreter/hooks.h"

/* Rounds beyond this limit are added to the last one. */
enum { PTX_MAX_ROUNDS = 1024 };

/* Counts of one PTX instruction, summed over all warps. */
typedef struct ptx_counter {
    uint64_t lanes[PTX_LANES + 1]; /* issues by number of active lanes */
    uint64_t divergent;            /* branches that some lanes take and others do not */
    uint64_t shared_wavefronts, shared_ideal;
    uint64_t global_requests, global_sectors, global_ideal;
    uint64_t copied; /* bytes of asynchronous copies; a multicast counts once */
} ptx_counter;

/* The interval from one barrier of the whole block to the next, summed over all blocks. A warp or lane works
   in a round if it accesses memory or exchanges data with other lanes. */
typedef struct ptx_round {
    uint64_t blocks, warps, working_warps, lanes, working_lanes;
    uint64_t shared_wavefronts, shared_ideal;
} ptx_round;

/* State of a thread in a round of the timeline's block: two flags, and from bit PTX_WAYS on the degree of its
   worst bank conflict (an n-way conflict is n). */
enum { PTX_WORKED = 1, PTX_CONFLICTED = 2, PTX_WAYS = 2 };

enum { PTX_TIMELINE_STRIDE = PTX_MAX_WARPS * PTX_LANES };

typedef struct ptx_counters {
    ptx_observer base; /* first member, so that a ptx_observer * can be cast to this type */
    const ptx_kernel *kernel;
    ptx_counter *instructions; /* one per instruction of the kernel */
    ptx_round rounds[PTX_MAX_ROUNDS];
    size_t round_count;
    uint64_t timeline_block;
    size_t timeline_threads, timeline_rounds;
    uint8_t
        *timeline; /* a state per thread, PTX_TIMELINE_STRIDE bytes a round; untouched pages use no memory */
} ptx_counters;

/* `timeline_block` is a linear block index, UINT64_MAX for no timeline. */
ptx_status ptx_counters_create(const ptx_kernel *kernel, uint64_t timeline_block, ptx_counters **out,
                               ptx_error *error);
void ptx_counters_free(ptx_counters *counters);

#endif
