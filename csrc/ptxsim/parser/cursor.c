/* Errors at a token, and the basic steps of the recursive-descent parser. */
#include "parser/cursor.h"

#include <stdio.h>

#include "diagnostic.h"
#include "location.h"

/* ---- errors ---- */

static bool fail_at(ptx_parser *p, ptx_status status, const ptx_token *at, const char *format,
                    va_list arguments) {
    if (p->status == PTX_OK) {
        p->status = ptx_fail_at(p->error, status, at->line_start, at->line, at->column, format, arguments);
        if (p->error)
            ptx_copy_location(p->error, p->module, p->location);
    }
    p->token.kind = PTX_TOKEN_END;
    p->token.length = 0;
    return false;
}

bool ptx_syntax(ptx_parser *p, const ptx_token *at, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_at(p, PTX_ERR_SYNTAX, at, format, arguments);
    va_end(arguments);
    return false;
}

bool ptx_unsupported(ptx_parser *p, const ptx_token *at, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_at(p, PTX_ERR_UNSUPPORTED, at, format, arguments);
    va_end(arguments);
    return false;
}

bool ptx_unknown_opcode(ptx_parser *p, const ptx_token *opcode) {
    const ptx_unsupported_row *unsupported = ptx_unsupported_find(opcode->start, opcode->length);
    if (unsupported)
        return ptx_unsupported(p, opcode, "the instruction '%.*s' is not simulated yet (%s)",
                               (int)opcode->length, opcode->start, unsupported->what);
    return ptx_unsupported(p, opcode, "the instruction '%.*s' is not supported", (int)opcode->length,
                           opcode->start);
}

bool ptx_out_of_memory(ptx_parser *p) {
    if (p->status == PTX_OK)
        p->status = ptx_fail(p->error, PTX_ERR_MEMORY, "out of memory while parsing PTX");
    return false;
}

/* ---- tokens ---- */

void ptx_advance(ptx_parser *p) {
    p->token = p->ahead;
    p->ahead = ptx_lexer_next(&p->lexer);
}

bool ptx_at(const ptx_parser *p, const char *text) {
    return ptx_token_is(&p->token, text);
}

bool ptx_accept(ptx_parser *p, const char *text) {
    if (!ptx_at(p, text))
        return false;
    ptx_advance(p);
    return true;
}

void ptx_describe_token(const ptx_token *token, char *to, size_t size) {
    if (token->kind == PTX_TOKEN_END)
        snprintf(to, size, "the end of the text");
    else if (token->kind == PTX_TOKEN_BAD && token->length == 1)
        snprintf(to, size, "the character 0x%02x", (unsigned char)*token->start);
    else
        snprintf(to, size, "'%.*s'", (int)(token->length > 80 ? 80 : token->length), token->start);
}

bool ptx_expect(ptx_parser *p, const char *text, const char *where) {
    if (ptx_accept(p, text))
        return true;
    char found[96];
    ptx_describe_token(&p->token, found, sizeof found);
    return ptx_syntax(p, &p->token, "expected '%s' %s, found %s", text, where, found);
}

bool ptx_parse_count(ptx_parser *p, uint64_t limit, uint64_t *value, const char *what) {
    if (p->token.kind != PTX_TOKEN_INTEGER)
        return ptx_syntax(p, &p->token, "expected a number for %s", what);
    if (p->token.value > limit)
        return ptx_unsupported(p, &p->token, "%s is over %llu", what, (unsigned long long)limit);
    *value = p->token.value;
    ptx_advance(p);
    return true;
}

bool ptx_skip_to_semicolon(ptx_parser *p) {
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, ";"))
        ptx_advance(p);
    return ptx_expect(p, ";", "at the end of the statement");
}

/* Directives such as .loc and .file end at the end of the line. */
bool ptx_skip_line(ptx_parser *p) {
    unsigned line = p->token.line;
    while (p->token.kind != PTX_TOKEN_END && p->token.line == line)
        ptx_advance(p);
    return true;
}

bool ptx_skip_braces(ptx_parser *p) {
    if (!ptx_at(p, "{"))
        return ptx_expect(p, "{", "to open the section");
    p->lexer.cursor = p->token.start;
    p->lexer.line_start = p->token.line_start;
    p->lexer.line = p->token.line;
    const bool closed = ptx_lexer_skip_block(&p->lexer);
    p->ahead = ptx_lexer_next(&p->lexer);
    ptx_advance(p);
    return closed || ptx_syntax(p, &p->token, "a '{' is never closed");
}
