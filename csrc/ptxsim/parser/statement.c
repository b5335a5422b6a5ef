/* The statements of a kernel's body: register declarations, labels, instructions, calls. */
#include "parser/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "parser/cursor.h"
#include "parser/passes.h"
#include "reserve.h"

/* ---- .reg ---- */

enum { MAX_REGISTERS = 1 << 20 };

static bool declare_register(ptx_parser *p, ptx_type type) {
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected the name of a register");
    ptx_registers r = {.name = p->token.start, .length = p->token.length, .type = type, .count = 1};
    ptx_token name = p->token;
    ptx_advance(p);
    if (ptx_accept(p, "<")) {
        uint64_t count = 0;
        if (!ptx_parse_count(p, MAX_REGISTERS, &count, "the number of registers") ||
            !ptx_expect(p, ">", "after the number of registers"))
            return false;
        r.numbered = true;
        r.count = (uint32_t)count;
    }
    const uint32_t hash = ptx_hash(r.name, r.length, r.numbered);
    uint32_t i = PTX_NO_ENTRY;
    while ((i = ptx_index_find(&p->register_index, hash, i)) != PTX_NO_ENTRY) {
        const ptx_registers *other = &p->registers[i];
        if (other->scope == p->scope && other->numbered == r.numbered && other->length == r.length &&
            memcmp(other->name, r.name, r.length) == 0)
            return ptx_syntax(p, &name, "the register '%.*s' is declared twice", (int)r.length, r.name);
    }
    r.scope = p->scope;
    if (!ptx_reserve(&p->registers, &p->register_capacity, p->register_count, sizeof *p->registers))
        return ptx_out_of_memory(p);
    r.slots = calloc(r.count ? r.count : 1, sizeof *r.slots);
    if (!r.slots || !ptx_index_add(&p->register_index, hash)) {
        free(r.slots);
        return ptx_out_of_memory(p);
    }
    p->registers[p->register_count++] = r;
    return true;
}

/* .reg .b32 %r<14>, other; */
static bool parse_register_declaration(ptx_parser *p) {
    if (p->token.kind != PTX_TOKEN_DIRECTIVE)
        return ptx_syntax(p, &p->token, "expected the type of the registers");
    ptx_type type = ptx_type_named(p->token.start + 1, p->token.length - 1);
    if (type == PTX_TYPE_NONE)
        return ptx_unsupported(p, &p->token, "registers of type '%.*s' are not supported",
                               (int)p->token.length, p->token.start);
    do {
        ptx_advance(p);
        if (!declare_register(p, type))
            return false;
    } while (ptx_at(p, ","));
    return ptx_expect(p, ";", "after the registers");
}

/* ---- labels and scopes ---- */

static const ptx_label *find_label(const ptx_parser *p, const ptx_token *name, uint32_t scope) {
    const uint32_t hash = ptx_hash(name->start, name->length, scope);
    uint32_t i = PTX_NO_ENTRY;
    while ((i = ptx_index_find(&p->label_index, hash, i)) != PTX_NO_ENTRY)
        if (p->labels[i].scope == scope && p->labels[i].length == name->length &&
            memcmp(p->labels[i].name, name->start, name->length) == 0)
            return &p->labels[i];
    return NULL;
}

static bool add_label(ptx_parser *p, const ptx_token *name) {
    if (find_label(p, name, p->scope))
        return ptx_syntax(p, name, "the label '%.*s' is declared twice", (int)name->length, name->start);
    if (!ptx_reserve(&p->labels, &p->label_capacity, p->label_count, sizeof *p->labels) ||
        !ptx_index_add(&p->label_index, ptx_hash(name->start, name->length, p->scope)))
        return ptx_out_of_memory(p);
    p->labels[p->label_count++] = (ptx_label){
        .name = name->start, .length = name->length, .scope = p->scope, .pc = (uint32_t)p->kernel->count};
    return true;
}

static bool declare_label(ptx_parser *p) {
    if (!add_label(p, &p->token))
        return false;
    ptx_advance(p);
    ptx_advance(p);
    return true;
}

static bool open_scope(ptx_parser *p, uint32_t parent) {
    if (!ptx_reserve(&p->scope_parents, &p->scope_capacity, p->scope_count, sizeof *p->scope_parents))
        return ptx_out_of_memory(p);
    p->scope = (uint32_t)p->scope_count;
    p->scope_parents[p->scope_count++] = parent;
    return true;
}

