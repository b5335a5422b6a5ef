/* The text that kernels print, kept for each block until the launch ends. */
#ifndef PTXSIM_OUTPUT_H
#define PTXSIM_OUTPUT_H

#include "interpreter/state.h"

/* Appends to the text of the warp's block; fails where the launch prints more than PTX_MAX_PRINTED bytes. */
ptx_status ptx_output_append(ptx_warp *warp, const ptx_instr *in, unsigned lane, const char *text,
                             size_t length);

/* Hands the text of a block that has ended, or will not go on, to the launch. */
void ptx_output_end(ptx_block *block);

/* Passes the text of all blocks to the configuration's `print`, in the order of the blocks, and frees it. Of
   a launch that failed these are the blocks up to the one that failed, in the order in which blocks begin:
   what other blocks printed depends on the number of host threads. False where `print` ran out of memory. */
bool ptx_output_finish(ptx_run *run);

#endif
