/* Declarations of variables and parameters: types, initial values, and their offsets in each state space. */
#include "parser/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "parser/cursor.h"
#include "reserve.h"

/* ---- variables ---- */

enum { MAX_LOCAL = 512 << 10, MAX_CONSTANTS = 64 << 10, MAX_VARIABLES = 256 << 20, MAX_ALIGN = 1 << 20 };

static uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

static bool parse_align(ptx_parser *p, uint64_t *align) {
    ptx_token at = p->token;
    if (!ptx_parse_count(p, MAX_ALIGN, align, "the alignment"))
        return false;
    if (*align == 0 || (*align & (*align - 1)) != 0)
        return ptx_syntax(p, &at, "an alignment must be a power of two");
    return true;
}

/* Attributes before the name of a variable. */
typedef struct ptx_element_type {
    ptx_type type;
    uint64_t bytes, align; /* bytes of all elements of a vector; alignment in bytes */
    bool managed;
} ptx_element_type;

/* Parses alignment, vector and type. */
static bool parse_variable_type(ptx_parser *p, ptx_element_type *e) {
    uint64_t vector = 1;
    *e = (ptx_element_type){.type = PTX_TYPE_NONE};
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        ptx_type type = ptx_type_named(p->token.start + 1, p->token.length - 1);
        if (ptx_accept(p, ".align")) {
            if (!parse_align(p, &e->align))
                return false;
        } else if (ptx_at(p, ".v2") || ptx_at(p, ".v4")) {
            vector = ptx_at(p, ".v2") ? 2 : 4;
            ptx_advance(p);
        } else if (type != PTX_TYPE_NONE && type != PTX_TYPE_PRED) {
            e->type = type;
            e->bytes = type == PTX_TYPE_B128 ? 16 : ptx_type_bytes(type);
            ptx_advance(p);
        } else if (ptx_accept(p, ".attribute")) {
            if (!ptx_expect(p, "(", "after .attribute"))
                return false;
            if (!ptx_accept(p, ".managed"))
                return ptx_unsupported(p, &p->token,
                                       "variable attributes other than .managed are not supported");
            e->managed = true;
            if (!ptx_expect(p, ")", "after the attribute"))
                return false;
        } else {
            return ptx_unsupported(p, &p->token, "'%.*s' is not supported in a variable declaration",
                                   (int)p->token.length, p->token.start);
        }
    }
    if (e->bytes == 0)
        return ptx_syntax(p, &p->token, "a variable needs a type");
    e->bytes *= vector;
    if (e->align == 0)
        e->align = e->bytes;
    return true;
}

/* `[4][8]` multiplies *bytes; `[]` sets *bytes to 0 and *open. */
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

bool ptx_assign_shared_offset(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol) {
    ptx_kernel *kernel = p->kernel;
    if (symbol->dynamic) {
        if (kernel && symbol->align > kernel->dynamic_align)
            kernel->dynamic_align = symbol->align;
        return true;
    }
    if (!kernel)
        return true; /* its offset is assigned when a kernel first uses it */
    symbol->offset = align_up(kernel->shared_bytes, symbol->align);
    if (symbol->offset + symbol->bytes > PTX_MAX_STATIC_SHARED) /* ptxas rejects it, too */
        return ptx_syntax(
            p, at,
            "kernel %s uses too much static shared memory: %zu bytes, %d are the most; dynamic shared "
            "memory may be larger",
            kernel->name, (size_t)symbol->offset + symbol->bytes, PTX_MAX_STATIC_SHARED);
    kernel->shared_bytes = symbol->offset + symbol->bytes;
    symbol->has_offset = true;
    return true;
}

/* ---- initial values ---- */

static bool store(ptx_parser *p, ptx_area *area, uint64_t offset, uint64_t bits, unsigned bytes) {
    const size_t end = (size_t)offset + bytes;
    if (end > area->filled) {
        uint8_t *grown = realloc(area->image, end);
        if (!grown)
            return ptx_out_of_memory(p);
        memset(grown + area->filled, 0, end - area->filled);
        area->image = grown;
        area->filled = end;
    }
    memcpy(area->image + offset, &bits, bytes);
    return true;
}

