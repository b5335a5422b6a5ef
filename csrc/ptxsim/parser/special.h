/* Special registers (%tid.x, %laneid, %clock64, ...). */
#ifndef PTXSIM_SPECIAL_H
#define PTXSIM_SPECIAL_H

#include "parser/lexer.h"

/* Clocks change while a warp runs, so that they are no constants. *shift: 0, or 32 for the upper half of the
   64-bit clock. */
bool ptx_find_clock(const ptx_token *name, unsigned *shift);
/* Looks up the ptx_special of a name. */
bool ptx_find_special(const ptx_token *name, uint64_t *which);

#endif
