/* From a parsed statement to an instruction. */
#ifndef PTXSIM_DECODE_H
#define PTXSIM_DECODE_H

#include "parser/parser.h"

/* Adds the instruction to the kernel at hand. */
bool ptx_decode(ptx_parser *p, const ptx_statement *statement);

#endif
