/* The names of special registers. */
#ifndef PTXSIM_SPECIAL_H
#define PTXSIM_SPECIAL_H

#include "parser/lexer.h"

/* Clocks run while the warp does: no constants. Of 64 bits, the lower 32 or the upper ones. */
bool ptx_find_clock(const ptx_token *name, unsigned *shift);
/* Which of ptx_special it is. */
bool ptx_find_special(const ptx_token *name, uint64_t *which);

#endif