static const ptx_label *find_visible_label(const ptx_parser *p, const ptx_token *name, uint32_t scope) {
    for (;;) {
        const ptx_label *label = find_label(p, name, scope);
        if (label || scope == 0)
            return label;
        scope = p->scope_parents[scope];
    }
}

/* ---- instructions ---- */

/* An optional sign and a number, or a name. */
static bool parse_element(ptx_parser *p, ptx_element *element) {
    bool minus = ptx_accept(p, "-");
    if (!minus)
        (void)ptx_accept(p, "+");
    element->token = p->token;
    element->value = p->token.value;
    switch (p->token.kind) {
    case PTX_TOKEN_NAME:
        element->kind = PTX_OPERAND_NAME;
        if (minus)
            return ptx_syntax(p, &p->token, "a register cannot be negated here");
        break;
    case PTX_TOKEN_INTEGER:
        element->kind = PTX_OPERAND_INTEGER;
        if (minus)
            element->value = -element->value;
        break;
    case PTX_TOKEN_F32:
        element->kind = PTX_OPERAND_F32;
        if (minus)
            element->value ^= 0x80000000u;
        break;
    case PTX_TOKEN_F64:
    case PTX_TOKEN_DECIMAL:
        element->kind = p->token.kind == PTX_TOKEN_F64 ? PTX_OPERAND_F64 : PTX_OPERAND_DECIMAL;
        if (minus)
            element->value ^= 1ull << 63;
        break;
    default:
        return ptx_syntax(p, &p->token, "expected an operand");
    }
    ptx_advance(p);
    return true;
}

/* {a, b, c} */
static bool parse_elements(ptx_parser *p, ptx_operand *operand) {
    operand->first_element = (uint32_t)p->element_count;
    do {
        ptx_advance(p);
        if (!ptx_reserve(&p->elements, &p->element_capacity, p->element_count, sizeof *p->elements))
            return ptx_out_of_memory(p);
        if (!parse_element(p, &p->elements[p->element_count]))
            return false;
        p->element_count++;
    } while (ptx_at(p, ","));
    operand->element_count = (uint32_t)p->element_count - operand->first_element;
    return ptx_expect(p, "}", "after the vector");
}

static bool parse_vector(ptx_parser *p, ptx_operand *operand) {
    operand->kind = PTX_OPERAND_VECTOR;
    operand->token = p->token;
    return parse_elements(p, operand);
}

/* The end of an address, with optional tensor coordinates before it. */
static bool end_address(ptx_parser *p, ptx_operand *operand) {
    if (ptx_accept(p, ",")) {
        if (!ptx_at(p, "{"))
            return ptx_syntax(p, &p->token, "expected the coordinates in braces");
        if (!parse_elements(p, operand))
            return false;
    }
    return ptx_expect(p, "]", "after the address");
}

/* [name], [name+8], [name+-8], [name-8], [16], [name, {x, y}] */
static bool parse_address(ptx_parser *p, ptx_operand *operand) {
    ptx_advance(p);
    operand->kind = PTX_OPERAND_ADDRESS;
    operand->token = p->token;
    if (p->token.kind == PTX_TOKEN_NAME) {
        ptx_advance(p);
        if (ptx_at(p, "]") || ptx_at(p, ","))
            return end_address(p, operand);
        if (!ptx_at(p, "+") && !ptx_at(p, "-"))
            return ptx_syntax(p, &p->token, "expected '+', '-' or ']' in the address");
    } else {
        operand->absolute = true;
    }
    bool minus = ptx_at(p, "-");
    if (minus || ptx_at(p, "+"))
        ptx_advance(p);
    if (ptx_accept(p, "-"))
        minus = !minus;
    if (p->token.kind != PTX_TOKEN_INTEGER)
        return ptx_syntax(p, &p->token, "expected a number in the address");
    operand->value = minus ? -p->token.value : p->token.value;
    ptx_advance(p);
    return end_address(p, operand);
}

static bool parse_operand(ptx_parser *p, ptx_operand *operand) {
    if (ptx_at(p, "{"))
        return parse_vector(p, operand);
    if (ptx_at(p, "["))
        return parse_address(p, operand);
    operand->negated = ptx_accept(p, "!");
    ptx_element element = {.kind = PTX_OPERAND_NAME};
    if (!parse_element(p, &element))
        return false;
    operand->kind = element.kind;
    operand->token = element.token;
    operand->value = element.value;
    if (ptx_accept(p, "|")) {
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_syntax(p, &p->token, "expected a register after '|'");
        operand->has_second = true;
        operand->second = p->token;
        ptx_advance(p);
    }
    return true;
}

