/* Parses the body of a kernel. */
#ifndef PTXSIM_STATEMENT_H
#define PTXSIM_STATEMENT_H

#include "parser/parser.h"

/* Parses from `{` to the matching `}`. */
bool ptx_parse_body(ptx_parser *p);

#endif
