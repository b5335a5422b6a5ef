/* Observer that records every instruction of one block with its lanes, accesses and results, for a
   step-by-step view. */
#ifndef PTXSIM_TRACE_H
#define PTXSIM_TRACE_H

#include "interpreter/hooks.h"

/* One instruction of a warp, in order of simulation. */
typedef struct ptx_step {
    uint32_t pc, warp;
    uint32_t active;   /* mask of the active lanes */
    uint32_t executed; /* mask of the lanes whose guard is true; of a branch, those that take it */
    uint32_t round;    /* barriers of the whole block before the step */
} ptx_step;

/* The memory access of a step: one address per lane, or a bulk copy, whose only lane is the issuing one. */
typedef struct ptx_step_access {
    uint64_t memory;            /* of global memory: address of the allocation */
    uint64_t offset[PTX_LANES]; /* bytes from the start of the allocation, or of the block's shared memory */
    uint32_t step, mask;
    uint32_t bytes; /* per lane */
    uint8_t space;  /* PTX_SPACE_SHARED, _GLOBAL, or _CLUSTER */
    uint8_t effect; /* a ptx_effect, or PTX_STEP_COPY_IN or _OUT */
    uint8_t wavefronts, ideal;
} ptx_step_access;

enum { PTX_STEP_COPY_IN = 8, PTX_STEP_COPY_OUT = 9 };

/* The value that a step wrote to a register, for the lanes that executed it. */
typedef struct ptx_register_write {
    uint64_t lanes[PTX_LANES];
    uint32_t step, operand; /* operand: index among the registers that the step wrote */
    uint32_t bytes;         /* 4 or 8 per lane */
    uint32_t unused;
} ptx_register_write;

/* Maximal number of recorded steps. */
enum { PTX_MAX_STEPS = 10000 };

typedef struct ptx_trace {
    ptx_observer base; /* first member, so that a ptx_observer * can be cast to this type */
    uint64_t block;
    ptx_step *steps;
    size_t step_count, step_capacity;
    ptx_step_access *accesses;
    size_t access_count, access_capacity;
    ptx_register_write *register_writes;
    size_t register_write_count, register_write_capacity;
    uint64_t lost;                /* steps, accesses and results that were not recorded */
    uint32_t last[PTX_MAX_WARPS]; /* per warp, the step whose results are not recorded yet */
} ptx_trace;

/* `block` is a linear block index. */
ptx_status ptx_trace_create(uint64_t block, ptx_trace **out, ptx_error *error);
void ptx_trace_free(ptx_trace *trace);

#endif