/* The address of a variable as an initial value: `name` or `generic(name)`, with an optional offset. */
static bool parse_address_value(ptx_parser *p, uint64_t *bits) {
    const bool generic = ptx_at(p, "generic") && ptx_token_is(&p->ahead, "(");
    if (generic) {
        ptx_advance(p);
        ptx_advance(p);
    }
    const ptx_token name = p->token;
    const ptx_symbol *symbol = ptx_find_symbol(p, &name);
    if (!symbol && ptx_find_function(p, &name)) { /* for example a table of virtual functions: ignored */
        p->symbols[p->symbol_count - 1].unsupported = true;
        *bits = UINT64_MAX;
        ptx_advance(p);
        return !generic || ptx_expect(p, ")", "after the function");
    }
    if (!symbol || symbol->unsupported ||
        (symbol->space != PTX_SPACE_GLOBAL && symbol->space != PTX_SPACE_CONST))
        return ptx_unsupported(
            p, &name,
            "'%.*s' is no .global or .const variable of this module, so that its address is "
            "not supported here",
            (int)name.length, name.start);
    ptx_advance(p);
    if (generic && !ptx_expect(p, ")", "after the variable"))
        return false;
    *bits = symbol->offset;
    const bool minus = ptx_at(p, "-");
    if (!minus && !ptx_at(p, "+"))
        return true;
    ptx_advance(p);
    if (p->token.kind != PTX_TOKEN_INTEGER)
        return ptx_syntax(p, &p->token, "expected a number behind the variable");
    *bits += minus ? -p->token.value : p->token.value;
    ptx_advance(p);
    return true;
}

/* Parses a number into the bit pattern of the type. */
static bool parse_value(ptx_parser *p, ptx_type type, uint64_t *bits) {
    const bool is_float = ptx_type_class(type) == PTX_CLASS_F, minus = ptx_accept(p, "-");
    const ptx_token token = p->token;
    double wide;
    *bits = token.value;
    if (token.kind == PTX_TOKEN_NAME && !minus && ptx_type_bytes(type) == 8)
        return parse_address_value(p, bits);
    ptx_advance(p);
    if (token.kind == PTX_TOKEN_INTEGER && !is_float) {
        *bits = minus ? -*bits : *bits;
        return true;
    }
    if (token.kind == PTX_TOKEN_F32) {
        const uint32_t low = (uint32_t)token.value;
        float narrow;
        memcpy(&narrow, &low, sizeof narrow);
        wide = narrow;
    } else if (token.kind == PTX_TOKEN_F64 || token.kind == PTX_TOKEN_DECIMAL) {
        memcpy(&wide, &token.value, sizeof wide);
    } else if (token.kind == PTX_TOKEN_INTEGER) {
        wide = (double)token.value;
    } else {
        return ptx_syntax(p, &token, "expected a number or a variable as the initial value");
    }
    wide = minus ? -wide : wide;
    const float narrow = (float)wide;
    uint32_t low;
    memcpy(&low, &narrow, sizeof low);
    memcpy(bits, &wide, sizeof wide);
    if (type == PTX_TYPE_F32)
        *bits = low;
    return type == PTX_TYPE_F32 || type == PTX_TYPE_F64 ||
           ptx_unsupported(p, &token, "initial values of this type are not supported as floats");
}

