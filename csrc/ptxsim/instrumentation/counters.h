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

typedef struct ptx_timeline {
    size_t rounds, threads;
    size_t stride;         /* bytes from one round to the next */
    const uint8_t *states; /* one byte per thread of a round */
} ptx_timeline;

typedef struct ptx_counters ptx_counters;

/* `timeline_block` is a linear block index, UINT64_MAX for no timeline. */
ptx_status ptx_counters_create(const ptx_kernel *kernel, uint64_t timeline_block, ptx_counters **out,
                               ptx_error *error);
void ptx_counters_free(ptx_counters *counters);
ptx_observer *ptx_counters_observer(ptx_counters *counters);

/* The counters own the results. There is one ptx_counter per instruction of the kernel. */
const ptx_counter *ptx_counters_instructions(const ptx_counters *counters);
const ptx_round *ptx_counters_rounds(const ptx_counters *counters, size_t *count);
ptx_timeline ptx_counters_timeline(const ptx_counters *counters);

#endif
