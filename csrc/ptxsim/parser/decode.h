/* Decodes a parsed statement into an instruction. */
#ifndef PTXSIM_DECODE_H
#define PTXSIM_DECODE_H

#include "parser/parser.h"

/* Appends the instruction to the current kernel. */
bool ptx_decode(ptx_parser *p, const ptx_statement *statement);

#endif