/* `= 5`, `= {1, 2, 3}`; missing elements are zero. */
static bool parse_initial(ptx_parser *p, ptx_area *area, const ptx_symbol *symbol, uint64_t window,
                          const ptx_element_type *e) {
    const unsigned bytes = ptx_type_bytes(e->type);
    uint64_t bits, offset = symbol->offset - window;
    const uint64_t end = offset + symbol->bytes;
    const bool list = ptx_at(p, "{");
    if (e->type == PTX_TYPE_B128)
        return ptx_unsupported(p, &p->token, "initial values of 128 bits are not supported");
    do {
        if (list)
            ptx_advance(p);
        if (list && ptx_at(p, "}"))
            break;
        if (list && ptx_at(p, "{"))
            return ptx_unsupported(p, &p->token, "initial values within further braces are not supported");
        const ptx_token at = p->token;
        if (!parse_value(p, e->type, &bits))
            return false;
        if (offset + bytes > end)
            return ptx_syntax(p, &at, "more initial values than the variable has room for");
        if (!store(p, area, offset, bits, bytes))
            return false;
        offset += bytes;
    } while (list && ptx_at(p, ","));
    return !list || ptx_expect(p, "}", "after the initial values");
}

/* ---- declarations ---- */

/* Assigns an offset in the local memory of each thread. */
static bool assign_local_offset(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol) {
    ptx_kernel *kernel = p->kernel;
    symbol->offset = align_up(kernel->local_bytes, symbol->align);
    if (symbol->offset + symbol->bytes > MAX_LOCAL)
        return ptx_unsupported(p, at, "a thread's local memory is over %d bytes", MAX_LOCAL);
    kernel->local_bytes = symbol->offset + symbol->bytes;
    symbol->has_offset = true;
    return true;
}

static uint64_t base_of(const ptx_parser *p, bool constant) {
    return constant ? p->module->constants_address : p->module->variables_address;
}

/* Assigns an address in the module's constants or variables. */
static bool assign_module_address(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol) {
    const bool constant = symbol->space == PTX_SPACE_CONST;
    ptx_area *area = constant ? &p->module->constants : &p->module->variables;
    const uint64_t offset = align_up(area->bytes, symbol->align),
                   max_bytes = constant ? MAX_CONSTANTS : MAX_VARIABLES;
    if (offset > max_bytes || symbol->bytes > max_bytes - offset)
        return ptx_unsupported(p, at, "the module's %s are over %llu bytes",
                               constant ? "constants" : "variables", (unsigned long long)max_bytes);
    area->bytes = offset + symbol->bytes;
    symbol->offset = offset + base_of(p, constant);
    symbol->has_offset = true;
    return true;
}

/* Records a variable for ptx_module_find_variable. */
static bool add_name(ptx_parser *p, const ptx_symbol *symbol, bool managed) {
    ptx_module *m = p->module;
    if (symbol->unsupported || (symbol->space != PTX_SPACE_GLOBAL && symbol->space != PTX_SPACE_CONST))
        return true;
    if (!ptx_reserve(&m->names, &m->name_capacity, m->name_count, sizeof *m->names))
        return ptx_out_of_memory(p);
    m->names[m->name_count++] = (ptx_variable){.name = symbol->name,
                                               .length = symbol->length,
                                               .address = symbol->offset,
                                               .bytes = symbol->bytes,
                                               .managed = managed};
    return true;
}

static bool assign_offset(ptx_parser *p, const ptx_token *at, ptx_symbol *symbol) {
    switch (symbol->space) {
    case PTX_SPACE_SHARED:
        return ptx_assign_shared_offset(p, at, symbol);
    case PTX_SPACE_LOCAL:
        return assign_local_offset(p, at, symbol);
    case PTX_SPACE_PARAM:
        symbol->in_local = true;
        return assign_local_offset(p, at, symbol);
    default:
        return symbol->unsupported || assign_module_address(p, at, symbol);
    }
}

static bool parse_initialiser(ptx_parser *p, const ptx_symbol *symbol, const ptx_element_type *e) {
    if (!ptx_at(p, "="))
        return true;
    const bool constant = symbol->space == PTX_SPACE_CONST;
    if (!constant && symbol->space != PTX_SPACE_GLOBAL)
        return ptx_syntax(p, &p->token, "only .global and .const variables can have an initial value");
    ptx_advance(p);
    return parse_initial(p, constant ? &p->module->constants : &p->module->variables, symbol,
                         base_of(p, constant), e);
}