/* @p, @!p */
static bool parse_guard(ptx_parser *p, ptx_statement *statement) {
    if (!ptx_accept(p, "@"))
        return true;
    statement->guarded = true;
    statement->guard_negated = ptx_accept(p, "!");
    statement->guard = p->token;
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_syntax(p, &p->token, "expected a predicate after '@'");
    ptx_advance(p);
    return true;
}

/* ---- calls: the body of the function is inlined in a new scope ---- */

enum { MAX_CALL_DEPTH = 32, MAX_CALLS = 10000, MAX_INLINED = 1 << 20 };

static bool parse_statement_list(ptx_parser *p, unsigned depth);

/* The label at the end of an inlined body, with a name that no text can contain. */
static const char return_label[] = "(return)";

static ptx_token named_like(const ptx_token *at, const char *text) {
    ptx_token token = *at;
    token.kind = PTX_TOKEN_NAME;
    token.start = text;
    token.length = strlen(text);
    return token;
}

/* Branches to the end of the inlined body, with the statement's guard. */
static bool branch_to_return(ptx_parser *p, const ptx_statement *statement) {
    ptx_statement branch = *statement;
    const ptx_operand target = {.kind = PTX_OPERAND_NAME,
                                .token = named_like(&statement->opcode, return_label)};
    if (p->operand_count)
        return ptx_syntax(p, &p->operands[0].token, "one operand too many");
    branch.opcode = named_like(&statement->opcode, "bra");
    if (!ptx_reserve(&p->operands, &p->operand_capacity, 0, sizeof *p->operands))
        return ptx_out_of_memory(p);
    p->operands[p->operand_count++] = target;
    return ptx_decode(p, &branch);
}

/* `(a, b)`: .param variables, which are in local memory. */
static bool parse_actuals(ptx_parser *p) {
    do {
        ptx_advance(p);
        if (ptx_at(p, ")"))
            break;
        const ptx_symbol *symbol = p->token.kind == PTX_TOKEN_NAME ? ptx_find_symbol(p, &p->token) : NULL;
        if (!symbol || !symbol->in_local)
            return ptx_unsupported(p, &p->token, "calls are supported with .param variables only");
        if (!ptx_reserve(&p->actuals, &p->actual_capacity, p->actual_count, sizeof *p->actuals))
            return ptx_out_of_memory(p);
        p->actuals[p->actual_count++] = *symbol;
        ptx_advance(p);
    } while (ptx_at(p, ","));
    return ptx_expect(p, ")", "after what the call gives");
}

static bool inline_function(ptx_parser *p, const ptx_function *function, const ptx_statement *call,
                            size_t first_actual) {
    const ptx_lexer lexer = p->lexer;
    const ptx_token token = p->token, ahead = p->ahead;
    const uint32_t outer = p->scope;
    const size_t symbols = p->symbol_count;
    if (!open_scope(p, outer))
        return false;
    if (call->guarded) {
        ptx_statement around = *call;
        around.guard_negated = !call->guard_negated;
        p->operand_count = 0;
        if (!branch_to_return(p, &around))
            return false;
    }
    const uint32_t scope = p->scope;
    p->lexer = function->at;
    p->ahead = ptx_lexer_next(&p->lexer);
    ptx_advance(p);
    size_t next = first_actual;
    if (!ptx_bind_parameters(p, &next, p->actual_count))
        return false;
    ptx_advance(p);
    if (!ptx_bind_parameters(p, &next, p->actual_count))
        return false;
    while (p->token.kind != PTX_TOKEN_END && !ptx_at(p, "{"))
        ptx_advance(p);
    p->call_depth++;
    if (!parse_statement_list(p, 0))
        return false;
    p->call_depth--;
    p->scope = scope;
    const ptx_token end = named_like(&call->opcode, return_label);
    if (!add_label(p, &end))
        return false;
    p->lexer = lexer;
    p->token = token;
    p->ahead = ahead;
    p->scope = outer;
    p->symbol_count = symbols;
    ptx_index_shrink(&p->symbol_index, symbols);
    return true;
}

/* The pseudo-opcode of a call of a CUDA function without a body in PTX, NULL for other names. */
static const char *opcode_of_call(const ptx_token *name) {
    static const char call[] = "call ";
    const ptx_opcode_row *row;
    for (size_t i = 0; (row = ptx_opcode_row_at(i)); i++)
        if (strncmp(row->pattern, call, sizeof call - 1) == 0 &&
            ptx_token_is(name, row->pattern + sizeof call - 1))
            return row->pattern;
    return NULL;
}

