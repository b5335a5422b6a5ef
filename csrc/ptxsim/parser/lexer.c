/* Recognises comments, names, numbers and strings. */
#include "parser/lexer.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

void ptx_lexer_init(ptx_lexer *lexer, const char *text, size_t length) {
    *lexer = (ptx_lexer){.cursor = text, .end = text + length, .line_start = text, .line = 1};
}

bool ptx_token_is(const ptx_token *token, const char *text) {
    return token->kind != PTX_TOKEN_STRING && strlen(text) == token->length &&
           memcmp(token->start, text, token->length) == 0;
}

static void newline(ptx_lexer *lexer) {
    lexer->cursor++;
    lexer->line++;
    lexer->line_start = lexer->cursor;
}

static void skip_block_comment(ptx_lexer *lexer) {
    lexer->cursor += 2;
    while (lexer->cursor < lexer->end) {
        if (lexer->cursor[0] == '*' && lexer->cursor[1] == '/') {
            lexer->cursor += 2;
            return;
        }
        if (*lexer->cursor == '\n')
            newline(lexer);
        else
            lexer->cursor++;
    }
}

bool ptx_lexer_skip_block(ptx_lexer *lexer) {
    unsigned depth = 0;
    while (lexer->cursor < lexer->end) {
        lexer->cursor += strcspn(lexer->cursor, "{}\n/\"");
        const char *c = lexer->cursor;
        if (*c == '\n') {
            newline(lexer);
        } else if (c[0] == '/' && c[1] == '/') {
            lexer->cursor += strcspn(c, "\n");
        } else if (c[0] == '/' && c[1] == '*') {
            skip_block_comment(lexer);
        } else if (*c == '"') {
            lexer->cursor += 1 + strcspn(c + 1, "\"\n");
            lexer->cursor += *lexer->cursor == '"' ? 1 : 0;
        } else if (c < lexer->end) {
            lexer->cursor++;
            depth += *c == '{' ? 1u : 0u;
            depth -= *c == '}' ? 1u : 0u;
            if (*c == '}' && depth == 0)
                return true;
        }
    }
    return false;
}

static void skip_blank(ptx_lexer *lexer) {
    while (lexer->cursor < lexer->end) {
        const char *c = lexer->cursor;
        if (*c == '\n')
            newline(lexer);
        else if (*c == ' ' || *c == '\t' || *c == '\r')
            lexer->cursor++;
        else if (c[0] == '/' && c[1] == '/')
            lexer->cursor += strcspn(c, "\n");
        else if (c[0] == '/' && c[1] == '*')
            skip_block_comment(lexer);
        else
            return;
    }
}

/* ASCII only: the functions of <ctype.h> depend on the locale. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_start(char c) {
    return is_letter(c) || c == '_' || c == '$' || c == '%';
}

static bool is_name_part(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

static const char *end_of_part(const char *c) {
    while (is_name_part(*c) || (c[0] == ':' && c[1] == ':' && is_name_part(c[2])))
        c += *c == ':' ? 2 : 1;
    return c;
}

static const char *end_of_name(const char *c) {
    c = end_of_part(c + 1);
    while (c[0] == '.' && is_name_part(c[1]))
        c = end_of_part(c + 1);
    return c;
}

/* 0f or 0d, followed by exactly as many digits as the type has. */
static bool hex_float(ptx_token *token) {
    const char letter = token->start[1];
    const bool single = letter == 'f' || letter == 'F', twofold = letter == 'd' || letter == 'D';
    const size_t digits = single ? 8 : 16;
    if (token->start[0] != '0' || (!single && !twofold) || token->length != 2 + digits)
        return false;
    char buffer[17];
    memcpy(buffer, token->start + 2, digits);
    buffer[digits] = '\0';
    if (strspn(buffer, "0123456789abcdefABCDEF") != digits)
        return false;
    token->value = strtoull(buffer, NULL, 16);
    token->kind = single ? PTX_TOKEN_F32 : PTX_TOKEN_F64;
    return true;
}

