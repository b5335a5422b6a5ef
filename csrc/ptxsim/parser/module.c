/* Parses the directives of a module and the headers of its kernels; the entry point of the parser. */
#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "environment.h"
#include "parser/cursor.h"
#include "parser/grammar.h"
#include "parser/passes.h"
#include "reserve.h"

static bool parse_section(ptx_parser *p) {
    ptx_advance(p);
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, "{"))
        ptx_advance(p);
    return ptx_skip_braces(p);
}

/* ---- kernels ---- */

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
            uint64_t max_blocks = 0;
            if (!ptx_parse_count(p, UINT32_MAX, &max_blocks, "the cluster size"))
                return false;
            p->kernel->max_cluster = (uint32_t)max_blocks;
        } else if (ptx_accept(p, ".explicitcluster")) {
            continue; /* the launch reports a cluster size that does not divide the grid */
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

static void init_kernel(ptx_kernel *kernel, const ptx_module *module, char *name) {
    *kernel =
        (ptx_kernel){.module = module, .name = name, .dynamic_align = 1, .predicate_count = PTX_PRED_FIRST};
}

static void free_body(ptx_kernel *kernel) {
    free(kernel->code);
    free(kernel->source);
    while (kernel->operands) {
        ptx_operands *next = kernel->operands->next;
        free(kernel->operands);
        kernel->operands = next;
    }
    free(kernel->constants);
    free(kernel->params);
}

static void free_kernel(ptx_kernel *kernel) {
    if (!kernel)
        return;
    free(kernel->name);
    free_body(kernel);
    free(kernel);
}

static void reset_kernel_state(ptx_parser *p, size_t module_symbols) {
    for (size_t i = 0; i < p->register_count; i++)
        free(p->registers[i].slots);
    p->register_count = p->label_count = p->fixup_count = p->scope_count = 0;
    p->symbol_count = module_symbols;
    ptx_index_shrink(&p->register_index, 0);
    ptx_index_shrink(&p->label_index, 0);
    ptx_index_shrink(&p->constant_index, 0);
    ptx_index_shrink(&p->symbol_index, module_symbols);
    for (size_t i = 0; i < module_symbols; i++)
        p->symbols[i].has_offset = false;
    p->sink32 = p->sink64 = p->scope = 0;
    p->actual_count = p->calls = p->call_depth = 0;
    p->location = 0;
    p->kernel = NULL;
}

/* Parses a kernel from its parameters on. Of a lazy module the body is skipped. */
static bool parse_kernel(ptx_parser *p, ptx_kernel *kernel, bool lazy) {
    const size_t module_symbols = p->symbol_count;
    p->kernel = kernel;
    bool good = ptx_parse_parameters(p) && parse_performance_directives(p);
    if (good && lazy)
        good = ptx_skip_braces(p);
    else if (good)
        good = ptx_parse_body(p) && (ptx_cfg_build(kernel) || ptx_out_of_memory(p));
    reset_kernel_state(p, module_symbols);
    return good;
}

static bool remember(ptx_parser *p, ptx_kernel *kernel) {
    if (!ptx_reserve(&p->unparsed, &p->unparsed_capacity, p->unparsed_count, sizeof *p->unparsed))
        return ptx_out_of_memory(p);
    p->unparsed[p->unparsed_count++] =
        (ptx_unparsed){.kernel = kernel, .lexer = p->lexer, .token = p->token, .ahead = p->ahead};
    return true;
}

static bool skip_entry(ptx_parser *p) {
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, "{"))
        ptx_advance(p);
    return ptx_skip_braces(p);
}

