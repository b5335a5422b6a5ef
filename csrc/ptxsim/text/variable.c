/* Declarations of variables and of a kernel's parameters, and where those lie in memory. */
#include "text/variable.h"

#include <string.h>

#include "reserve.h"
#include "text/cursor.h"

/* ---- variables ---- */

static uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

static bool parse_align(ptx_parser *p, uint64_t *align) {
    ptx_token at = p->token;
    if (!ptx_parse_count(p, 4096, align, "the alignment"))
        return false;
    if (*align == 0 || (*align & (*align - 1)) != 0)
        return ptx_syntax(p, &at, "an alignment must be a power of two");
    return true;
}

/* The directives before a variable's name: alignment, vector, type. */
static bool parse_variable_type(ptx_parser *p, uint64_t *element, uint64_t *align) {
    uint64_t vector = 1;
    *element = 0;
    *align = 0;
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        ptx_type type = ptx_type_named(p->token.start + 1, p->token.length - 1);
        if (ptx_accept(p, ".align")) {
            if (!parse_align(p, align))
                return false;
        } else if (ptx_at(p, ".v2") || ptx_at(p, ".v4")) {
            vector = ptx_at(p, ".v2") ? 2 : 4;
            ptx_advance(p);
        } else if (type != PTX_TYPE_NONE && type != PTX_TYPE_PRED) {
            *element = ptx_type_bytes(type);
            ptx_advance(p);
        } else if (ptx_at(p, ".attribute")) {
            return ptx_unsupported(p, &p->token, "variable attributes are not supported");
        } else {
            return ptx_unsupported(p, &p->token, "'%.*s' is not supported in a variable declaration",
                                   (int)p->token.length, p->token.start);
        }
    }
    if (*element == 0)
        return ptx_syntax(p, &p->token, "a variable needs a type");
    *element *= vector;
    if (*align == 0)
        *align = *element;
    return true;
}

/* `[4][8]` multiplies; `[]` leaves *bytes at 0 and says so in *open. */
static bool parse_dimensions(ptx_parser *p, uint64_t *bytes, bool *open) {
    *open = false;
    while (ptx_accept(p, "[")) {
        uint64_t count = 0;
        if (ptx_at(p, "]"))
            *open = true;
        else if (!ptx_parse_count(p, 1ull << 40, &count, "the array size"))
            return false;
        if (count && *bytes > (1ull << 40) / count)
            return ptx_unsupported(p, &p->token, "the array is too large");
        *bytes *= count;
        if (!ptx_expect(p, "]", "after the array size"))
            return false;
    }
    return true;
}

static bool add_symbol(ptx_parser *p, const ptx_symbol *symbol) {
    if (!ptx_reserve(&p->symbols, &p->symbol_capacity, p->symbol_count, sizeof *p->symbols) ||
        !ptx_index_add(&p->symbol_index, ptx_hash(symbol->name, symbol->length, 0)))
        return ptx_out_of_memory(p);
    p->symbols[p->symbol_count++] = *symbol;
    return true;
}

ptx_symbol *ptx_find_symbol(const ptx_parser *p, const ptx_token *name) {
    const uint32_t hash = ptx_hash(name->start, name->length, 0);
    uint32_t i = PTX_NO_ENTRY;
    while ((i = ptx_index_find(&p->symbol_index, hash, i)) != PTX_NO_ENTRY)
        if (p->symbols[i].length == name->length &&
            memcmp(p->symbols[i].name, name->start, name->length) == 0)
            return &p->symbols[i];
    return NULL;
}

bool ptx_place_shared(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol) {
    ptx_kernel *kernel = p->kernel;
    if (symbol->dynamic) {
        if (kernel && symbol->align > kernel->dynamic_align)
            kernel->dynamic_align = symbol->align;
        return true;
    }
    if (!kernel)
        return true; /* placed when a kernel first uses it */
    symbol->offset = align_up(kernel->shared_bytes, symbol->align);
    if (symbol->offset + symbol->bytes > PTX_MAX_SHARED)
        return ptx_unsupported(p, at, "the kernel's shared memory is over %d bytes", PTX_MAX_SHARED);
    kernel->shared_bytes = symbol->offset + symbol->bytes;
    symbol->placed = true;
    return true;
}