/* Independent of the locale, in which a comma may be the decimal point. */
static bool decimal_float(ptx_token *token) {
    char buffer[64];
    if (token->length >= sizeof buffer)
        return false;
    memcpy(buffer, token->start, token->length);
    buffer[token->length] = '\0';
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    char *end;
    double value = strtod_l(buffer, &end, c_locale);
    freelocale(c_locale);
    if (*end != '\0')
        return false;
    memcpy(&token->value, &value, sizeof value);
    token->kind = PTX_TOKEN_DECIMAL;
    return true;
}

static bool integer(ptx_token *token) {
    char buffer[80];
    size_t length = token->length;
    if (length && (token->start[length - 1] == 'U' || token->start[length - 1] == 'u'))
        length--;
    if (length == 0 || length >= sizeof buffer)
        return false;
    memcpy(buffer, token->start, length);
    buffer[length] = '\0';
    const char *digits = buffer;
    int base = 10;
    if (buffer[0] == '0' && (buffer[1] == 'x' || buffer[1] == 'X'))
        base = 16, digits += 2;
    else if (buffer[0] == '0' && (buffer[1] == 'b' || buffer[1] == 'B'))
        base = 2, digits += 2;
    else if (buffer[0] == '0')
        base = 8;
    char *end;
    errno = 0;
    token->value = strtoull(digits, &end, base);
    token->kind = PTX_TOKEN_INTEGER;
    return *digits != '\0' && *end == '\0' && errno == 0;
}

static const char *end_of_number(const char *c) {
    const char *end = c;
    while (is_name_part(*end))
        end++;
    bool hex = c[0] == '0' && is_letter(c[1]);
    if (hex)
        return end;
    if (*end == '.' && (is_digit(end[1]) || !is_name_start(end[1])))
        for (end++; is_name_part(*end);)
            end++;
    if ((end[-1] == 'e' || end[-1] == 'E') && (*end == '-' || *end == '+'))
        for (end++; is_digit(*end);)
            end++;
    return end;
}

static void number(ptx_token *token) {
    token->length = (size_t)(end_of_number(token->start) - token->start);
    bool prefixed = token->length > 1 && token->start[0] == '0' && is_letter(token->start[1]);
    bool decimal = memchr(token->start, '.', token->length) || memchr(token->start, 'e', token->length) ||
                   memchr(token->start, 'E', token->length);
    if (!hex_float(token) && !(decimal && !prefixed ? decimal_float(token) : integer(token)))
        token->kind = PTX_TOKEN_BAD;
}

static void string(ptx_token *token) {
    size_t length = strcspn(token->start + 1, "\"\n");
    token->start++;
    token->length = length;
    token->kind = token->start[length] == '"' ? PTX_TOKEN_STRING : PTX_TOKEN_BAD;
}

ptx_token ptx_lexer_next(ptx_lexer *lexer) {
    skip_blank(lexer);
    const char *c = lexer->cursor;
    ptx_token token = {.kind = PTX_TOKEN_END,
                       .start = c,
                       .line_start = lexer->line_start,
                       .line = lexer->line,
                       .column = (unsigned)(c - lexer->line_start) + 1};
    if (c >= lexer->end)
        return token;
    token.length = 1;
    if (is_name_start(*c)) {
        token.kind = PTX_TOKEN_NAME;
        token.length = (size_t)(end_of_name(c) - c);
    } else if (*c == '.' && is_name_part(c[1])) {
        token.kind = PTX_TOKEN_DIRECTIVE;
        token.length = (size_t)(end_of_part(c + 1) - c);
    } else if (is_digit(*c)) {
        number(&token);
    } else if (*c == '"') {
        string(&token);
    } else {
        token.kind = *c != '\0' && strchr(",;:{}[]()<>+-@!|=*", *c) ? PTX_TOKEN_PUNCTUATION : PTX_TOKEN_BAD;
    }
    lexer->cursor = token.start + token.length + (token.kind == PTX_TOKEN_STRING ? 1 : 0);
    return token;
}