/* Decodes such a call as one instruction whose operands are the addresses of the call's variables. */
static bool decode_call(ptx_parser *p, const ptx_statement *statement, const char *opcode,
                        size_t first_actual) {
    ptx_statement call = *statement;
    call.opcode = named_like(&statement->opcode, opcode);
    p->operand_count = p->element_count = 0;
    for (size_t i = first_actual; i < p->actual_count; i++) {
        ptx_operand operand = {.kind = PTX_OPERAND_ADDRESS, .token = call.opcode};
        operand.token.start = p->actuals[i].name;
        operand.token.length = p->actuals[i].length;
        if (!ptx_reserve(&p->operands, &p->operand_capacity, p->operand_count, sizeof *p->operands))
            return ptx_out_of_memory(p);
        p->operands[p->operand_count++] = operand;
    }
    p->actual_count = first_actual;
    return ptx_decode(p, &call);
}

/* call (results), name, (parameters) */
static bool parse_call(ptx_parser *p, const ptx_statement *statement) {
    const size_t first_actual = p->actual_count;
    if (ptx_at(p, "(") && (!parse_actuals(p) || !ptx_expect(p, ",", "after the results")))
        return false;
    const ptx_token name = p->token;
    const ptx_function *function = name.kind == PTX_TOKEN_NAME ? ptx_find_function(p, &name) : NULL;
    if (name.kind == PTX_TOKEN_NAME && *name.start == '%')
        return ptx_unsupported(p, &name, "calls by address are not simulated yet");
    const char *opcode = name.kind == PTX_TOKEN_NAME && !function ? opcode_of_call(&name) : NULL;
    if (!function && !opcode)
        return ptx_unsupported(p, &name, "the function '%.*s' has no body here, so that it is not supported",
                               (int)name.length, name.start);
    ptx_advance(p);
    if (ptx_accept(p, ",") && ptx_at(p, "(") && !parse_actuals(p))
        return false;
    if (opcode)
        return decode_call(p, statement, opcode, first_actual);
    if (p->call_depth == MAX_CALL_DEPTH)
        return ptx_unsupported(p, &name,
                               "calls more than %d deep, as of recursive functions, are not simulated yet",
                               MAX_CALL_DEPTH);
    if (++p->calls > MAX_CALLS || p->kernel->count > MAX_INLINED)
        return ptx_unsupported(p, &name, "the kernel is too large with the functions that it calls");
    if (!inline_function(p, function, statement, first_actual))
        return false;
    p->actual_count = first_actual;
    return true;
}

/* ---- statements ---- */

static bool is_named(const ptx_token *opcode, const char *name) {
    const size_t length = strlen(name);
    return opcode->length >= length && memcmp(opcode->start, name, length) == 0 &&
           (opcode->length == length ||
            (opcode->length == length + 4 && memcmp(opcode->start + length, ".uni", 4) == 0));
}

static bool parse_operands(ptx_parser *p) {
    p->operand_count = p->element_count = 0;
    while (!ptx_at(p, ";")) {
        if (!ptx_reserve(&p->operands, &p->operand_capacity, p->operand_count, sizeof *p->operands))
            return ptx_out_of_memory(p);
        ptx_operand *operand = &p->operands[p->operand_count++];
        *operand = (ptx_operand){.kind = PTX_OPERAND_NAME};
        if (!parse_operand(p, operand))
            return false;
        if (!ptx_at(p, ";") && !ptx_expect(p, ",", "or ';' after the operand"))
            return false;
    }
    return true;
}

static bool parse_instruction(ptx_parser *p) {
    ptx_statement statement = {.guarded = false};
    if (!parse_guard(p, &statement))
        return false;
    if (p->token.kind != PTX_TOKEN_NAME || *p->token.start == '%')
        return ptx_syntax(p, &p->token, "expected an instruction");
    statement.opcode = p->token;
    ptx_advance(p);
    if (is_named(&statement.opcode, "call"))
        return parse_call(p, &statement) && ptx_expect(p, ";", "after the call");
    if (!ptx_at(p, ";") &&
        !ptx_opcode_base_known(&p->opcodes, statement.opcode.start, statement.opcode.length))
        return ptx_unknown_opcode(p, &statement.opcode);
    if (!parse_operands(p))
        return false;
    const bool returns = p->call_depth && is_named(&statement.opcode, "ret");
    return (returns ? branch_to_return(p, &statement) : ptx_decode(p, &statement)) &&
           ptx_expect(p, ";", "after the instruction");
}