/* For example .shared .align 4 .b8 name[1024]; starts after the state space. */
bool ptx_parse_variable(ptx_parser *p, ptx_space space, bool is_extern) {
    ptx_element_type e;
    if (!parse_variable_type(p, &e))
        return false;
    do {
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_syntax(p, &p->token, "expected the name of a variable");
        ptx_token name = p->token;
        ptx_advance(p);
        ptx_symbol symbol = {.name = name.start,
                             .length = name.length,
                             .space = space,
                             .bytes = e.bytes,
                             .align = e.align,
                             .unsupported = is_extern && space != PTX_SPACE_SHARED};
        bool open;
        if (!parse_dimensions(p, &symbol.bytes, &open))
            return false;
        symbol.dynamic = open && is_extern && space == PTX_SPACE_SHARED;
        if (open && !symbol.dynamic && !symbol.unsupported)
            return ptx_syntax(p, &name, "an array without a size must be .extern .shared");
        if (symbol.unsupported &&
            ptx_find_symbol(p, &name)) /* defined above, as in the texts of linked objects */
            continue;
        if (!assign_offset(p, &name, &symbol) || !add_symbol(p, &symbol) ||
            !add_name(p, &symbol, e.managed) || !parse_initialiser(p, &symbol, &e))
            return false;
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ";", "after the variable");
}

/* ---- parameters ---- */

static bool parse_parameter_type(ptx_parser *p, ptx_symbol *symbol, ptx_type *kind) {
    uint64_t align = 0, pointee;
    bool pointer = false;
    *kind = PTX_TYPE_NONE;
    if (!ptx_expect(p, ".param", "to begin a parameter"))
        return false;
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        ptx_type type = ptx_type_named(p->token.start + 1, p->token.length - 1);
        if (ptx_accept(p, ".align")) {
            if (!parse_align(p, pointer ? &pointee : &align))
                return false;
        } else if (type != PTX_TYPE_NONE && type != PTX_TYPE_PRED) {
            *kind = type;
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
    symbol->bytes = ptx_type_bytes(*kind);
    symbol->align = align ? align : symbol->bytes;
    return true;
}

/* Parses the type, the name and the dimensions. */
static bool parse_parameter(ptx_parser *p, ptx_symbol *symbol, ptx_type *kind) {
    *symbol = (ptx_symbol){.space = PTX_SPACE_PARAM, .has_offset = true};
    if (!parse_parameter_type(p, symbol, kind))
        return false;
    if (symbol->bytes == 0 || p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected the type and the name of a parameter");
    const ptx_token name = p->token;
    symbol->name = name.start;
    symbol->length = name.length;
    ptx_advance(p);
    bool open;
    return parse_dimensions(p, &symbol->bytes, &open) &&
           (!open || ptx_syntax(p, &name, "a parameter needs a size"));
}

static bool add_parameter(ptx_parser *p) {
    ptx_kernel *kernel = p->kernel;
    ptx_symbol symbol;
    ptx_type kind;
    if (!parse_parameter(p, &symbol, &kind))
        return false;
    symbol.offset = align_up(kernel->param_bytes, symbol.align);
    kernel->param_bytes = symbol.offset + symbol.bytes;
    if (kernel->param_bytes > 32764)
        return ptx_syntax(p, &p->token, "a kernel may have at most 32764 bytes of parameters");
    if (!add_symbol(p, &symbol))
        return false;
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
        if (!add_parameter(p))
            return false;
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ")", "after the parameters");
}

bool ptx_bind_parameters(ptx_parser *p, size_t *next, size_t end) {
    if (!ptx_accept(p, "(") || ptx_accept(p, ")"))
        return true;
    do {
        ptx_symbol symbol;
        ptx_type kind;
        const ptx_token at = p->token;
        if (!parse_parameter(p, &symbol, &kind))
            return false;
        if (*next == end || p->actuals[*next].bytes < symbol.bytes)
            return ptx_syntax(p, &at, "the call gives too little for this parameter");
        symbol.offset = p->actuals[(*next)++].offset;
        symbol.in_local = true;
        if (!add_symbol(p, &symbol))
            return false;
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ")", "after the parameters");
}
