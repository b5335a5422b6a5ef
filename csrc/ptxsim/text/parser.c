#include "text/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "text/cfg.h"

/* ---- errors ---- */

static bool fail_at(ptx_parser *p, ptx_status status, const ptx_token *at, const char *format,
                    va_list arguments) {
    if (p->status == PTX_OK)
        p->status = ptx_fail_at(p->error, status, at->line_start, at->line, at->column, format, arguments);
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

bool ptx_out_of_memory(ptx_parser *p) {
    if (p->status == PTX_OK)
        p->status = ptx_fail(p->error, PTX_ERR_MEMORY, "out of memory while parsing PTX");
    return false;
}

bool ptx_reserve(void *array_pointer, size_t *capacity, size_t count, size_t element_bytes) {
    if (count < *capacity)
        return true;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(old, wanted * element_bytes);
    if (!grown)
        return false;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return true; /* cppcheck-suppress memleak ; `grown` went to *array_pointer */
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

static void describe(const ptx_token *token, char *to, size_t size) {
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
    describe(&p->token, found, sizeof found);
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

/* Directives such as .loc and .file end with their line. */
bool ptx_skip_line(ptx_parser *p) {
    unsigned line = p->token.line;
    while (p->token.kind != PTX_TOKEN_END && p->token.line == line)
        ptx_advance(p);
    return true;
}

static bool skip_braces(ptx_parser *p) {
    if (!ptx_expect(p, "{", "to open the section"))
        return false;
    for (unsigned depth = 1; depth;) {
        if (p->token.kind == PTX_TOKEN_END)
            return ptx_syntax(p, &p->token, "a '{' is never closed");
        depth += ptx_at(p, "{") ? 1u : 0u;
        depth -= ptx_at(p, "}") ? 1u : 0u;
        ptx_advance(p);
    }
    return true;
}

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
        if (!ptx_reserve(&p->symbols, &p->symbol_capacity, p->symbol_count, sizeof *p->symbols))
            return ptx_out_of_memory(p);
        p->symbols[p->symbol_count++] = symbol;
        if (ptx_at(p, "="))
            return ptx_skip_to_semicolon(p);
    } while (ptx_accept(p, ","));
    return ptx_expect(p, ";", "after the variable");
}

static bool parse_section(ptx_parser *p) {
    ptx_advance(p);
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, "{"))
        ptx_advance(p);
    return skip_braces(p);
}

/* ---- kernels ---- */

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
    if (!ptx_reserve(&p->symbols, &p->symbol_capacity, p->symbol_count, sizeof *p->symbols))
        return ptx_out_of_memory(p);
    p->symbols[p->symbol_count++] = symbol;
    ptx_kernel *kernel = p->kernel;
    if (!ptx_reserve(&kernel->params, &kernel->param_capacity, kernel->param_count, sizeof *kernel->params))
        return ptx_out_of_memory(p);
    kernel->params[kernel->param_count++] =
        (ptx_param){.type = kind, .offset = symbol.offset, .bytes = symbol.bytes};
    return true;
}

