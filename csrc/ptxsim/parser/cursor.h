/* The parser's token stream with one token of lookahead, and error reporting. */
#ifndef PTXSIM_CURSOR_H
#define PTXSIM_CURSOR_H

#include "parser/parser.h"

/* Both record the first error and return false, so that callers can `return ptx_syntax(...)`. */
bool ptx_syntax(ptx_parser *p, const ptx_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool ptx_unsupported(ptx_parser *p, const ptx_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool ptx_out_of_memory(ptx_parser *p);
/* Reports an opcode without a row in opcodes.def; the message differs if unsupported.def lists it. */
bool ptx_unknown_opcode(ptx_parser *p, const ptx_token *opcode);

void ptx_advance(ptx_parser *p);
bool ptx_at(const ptx_parser *p, const char *text);
bool ptx_accept(ptx_parser *p, const char *text);
bool ptx_expect(ptx_parser *p, const char *text, const char *where);
bool ptx_parse_count(ptx_parser *p, uint64_t limit, uint64_t *value, const char *what);
bool ptx_skip_to_semicolon(ptx_parser *p);
bool ptx_skip_line(ptx_parser *p);
/* Skips a block from its `{` to the matching `}`. */
bool ptx_skip_braces(ptx_parser *p);
/* Describes a token for an error message. */
void ptx_describe_token(const ptx_token *token, char *to, size_t size);

#endif
