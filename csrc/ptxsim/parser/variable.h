/* Parses declarations of variables and parameters. */
#ifndef PTXSIM_VARIABLE_H
#define PTXSIM_VARIABLE_H

#include "parser/parser.h"

/* Parses a variable's declaration, starting after the state space. */
bool ptx_parse_variable(ptx_parser *p, ptx_space space, bool is_extern);
/* The variable or parameter of that name; NULL if none is declared. */
ptx_symbol *ptx_find_symbol(const ptx_parser *p, const ptx_token *name);
/* Assigns a shared variable its offset in the current kernel. */
bool ptx_assign_shared_offset(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol);
/* Parses the optional parameter list of a kernel. */
bool ptx_parse_parameters(ptx_parser *p);
/* Parses the parameter list of an inlined function: its parameters become aliases of the call's arguments,
   p->actuals from *next on. */
bool ptx_bind_parameters(ptx_parser *p, size_t *next, size_t end);

#endif