static bool parse_parameter_list(ptx_parser *p) {
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

/* `x`, `x, y` or `x, y, z` */
static bool parse_extents(ptx_parser *p, uint32_t extents[3]) {
    extents[0] = extents[1] = extents[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t value = 0;
        if (!ptx_parse_count(p, 1024, &value, "the block size"))
            return false;
        extents[i] = (uint32_t)value;
        if (!ptx_accept(p, ","))
            break;
    }
    return true;
}

static bool parse_performance_directives(ptx_parser *p) {
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        uint32_t extents[3];
        uint64_t ignored;
        if (ptx_accept(p, ".maxntid")) {
            if (!parse_extents(p, extents))
                return false;
            p->kernel->max_threads = extents[0] * extents[1] * extents[2];
        } else if (ptx_accept(p, ".reqntid")) {
            if (!parse_extents(p, p->kernel->required))
                return false;
        } else if (ptx_accept(p, ".reqnctapercluster")) {
            if (!parse_extents(p, p->kernel->cluster))
                return false;
        } else if (ptx_accept(p, ".maxclusterrank")) {
            uint64_t most = 0;
            if (!ptx_parse_count(p, UINT32_MAX, &most, "the cluster size"))
                return false;
            p->kernel->max_cluster = (uint32_t)most;
        } else if (ptx_accept(p, ".explicitcluster")) {
            continue; /* that the launch gives the size shows when it does not divide the grid */
        } else if (ptx_accept(p, ".minnctapersm") || ptx_accept(p, ".maxnctapersm") ||
                   ptx_accept(p, ".maxnreg")) {
            if (!ptx_parse_count(p, UINT32_MAX, &ignored, "the directive"))
                return false;
        } else if (ptx_at(p, ".pragma")) {
            if (!ptx_skip_to_semicolon(p))
                return false;
        } else {
            return ptx_unsupported(p, &p->token, "the directive '%.*s' is not supported",
                                   (int)p->token.length, p->token.start);
        }
    }
    return true;
}

static void free_kernel(ptx_kernel *kernel) {
    if (!kernel)
        return;
    free(kernel->name);
    free(kernel->code);
    free(kernel->source);
    free(kernel->constants);
    free(kernel->params);
    free(kernel);
}

static void reset_kernel_state(ptx_parser *p, size_t module_symbols) {
    for (size_t i = 0; i < p->register_count; i++)
        free(p->registers[i].slots);
    p->register_count = p->label_count = p->fixup_count = p->scope_count = 0;
    p->symbol_count = module_symbols;
    for (size_t i = 0; i < module_symbols; i++)
        p->symbols[i].placed = false;
    p->sink32 = p->sink64 = p->scope = 0;
    p->location = 0;
    p->kernel = NULL;
}

static bool parse_entry(ptx_parser *p) {
    ptx_advance(p);
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected the name of a kernel");
    ptx_module *m = p->module;
    if (!ptx_reserve(&m->kernels, &m->kernel_capacity, m->kernel_count, sizeof *m->kernels))
        return ptx_out_of_memory(p);
    ptx_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return ptx_out_of_memory(p);
    m->kernels[m->kernel_count++] = kernel; /* the module frees it from here on */
    kernel->module = m;
    kernel->dynamic_align = 1;
    kernel->predicate_count = PTX_PRED_FIRST;
    kernel->name = strndup(p->token.start, p->token.length);
    if (!kernel->name)
        return ptx_out_of_memory(p);
    ptx_advance(p);
    size_t module_symbols = p->symbol_count;
    p->kernel = kernel;
    bool good = parse_parameter_list(p) && parse_performance_directives(p) && ptx_parse_body(p) &&
                (ptx_cfg_build(kernel) || ptx_out_of_memory(p));
    reset_kernel_state(p, module_symbols);
    return good;
}

/* ---- the module ---- */

static bool parse_version(ptx_parser *p) {
    ptx_advance(p);
    if (p->token.kind != PTX_TOKEN_DECIMAL)
        return ptx_syntax(p, &p->token, "expected a version such as 9.0");
    ptx_advance(p);
    return true;
}

static bool parse_target(ptx_parser *p) {
    do {
        ptx_advance(p);
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_syntax(p, &p->token, "expected a target such as sm_75");
        ptx_advance(p);
    } while (ptx_at(p, ","));
    return true;
}

static bool parse_address_size(ptx_parser *p) {
    ptx_advance(p);
    ptx_token at = p->token;
    uint64_t size = 0;
    if (!ptx_parse_count(p, 64, &size, "the address size"))
        return false;
    return size == 64 || ptx_unsupported(p, &at, "only 64-bit addresses are supported");
}

static bool parse_linkage(ptx_parser *p) {
    static const char *const words[] = {".visible", ".weak", ".common", ".internal"};
    bool is_extern = false, more = true;
    while (more) {
        more = ptx_accept(p, ".extern");
        is_extern = is_extern || more;
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !more; i++)
            more = ptx_accept(p, words[i]);
    }
    return is_extern;
}

