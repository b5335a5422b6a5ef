/* Counts what each instruction of a kernel does, and what each stretch between two barriers does. */
#ifndef PTXSIM_COUNTERS_H
#define PTXSIM_COUNTERS_H

#include "interpreter/hooks.h"

/* Later rounds are added to the last. */
enum { PTX_MAX_ROUNDS = 1024 };

/* One PTX instruction, over all warps. */
typedef struct ptx_counter {
    uint64_t lanes[PTX_LANES + 1]; /* how often it was issued with so many lanes at work */
    uint64_t divergent;            /* a branch that some lanes took and others did not */
    uint64_t shared_wavefronts, shared_ideal;
    uint64_t global_requests, global_sectors, global_ideal;
    uint64_t copied; /* bytes that the hardware brings or takes away, those for several blocks once */
} ptx_counter;

/* From one barrier of the whole block to the next, over all blocks. A warp or lane works in a round if it
   accesses memory or exchanges data with other lanes. */
typedef struct ptx_round {
    uint64_t blocks, warps, working_warps, lanes, working_lanes;
    uint64_t shared_wavefronts, shared_ideal;
} ptx_round;

/* What a thread did in a round of the block that the timeline shows: bits, and from PTX_WAYS on in how many
   ways the worst of its bank conflicts was one. */
enum { PTX_WORKED = 1, PTX_CONFLICTED = 2, PTX_WAYS = 2 };

typedef struct ptx_timeline {
    size_t rounds, threads;
    size_t stride;         /* from one round to the next */
    const uint8_t *states; /* of the threads of a round, one behind the other */
} ptx_timeline;

typedef struct ptx_counters ptx_counters;

/* `timeline_block` is a linear block number, UINT64_MAX for no timeline. */
ptx_status ptx_counters_create(const ptx_kernel *kernel, uint64_t timeline_block, ptx_counters **out,
                               ptx_error *error);
void ptx_counters_free(ptx_counters *counters);
ptx_observer *ptx_counters_observer(ptx_counters *counters);

/* The results belong to the counters. One counter for each instruction of the kernel. */
const ptx_counter *ptx_counters_instructions(const ptx_counters *counters);
const ptx_round *ptx_counters_rounds(const ptx_counters *counters, size_t *count);
ptx_timeline ptx_counters_timeline(const ptx_counters *counters);

#endif
