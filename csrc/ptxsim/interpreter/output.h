/* The output of printf, collected per block until the launch ends. */
#ifndef PTXSIM_OUTPUT_H
#define PTXSIM_OUTPUT_H

#include "interpreter/state.h"

/* Appends to the output of the warp's block; fails if the launch prints more than PTX_MAX_PRINTED bytes. */
ptx_status ptx_output_append(ptx_warp *warp, const ptx_instr *in, unsigned lane, const char *text,
                             size_t length);

/* Hands over the output of a block that has ended or will not continue. */
void ptx_output_end(ptx_block *block);

/* Passes the output of all blocks to the configuration's `print`, in block order, and frees it. After a
   failure only blocks up to the failed one, in order of start, are printed: the output of the others depends
   on the number of host threads. Returns false if `print` ran out of memory. */
bool ptx_output_finish(ptx_run *run);

#endif
