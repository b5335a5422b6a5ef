/* The lexer: splits PTX text into tokens with line and column. */
#ifndef PTXSIM_LEXER_H
#define PTXSIM_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,      /* identifier or opcode with its dotted parts: %tid.x, add.rn.f32 */
    PTX_TOKEN_DIRECTIVE, /* .reg, .b32 */
    PTX_TOKEN_INTEGER,
    PTX_TOKEN_F32,     /* 0f3F800000; `value` is the bit pattern */
    PTX_TOKEN_F64,     /* 0d3FF0000000000000 */
    PTX_TOKEN_DECIMAL, /* 1.5; `value` is the bit pattern of the double */
    PTX_TOKEN_STRING,  /* start and length exclude the quotes */
    PTX_TOKEN_PUNCTUATION,
    PTX_TOKEN_BAD
} ptx_token_kind;

typedef struct ptx_token {
    ptx_token_kind kind;
    const char *start;
    size_t length;
    const char *line_start;
    unsigned line, column; /* 1-based */
    uint64_t value;
} ptx_token;

typedef struct ptx_lexer {
    const char *cursor, *end;
    const char *line_start;
    unsigned line;
} ptx_lexer;

/* `text` must be followed by a NUL. */
void ptx_lexer_init(ptx_lexer *lexer, const char *text, size_t length);
ptx_token ptx_lexer_next(ptx_lexer *lexer);
bool ptx_token_is(const ptx_token *token, const char *text);
/* Moves behind the `}` of the `{` at the cursor, several times as fast as token by token. Returns false, at
   the end of the text, if there is none. */
bool ptx_lexer_skip_block(ptx_lexer *lexer);

#endif