static bool parse_body_directive(ptx_parser *p) {
    if (ptx_accept(p, ".reg"))
        return parse_register_declaration(p);
    if (ptx_accept(p, ".shared"))
        return ptx_parse_variable(p, PTX_SPACE_SHARED, false);
    if (ptx_accept(p, ".local"))
        return ptx_parse_variable(p, PTX_SPACE_LOCAL, false);
    if (ptx_accept(p, ".param"))
        return ptx_parse_variable(p, PTX_SPACE_PARAM, false);
    if (ptx_accept(p, ".loc"))
        return ptx_parse_location(p);
    if (ptx_at(p, ".pragma"))
        return ptx_skip_to_semicolon(p);
    return ptx_unsupported(p, &p->token, "the directive '%.*s' is not supported in a kernel",
                           (int)p->token.length, p->token.start);
}

/* Registers and variables of a nested scope end with it; labels are kept for the fixups. */
static bool parse_statement_list(ptx_parser *p, unsigned depth) {
    uint32_t outer = p->scope;
    size_t registers = p->register_count, symbols = p->symbol_count;
    ptx_token open = p->token;
    if (!ptx_expect(p, "{", "to open the body"))
        return false;
    if (depth > 64)
        return ptx_unsupported(p, &open, "scopes nested more than 64 deep are not supported");
    if (!open_scope(p, outer))
        return false;
    while (!ptx_at(p, "}")) {
        bool good;
        if (p->token.kind == PTX_TOKEN_END)
            return p->status == PTX_OK && ptx_syntax(p, &open, "this '{' is never closed");
        if (ptx_at(p, "{"))
            good = parse_statement_list(p, depth + 1);
        else if (p->token.kind == PTX_TOKEN_DIRECTIVE)
            good = parse_body_directive(p);
        else if (p->token.kind == PTX_TOKEN_NAME && ptx_token_is(&p->ahead, ":"))
            good = declare_label(p);
        else
            good = ptx_accept(p, ";") || parse_instruction(p);
        if (!good)
            return false;
    }
    ptx_advance(p);
    while (p->register_count > registers)
        free(p->registers[--p->register_count].slots);
    p->symbol_count = symbols;
    ptx_index_shrink(&p->register_index, registers);
    ptx_index_shrink(&p->symbol_index, symbols);
    p->scope = outer;
    return true;
}

static bool resolve_labels(ptx_parser *p) {
    for (size_t i = 0; i < p->fixup_count; i++) {
        const ptx_fixup *fixup = &p->fixups[i];
        const ptx_label *label = find_visible_label(p, &fixup->label, fixup->scope);
        if (!label)
            return ptx_syntax(p, &fixup->label, "the label '%.*s' is not declared", (int)fixup->label.length,
                              fixup->label.start);
        p->kernel->code[fixup->pc].op[fixup->operand] = label->pc;
    }
    return true;
}

static void move_constant(const ptx_kernel *kernel, uint32_t *op) {
    if (*op & PTX_CONSTANT)
        *op = (*op & ~PTX_CONSTANT) + kernel->register_bytes;
}

/* Registers and constants were numbered separately; the constants follow the registers. */
static void join_areas(ptx_kernel *kernel) {
    for (size_t pc = 0; pc < kernel->count; pc++) {
        ptx_instr *in = &kernel->code[pc];
        for (uint32_t k = 0; k < in->operand_count; k++)
            move_constant(kernel, &in->op[k]);
        move_constant(kernel, &in->base);
    }
}

/* Lanes that reach the end of the code exit, so that the code always ends with an exit. */
static bool append_exit(ptx_parser *p) {
    static const char name[] = "exit";
    ptx_statement statement = {.opcode = p->token};
    p->operand_count = p->element_count = 0;
    statement.opcode.kind = PTX_TOKEN_NAME;
    statement.opcode.start = name;
    statement.opcode.length = sizeof name - 1;
    return ptx_decode(p, &statement);
}

bool ptx_parse_body(ptx_parser *p) {
    p->scope_count = 0;
    p->scope = 0;
    if (!open_scope(p, 0) || !parse_statement_list(p, 0) || !append_exit(p) || !resolve_labels(p))
        return false;
    ptx_allocate_registers(p->kernel);
    join_areas(p->kernel);
    return true;
}
