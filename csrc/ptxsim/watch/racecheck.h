/* Finds hazards in shared memory that running in lockstep hides.

   Each word remembers who wrote it last and who has read it since. Two accesses of one word by different
   threads, one of them a write, must be ordered: by a barrier of the block, or within a warp by bar.warp.sync
   (__syncwarp). Shuffles and votes order nothing, as CUDA defines them. Atomics do not race with each other,
   nor do lanes that write the same value in one instruction. Time is counted in such orderings, as in
   FastTrack (Flanagan and Freund, PLDI 2009), but with warps and blocks in the place of single threads. */
#ifndef PTXSIM_RACECHECK_H
#define PTXSIM_RACECHECK_H

#include "watch/hooks.h"

typedef enum ptx_hazard {
    PTX_HAZARD_WRITE_READ,    /* read what another thread wrote, unordered */
    PTX_HAZARD_READ_WRITE,    /* overwrote what another thread may still have to read */
    PTX_HAZARD_WRITE_WRITE,   /* both wrote */
    PTX_HAZARD_UNINITIALISED, /* read before anybody wrote */
    PTX_HAZARD_BARRIER        /* threads of a block are not all at one barrier */
} ptx_hazard;

/* A pair of instructions with a hazard; the threads are those of the first time it was met in the block with
   the lowest number. */
typedef struct ptx_race {
    ptx_hazard hazard;
    uint32_t first_pc, second_pc;         /* in order of execution; PTX_NO_PC where there is none */
    uint32_t first_thread, second_thread; /* warp * 32 + lane */
    uint64_t first_block, second_block;   /* the threads' blocks, linear numbers */
    uint64_t block;                       /* the one whose shared memory it is */
    uint64_t address;                     /* in shared memory, in bytes */
    uint64_t count;                       /* how often, lane by lane */
} ptx_race;

/* The most different reports of a launch; further ones are counted only. */
enum { PTX_RACES = 256 };

typedef struct ptx_racecheck ptx_racecheck;

ptx_status ptx_racecheck_create(const ptx_kernel *kernel, ptx_racecheck **out, ptx_error *error);
void ptx_racecheck_free(ptx_racecheck *racecheck);
ptx_observer *ptx_racecheck_observer(ptx_racecheck *racecheck);
/* The reports, which belong to the racecheck, by hazard and place. */
const ptx_race *ptx_racecheck_races(const ptx_racecheck *racecheck, size_t *count);
uint64_t ptx_racecheck_dropped(const ptx_racecheck *racecheck);

#endif