static bool parse_directive(ptx_parser *p) {
    bool is_extern = parse_linkage(p);
    if (ptx_at(p, ".version"))
        return parse_version(p);
    if (ptx_at(p, ".target"))
        return parse_target(p);
    if (ptx_at(p, ".address_size"))
        return parse_address_size(p);
    if (ptx_at(p, ".entry"))
        return parse_entry(p);
    if (ptx_at(p, ".func"))
        return is_extern
                   ? ptx_skip_to_semicolon(p)
                   : ptx_unsupported(p, &p->token, "device functions (.func) are not supported; inline them");
    if (ptx_accept(p, ".shared"))
        return ptx_parse_variable(p, PTX_SPACE_SHARED, is_extern);
    if (ptx_accept(p, ".global"))
        return ptx_parse_variable(p, PTX_SPACE_GLOBAL, is_extern);
    if (ptx_accept(p, ".const"))
        return ptx_parse_variable(p, PTX_SPACE_CONST, is_extern);
    if (ptx_at(p, ".file"))
        return ptx_parse_file(p);
    if (ptx_at(p, ".loc"))
        return ptx_skip_line(p);
    if (ptx_at(p, ".section"))
        return parse_section(p);
    if (ptx_at(p, ".pragma"))
        return ptx_skip_to_semicolon(p);
    char found[96];
    describe(&p->token, found, sizeof found);
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        return ptx_unsupported(p, &p->token, "the directive %s is not supported", found);
    return ptx_syntax(p, &p->token, "expected a directive, found %s", found);
}

static void free_parser(ptx_parser *p) {
    reset_kernel_state(p, 0);
    ptx_opcode_index_free(&p->opcodes);
    free(p->registers);
    free(p->symbols);
    free(p->labels);
    free(p->fixups);
    free(p->scope_parents);
}

ptx_status ptx_module_parse(const char *text, size_t length, ptx_module **out, ptx_error *error) {
    *out = NULL;
    ptx_parser p = {.error = error};
    ptx_module *module = calloc(1, sizeof *module);
    if (!module || !ptx_opcode_index_init(&p.opcodes) || length >= UINT32_MAX ||
        !(module->text = malloc(length + 1))) {
        ptx_out_of_memory(&p);
        goto cleanup;
    }
    memcpy(module->text, text, length);
    module->text[length] = '\0';
    module->length = length;
    p.module = module;
    ptx_lexer_init(&p.lexer, module->text, length);
    p.ahead = ptx_lexer_next(&p.lexer);
    ptx_advance(&p);
    while (p.token.kind != PTX_TOKEN_END && parse_directive(&p))
        ;
cleanup:
    free_parser(&p);
    if (p.status == PTX_OK)
        *out = module;
    else
        ptx_module_free(module);
    return p.status;
}

void ptx_module_free(ptx_module *module) {
    if (!module)
        return;
    for (size_t i = 0; i < module->kernel_count; i++)
        free_kernel(module->kernels[i]);
    for (size_t i = 0; i < module->file_count; i++)
        free(module->files[i].name);
    free(module->kernels);
    free(module->files);
    free(module->locations);
    free(module->text);
    free(module);
}

size_t ptx_module_kernel_count(const ptx_module *module) {
    return module->kernel_count;
}

const ptx_kernel *ptx_module_kernel_at(const ptx_module *module, size_t index) {
    return index < module->kernel_count ? module->kernels[index] : NULL;
}

const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name) {
    for (size_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i]->name, name) == 0)
            return module->kernels[i];
    return NULL;
}

const char *ptx_kernel_name(const ptx_kernel *kernel) {
    return kernel->name;
}

size_t ptx_kernel_param_bytes(const ptx_kernel *kernel) {
    return kernel->param_bytes;
}

size_t ptx_kernel_shared_bytes(const ptx_kernel *kernel) {
    return kernel->shared_bytes;
}

bool ptx_kernel_has_global_atomics(const ptx_kernel *kernel) {
    return kernel->global_atomics;
}
