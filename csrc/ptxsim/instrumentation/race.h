/* What a race check reports. */
#ifndef PTXSIM_RACE_H
#define PTXSIM_RACE_H

#include "ir.h"

typedef enum ptx_hazard {
    PTX_HAZARD_WRITE_READ,    /* read what another thread wrote, unordered */
    PTX_HAZARD_READ_WRITE,    /* overwrote what another thread may still have to read */
    PTX_HAZARD_WRITE_WRITE,   /* both wrote */
    PTX_HAZARD_UNINITIALISED, /* read before anybody wrote */
    PTX_HAZARD_BARRIER,       /* threads of a block are not all at one barrier */
    PTX_HAZARD_UNFENCED,      /* a copy reads what a thread wrote, without a fence between the proxies */
    PTX_HAZARD_ABSENT_LANE    /* a shuffle reads from a lane that does not execute it */
} ptx_hazard;

/* A pair of instructions with a hazard; the threads are those of the first time it was met in the block with
   the lowest number. */
typedef struct ptx_race {
    ptx_hazard hazard;
    uint32_t first_pc, second_pc;         /* in order of execution; PTX_NO_PC where there is none */
    uint32_t first_thread, second_thread; /* warp * 32 + lane */
    uint64_t first_block, second_block;   /* the threads' blocks, linear numbers */
    uint64_t block;                       /* the one whose shared memory it is */
    uint64_t address;                     /* in shared memory, in bytes; of an absent lane, its number */
    uint64_t count;                       /* how often, lane by lane */
    bool collides; /* both wrote by one store, and no barrier between instructions orders them */
} ptx_race;

/* The most different reports of a launch; further ones are counted only. */
enum { PTX_MAX_RACES = 256 };

#endif
