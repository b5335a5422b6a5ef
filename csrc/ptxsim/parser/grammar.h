/* The parts of the recursive-descent parser. */
#ifndef PTXSIM_GRAMMAR_H
#define PTXSIM_GRAMMAR_H

#include "parser/parser.h"

/* ---- statement.c ---- */

/* Parses from `{` to the matching `}`. */
bool ptx_parse_body(ptx_parser *p);

/* ---- decode.c ---- */

/* Appends the instruction to the current kernel. */
bool ptx_decode(ptx_parser *p, const ptx_statement *statement);

/* ---- variable.c ---- */

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

/* ---- function.c ---- */

/* Calls are inlined by parsing the body of the device function (.func) again at the call, so that the
   interpreter needs no call stack. */

/* Records all functions of the text that have a body; returns false if memory ran out. */
bool ptx_find_functions(ptx_parser *p);
/* The function of that name; NULL if the text has none. */
const ptx_function *ptx_find_function(const ptx_parser *p, const ptx_token *name);
/* Skips from `.func` to the end of its body or declaration. */
bool ptx_skip_function(ptx_parser *p);

/* ---- location.c ---- */

/* The debug directives .file and .loc: source positions of instructions. */
bool ptx_parse_file(ptx_parser *p);
bool ptx_parse_location(ptx_parser *p);

#endif
