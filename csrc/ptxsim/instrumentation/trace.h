/* Writes down what the warps of one block do, instruction by instruction, for those who step through it. */
#ifndef PTXSIM_TRACE_H
#define PTXSIM_TRACE_H

#include "interpreter/hooks.h"

/* An instruction of a warp, in the order in which the simulator came to them. */
typedef struct ptx_step {
    uint32_t pc, warp;
    uint32_t active;   /* lanes that came to it */
    uint32_t executed; /* and those whose guard let them: of a branch, those that took it */
    uint32_t round;    /* barriers of the whole block before it */
} ptx_step;

/* What a step accessed: lane by lane, or a bulk copy, whose one lane is who began it. */
typedef struct ptx_step_access {
    uint64_t memory;            /* of global memory: where the allocation begins */
    uint64_t offset[PTX_LANES]; /* from there, or in the block's shared memory */
    uint32_t step, mask;
    uint32_t bytes; /* a lane */
    uint8_t space;  /* PTX_SPACE_SHARED, _GLOBAL, or _CLUSTER */
    uint8_t effect; /* a ptx_effect, or PTX_TOUCH_COPY_IN and _OUT */
    uint8_t wavefronts, ideal;
} ptx_step_access;

enum { PTX_STEP_COPY_IN = 8, PTX_STEP_COPY_OUT = 9 };

/* What a step wrote into a register, of the lanes that executed it. */
typedef struct ptx_register_write {
    uint64_t lanes[PTX_LANES];
    uint32_t step, operand; /* which one of those that it wrote */
    uint32_t bytes;         /* 4 or 8 of each lane */
    uint32_t unused;
} ptx_register_write;

/* The most steps that are kept. */
enum { PTX_MAX_STEPS = 10000 };

typedef struct ptx_trace ptx_trace;

/* `block` is a linear block number. */
ptx_status ptx_trace_create(uint64_t block, ptx_trace **out, ptx_error *error);
void ptx_trace_free(ptx_trace *trace);
ptx_observer *ptx_trace_observer(ptx_trace *trace);

/* They belong to the trace. *lost are the steps, and what others did, for which there was no room. */
const ptx_step *ptx_trace_steps(const ptx_trace *trace, size_t *count, uint64_t *lost);
const ptx_step_access *ptx_trace_accesses(const ptx_trace *trace, size_t *count);
const ptx_register_write *ptx_trace_register_writes(const ptx_trace *trace, size_t *count);

#endif