/* .shared .align 4 .b8 name[1024]; and its like, from after the state space. */
bool ptx_parse_variable(ptx_parser *p, ptx_space space, bool is_extern) {
    uint64_t element = 0, align = 0;
    if (!parse_variable_type(p, &element, &align))
        return false;
    do {
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_syntax(p, &p->token, "expected the name of a variable");
        ptx_token name = p->token;
        ptx_advance(p);
        ptx_symbol symbol = {.name = name.start,
                             .length = name.length,
                             .space = space,
                             .bytes = element,
                             .align = align,
                             .unsupported = space != PTX_SPACE_SHARED};
        bool open;
        if (!parse_dimensions(p, &symbol.bytes, &open))
            return false;
        symbol.dynamic = open && is_extern && space == PTX_SPACE_SHARED;
        if (open && !symbol.dynamic && !symbol.unsupported)
            return ptx_syntax(p, &name, "an array without a size must be .extern .shared");
        if (ptx_at(p, "=") && space == PTX_SPACE_SHARED)
            return ptx_syntax(p, &p->token, "a shared variable cannot have an initial value");
        if (space == PTX_SPACE_SHARED && !ptx_place_shared(p, &name, &symbol))
            return false;
        if (!add_symbol(p, &symbol))
            return false;
        if (ptx_at(p, "="))
            return ptx_skip_to_semicolon(p);
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ";", "after the variable");
}

/* ---- parameters ---- */

static bool parse_parameter(ptx_parser *p) {
    if (!ptx_expect(p, ".param", "to begin a parameter"))
        return false;
    uint64_t element = 0, align = 0, pointee;
    ptx_type kind = PTX_TYPE_NONE;
    bool pointer = false;
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        ptx_type type = ptx_type_named(p->token.start + 1, p->token.length - 1);
        if (ptx_accept(p, ".align")) {
            if (!parse_align(p, pointer ? &pointee : &align))
                return false;
        } else if (type != PTX_TYPE_NONE && type != PTX_TYPE_PRED) {
            kind = type;
            element = ptx_type_bytes(type);
            ptx_advance(p);
        } else if (ptx_at(p, ".ptr")) {
            pointer = true;
            ptx_advance(p);
        } else if (ptx_at(p, ".global") || ptx_at(p, ".shared") || ptx_at(p, ".const") ||
                   ptx_at(p, ".local")) {
            ptx_advance(p);
        } else {
            return ptx_unsupported(p, &p->token, "'%.*s' is not supported in a parameter",
                                   (int)p->token.length, p->token.start);
        }
    }
    if (element == 0 || p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected the type and the name of a parameter");
    ptx_symbol symbol = {.name = p->token.start,
                         .length = p->token.length,
                         .space = PTX_SPACE_PARAM,
                         .bytes = element,
                         .align = align ? align : element,
                         .placed = true};
    ptx_advance(p);
    bool open;
    if (!parse_dimensions(p, &symbol.bytes, &open))
        return false;
    symbol.offset = align_up(p->kernel->param_bytes, symbol.align);
    p->kernel->param_bytes = symbol.offset + symbol.bytes;
    if (open || p->kernel->param_bytes > 32764)
        return ptx_syntax(p, &p->token, "a kernel may have at most 32764 bytes of parameters");
    if (!add_symbol(p, &symbol))
        return false;
    ptx_kernel *kernel = p->kernel;
    if (!ptx_reserve(&kernel->params, &kernel->param_capacity, kernel->param_count, sizeof *kernel->params))
        return ptx_out_of_memory(p);
    kernel->params[kernel->param_count++] =
        (ptx_param){.type = kind, .offset = symbol.offset, .bytes = symbol.bytes};
    return true;
}

bool ptx_parse_parameters(ptx_parser *p) {
    if (!ptx_accept(p, "("))
        return true;
    if (ptx_accept(p, ")"))
        return true;
    do {
        if (!parse_parameter(p))
            return false;
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ")", "after the parameters");
}