static bool parse_entry(ptx_parser *p) {
    ptx_advance(p);
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected the name of a kernel");
    if (p->only && !ptx_token_is(&p->token, p->only))
        return skip_entry(p);
    ptx_module *m = p->module;
    if (!ptx_reserve(&m->kernels, &m->kernel_capacity, m->kernel_count, sizeof *m->kernels))
        return ptx_out_of_memory(p);
    ptx_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return ptx_out_of_memory(p);
    m->kernels[m->kernel_count++] = kernel; /* the module owns it from here on */
    init_kernel(kernel, m, strndup(p->token.start, p->token.length));
    if (!kernel->name)
        return ptx_out_of_memory(p);
    ptx_advance(p);
    return (!p->lazy || remember(p, kernel)) && parse_kernel(p, kernel, p->lazy);
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

/* Whether the kernel at the current token has no body here: a semicolon, except at the end of a .pragma,
   comes before any brace. Kernels that launch kernels declare them. */
static bool is_declaration(const ptx_parser *p) {
    ptx_lexer lexer = p->lexer;
    bool pragma = false;
    for (ptx_token token = p->ahead; token.kind != PTX_TOKEN_END; token = ptx_lexer_next(&lexer)) {
        const bool ends = ptx_token_is(&token, ";");
        if (ptx_token_is(&token, "{") || (ends && !pragma))
            return ends;
        pragma = ptx_token_is(&token, ".pragma") || (pragma && !ends);
    }
    return false;
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
        return is_declaration(p) ? ptx_skip_to_semicolon(p) : parse_entry(p);
    if (ptx_at(p, ".func"))
        return ptx_skip_function(p);
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
    ptx_describe_token(&p->token, found, sizeof found);
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        return ptx_unsupported(p, &p->token, "the directive %s is not supported", found);
    return ptx_syntax(p, &p->token, "expected a directive, found %s", found);
}

static void free_parser(ptx_parser *p) {
    reset_kernel_state(p, 0);
    ptx_opcode_index_free(&p->opcodes);
    free(p->unparsed);
    free(p->registers);
    free(p->symbols);
    free(p->labels);
    free(p->fixups);
    free(p->scope_parents);
    free(p->operands);
    free(p->functions);
    free(p->actuals);
    ptx_index_free(&p->function_index);
    ptx_index_free(&p->register_index);
    ptx_index_free(&p->label_index);
    ptx_index_free(&p->constant_index);
    ptx_index_free(&p->symbol_index);
    free(p->elements);
    free(p->slots);
    free(p);
}

static ptx_module *new_module(const char *text, size_t length, const ptx_module_options *options) {
    const bool borrowed = options && options->kernel;
    ptx_module *module = calloc(1, sizeof *module);
    char *copy = borrowed || length >= UINT32_MAX ? NULL : malloc(length + 1);
    if (!module || length >= UINT32_MAX || (!copy && !borrowed)) {
        free(module);
        free(copy);
        return NULL;
    }
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    *module = (ptx_module){.text = copy ? copy : text, .copy = copy, .length = length};
    module->constants_address = options && options->constants ? options->constants : PTX_CONST_WINDOW;
    module->variables_address = options && options->variables ? options->variables : PTX_VARIABLES_WINDOW;
    return module;
}

static void parse_module(ptx_parser *p) {
    ptx_environment environment;
    ptx_environment_enter(&environment);
    ptx_lexer_init(&p->lexer, p->module->text, p->module->length);
    if (ptx_find_functions(p)) {
        p->ahead = ptx_lexer_next(&p->lexer);
        ptx_advance(p);
        while (p->token.kind != PTX_TOKEN_END && parse_directive(p))
            ;
    }
    ptx_environment_leave(&environment);
}

ptx_status ptx_module_open(const char *text, size_t length, const ptx_module_options *options,
                           ptx_module **out, ptx_error *error) {
    *out = NULL;
    ptx_parser *p = calloc(1, sizeof *p); /* too large for small stacks */
    ptx_module *module = new_module(text, length, options);
    if (!p || !module || !ptx_opcode_index_init(&p->opcodes)) {
        free(p);
        ptx_module_free(module);
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory while parsing PTX");
    }
    p->error = error;
    p->module = module;
    p->lazy = options && options->lazy;
    p->only = options ? options->kernel : NULL;
    parse_module(p);
    const ptx_status status = p->status;
    if (status == PTX_OK && p->lazy)
        module->parser = p;
    else
        free_parser(p);
    if (status == PTX_OK)
        *out = module;
    else
        ptx_module_free(module);
    return status;
}

ptx_status ptx_module_parse(const char *text, size_t length, ptx_module **out, ptx_error *error) {
    return ptx_module_open(text, length, NULL, out, error);
}

ptx_status ptx_kernel_parse(const ptx_kernel *kernel, ptx_error *error) {
    ptx_parser *p = kernel->module->parser;
    if (kernel->count || !p)
        return PTX_OK;
    const ptx_unparsed *unparsed = p->unparsed;
    while (unparsed->kernel != kernel)
        unparsed++;
    ptx_kernel *parsed = unparsed->kernel;
    ptx_environment environment;
    ptx_environment_enter(&environment);
    free(parsed->params);
    init_kernel(parsed, kernel->module, kernel->name);
    p->status = PTX_OK;
    p->error = error;
    p->lexer = unparsed->lexer;
    p->token = unparsed->token;
    p->ahead = unparsed->ahead;
    if (!parse_kernel(p, parsed, false)) {
        free_body(parsed);
        init_kernel(parsed, kernel->module, kernel->name);
    }
    ptx_environment_leave(&environment);
    return p->status;
}

void ptx_module_free(ptx_module *module) {
    if (!module)
        return;
    if (module->parser)
        free_parser(module->parser);
    for (size_t i = 0; i < module->kernel_count; i++)
        free_kernel(module->kernels[i]);
    for (size_t i = 0; i < module->file_count; i++)
        free(module->files[i].name);
    free(module->constants.image);
    free(module->variables.image);
    free(module->names);
    free(module->kernels);
    free(module->files);
    free(module->locations);
    free(module->copy);
    free(module);
}
