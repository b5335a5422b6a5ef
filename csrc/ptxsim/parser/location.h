/* The debug directives .file and .loc: source positions of instructions. */
#ifndef PTXSIM_LOCATION_H
#define PTXSIM_LOCATION_H

#include "parser/parser.h"

bool ptx_parse_file(ptx_parser *p);
bool ptx_parse_location(ptx_parser *p);

#endif
