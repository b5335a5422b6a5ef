/* Device functions: where in the text they stand. A call takes the body in, so that no stack is needed. */
#ifndef PTXSIM_FUNCTION_H
#define PTXSIM_FUNCTION_H

#include "parser/parser.h"

/* Notes every function of the text that has a body; false when memory ran out. */
bool ptx_find_functions(ptx_parser *p);
/* NULL if there is none of that name. */
const ptx_function *ptx_function_named(const ptx_parser *p, const ptx_token *name);
/* From `.func` to behind its body or its declaration. */
bool ptx_skip_function(ptx_parser *p);

#endif
