/* Reports run-time errors of a kernel with the instruction, block, warp and lane that caused them. */
#ifndef PTXSIM_FAULT_H
#define PTXSIM_FAULT_H

#include "interpreter/state.h"

/* Records an error at this instruction (lane -1 if it concerns the whole warp) and returns `status`. */
ptx_status ptx_fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));

/* Records and returns PTX_ERR_ADDRESS for an access of `size` bytes outside all allocations; the message
   names the nearest one. */
ptx_status ptx_fault_address(ptx_warp *warp, const ptx_instr *in, int lane, uint64_t address, uint64_t size);

#endif
