/* Scans the text for device functions before it is parsed. */
#include "parser/grammar.h"

#include <string.h>

#include "parser/cursor.h"
#include "reserve.h"

static bool add_function(ptx_parser *p, const ptx_token *name, const ptx_lexer *at) {
    if (!ptx_reserve(&p->functions, &p->function_capacity, p->function_count, sizeof *p->functions) ||
        !ptx_index_add(&p->function_index, ptx_hash(name->start, name->length, 0)))
        return ptx_out_of_memory(p);
    p->functions[p->function_count++] =
        (ptx_function){.name = name->start, .length = name->length, .at = *at};
    return true;
}

/* Reads `.func (results) name (parameters) {`, starting after the `.func`. */
static bool scan_function(ptx_parser *p, ptx_lexer lexer) {
    const ptx_lexer at = lexer;
    ptx_token token = ptx_lexer_next(&lexer), name = token;
    unsigned depth = 0;
    for (bool named = false; token.kind != PTX_TOKEN_END; token = ptx_lexer_next(&lexer)) {
        depth += ptx_token_is(&token, "(") ? 1u : 0u;
        if (depth && ptx_token_is(&token, ")"))
            depth--;
        else if (!depth && !named && token.kind == PTX_TOKEN_NAME) {
            name = token;
            named = true;
        }
        if (ptx_token_is(&token, "{"))
            return !named || add_function(p, &name, &at);
        if (ptx_token_is(&token, ";"))
            return true;
    }
    return true;
}

bool ptx_find_functions(ptx_parser *p) {
    if (!strstr(p->module->text, ".func"))
        return true;
    ptx_lexer lexer = p->lexer;
    for (ptx_token token = ptx_lexer_next(&lexer); token.kind != PTX_TOKEN_END;
         token = ptx_lexer_next(&lexer))
        if (ptx_token_is(&token, ".func") && !scan_function(p, lexer))
            return false;
    return true;
}

const ptx_function *ptx_find_function(const ptx_parser *p, const ptx_token *name) {
    const uint32_t hash = ptx_hash(name->start, name->length, 0);
    uint32_t i = PTX_NO_ENTRY;
    while ((i = ptx_index_find(&p->function_index, hash, i)) != PTX_NO_ENTRY)
        if (p->functions[i].length == name->length &&
            memcmp(p->functions[i].name, name->start, name->length) == 0)
            return &p->functions[i];
    return NULL;
}

bool ptx_skip_function(ptx_parser *p) {
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, "{") && !ptx_at(p, ";")) {
        const bool pragma = ptx_at(p, ".pragma");
        ptx_advance(p);
        if (pragma && !ptx_skip_to_semicolon(p))
            return false;
    }
    return ptx_accept(p, ";") || ptx_skip_braces(p);
}
