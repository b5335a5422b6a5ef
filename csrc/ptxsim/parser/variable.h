/* Variables and parameters. */
#ifndef PTXSIM_VARIABLE_H
#define PTXSIM_VARIABLE_H

#include "parser/parser.h"

/* A variable's declaration, from after the state space. */
bool ptx_parse_variable(ptx_parser *p, ptx_space space, bool is_extern);
/* The variable or parameter of that name, NULL if there is none. */
ptx_symbol *ptx_find_symbol(const ptx_parser *p, const ptx_token *name);
/* Gives a shared variable its offset in the kernel at hand. */
bool ptx_place_shared(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol);
/* The list in parentheses behind a kernel's name, if there is one. */
bool ptx_parse_parameters(ptx_parser *p);
/* That of a function, whose parameters are other names for what a call gives: p->actuals from *next on. */
bool ptx_bind_parameters(ptx_parser *p, size_t *next, size_t end);

#endif
