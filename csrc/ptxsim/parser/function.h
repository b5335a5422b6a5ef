/* Finds device functions (.func) in the text. Calls are inlined by parsing the body again at the call, so
   that the interpreter needs no call stack. */
#ifndef PTXSIM_FUNCTION_H
#define PTXSIM_FUNCTION_H

#include "parser/parser.h"

/* Records all functions of the text that have a body; returns false if memory ran out. */
bool ptx_find_functions(ptx_parser *p);
/* The function of that name; NULL if the text has none. */
const ptx_function *ptx_function_named(const ptx_parser *p, const ptx_token *name);
/* Skips from `.func` to the end of its body or declaration. */
bool ptx_skip_function(ptx_parser *p);

#endif
