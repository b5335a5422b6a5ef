/* Resolves the operands of an instruction to slots of the register file, predicates, labels and addresses. */
#include "parser/operand.h"

#include <stdio.h>
#include <string.h>

#include "parser/cursor.h"
#include "parser/grammar.h"
#include "parser/slots.h"
#include "parser/special.h"
#include "reserve.h"

ptx_fit ptx_misfit(ptx_decoding *d, const ptx_token *at, const char *reason) {
    d->misfit = *at;
    snprintf(d->reason, sizeof d->reason, "%s", reason);
    return PTX_MISFIT;
}

/* ---- names ---- */

static ptx_fit unknown_name(ptx_decoding *d, const ptx_token *name) {
    if (*name->start == '%')
        ptx_unsupported(d->p, name,
                        "'%.*s' is not a declared register nor a special register that is supported",
                        (int)name->length, name->start);
    else
        ptx_syntax(d->p, name, "'%.*s' is not declared", (int)name->length, name->start);
    return PTX_FAILED;
}

/* Resolves a symbol and assigns its offset in the kernel. */
static ptx_fit use_symbol(ptx_decoding *d, ptx_symbol *symbol, const ptx_token *name) {
    if (symbol->unsupported) {
        ptx_unsupported(d->p, name,
                        "the variable '%.*s' is one of another module or holds the address of a function, "
                        "which is not supported",
                        (int)name->length, name->start);
        return PTX_FAILED;
    }
    const bool shared = symbol->space == PTX_SPACE_SHARED;
    if (shared && (symbol->dynamic || !symbol->has_offset) && !ptx_assign_shared_offset(d->p, name, symbol))
        return PTX_FAILED;
    return PTX_FITS;
}

/* ---- operands ---- */

static void set_op(ptx_decoding *d, uint32_t op, bool wide) {
    d->p->slots[d->in.operand_count++] = (ptx_slot){.op = op, .wide = wide};
}

static void set_register(ptx_decoding *d, uint32_t op, bool wide, bool written) {
    set_op(d, op, wide);
    d->p->slots[d->in.operand_count - 1].role = written ? PTX_ROLE_WRITTEN : PTX_ROLE_READ;
}

/* The width that a letter stands for; x and y accept any register that is wide enough. */
static bool width_fits(const ptx_decoding *d, char letter, unsigned bytes) {
    ptx_type destination = d->parts.type2 ? d->parts.type2 : d->parts.type;
    switch (letter) {
    case 'H':
    case 'h':
        return bytes == 2;
    case 'W':
    case 'w':
    case 'S':
        return bytes == 4;
    case 'L':
    case 'l':
        return bytes == 8;
    case 'Y':
    case 'y':
        return bytes && bytes <= 4;
    case 'X':
        return bytes && bytes >= ptx_type_bytes(destination);
    default:
        return bytes && bytes >= ptx_type_bytes(d->parts.type);
    }
}

static const char *expected_operand(char letter) {
    switch (letter) {
    case 'H':
        return "expected a 16-bit register";
    case 'h':
        return "expected a 16-bit register or constant";
    case 'W':
    case 'S':
        return "expected a 32-bit register";
    case 'w':
    case 'k':
        return "expected a 32-bit register or constant";
    case 'L':
        return "expected a 64-bit register";
    case 'l':
        return "expected a 64-bit register or constant";
    case 'Y':
    case 'y':
        return "expected a register of at most 32 bits";
    case 'P':
    case 'p':
    case 'Q':
    case 'n':
    case '~':
        return "expected a predicate";
    case 'm':
    case 'a':
        return "expected an address in brackets";
    case 'c':
        return "expected [map, {coordinates}], as many as the opcode says";
    case 'e':
        return "expected [handle, {coordinates}], as many as the opcode says";
    case 'D':
    case 'd':
        return "expected a 128-bit register";
    case 'z':
        return "expected a cache policy in a 64-bit register";
    case 'i':
        return "expected an integer constant";
    case 'b':
        return "expected a label";
    default:
        return "expected a register wide enough for the type";
    }
}

/* `_`: the result is discarded. */
static ptx_fit match_sink(ptx_decoding *d, char letter) {
    bool wide = letter == 'L';
    uint32_t *sink = wide ? &d->p->sink64 : &d->p->sink32;
    uint32_t slot = 0;
    if (*sink == 0) {
        if (!ptx_new_slot(d->p, wide ? 8 : 4, &slot))
            return PTX_FAILED;
        *sink = slot + 1;
    }
    set_register(d, *sink - 1, wide, true);
    return PTX_FITS;
}

static ptx_fit match_destination(ptx_decoding *d, char letter, const ptx_token *name, ptx_operand_kind kind) {
    if (kind != PTX_OPERAND_NAME)
        return ptx_misfit(d, name, expected_operand(letter));
    if (ptx_token_is(name, "_"))
        return d->may_sink ? match_sink(d, letter)
                           : ptx_misfit(d, name, "'_' cannot take this instruction's result");
    uint32_t number, op;
    ptx_registers *r = ptx_find_register(d->p, name, &number);
    if (!r)
        return unknown_name(d, name);
    if (r->type == PTX_TYPE_PRED || !width_fits(d, letter, ptx_type_bytes(r->type)))
        return ptx_misfit(d, name, expected_operand(letter));
    if (!ptx_register_slot(d->p, r, number, &op))
        return PTX_FAILED;
    set_register(d, op, ptx_type_bytes(r->type) == 8, true);
    return PTX_FITS;
}

/* The bit pattern of a literal for a source of `bytes`; returns false if the kinds do not match. */
static bool literal_bits(const ptx_decoding *d, ptx_operand_kind kind, uint64_t value, unsigned bytes,
                         uint64_t *bits) {
    bool is_float = ptx_type_class(d->parts.type) == PTX_CLASS_F;
    double wide;
    float narrow;
    *bits = value;
    if (kind == PTX_OPERAND_INTEGER)
        return !is_float || d->parts.type2 || d->parts.shape; /* the stride of a matrix */
    if (kind == PTX_OPERAND_F32 && bytes == 4)
        return true;
    if (kind == PTX_OPERAND_F64 && bytes == 8)
        return true;
    if (!is_float)
        return false;
    if (kind == PTX_OPERAND_F32) {
        uint32_t low = (uint32_t)value;
        memcpy(&narrow, &low, sizeof narrow);
        wide = narrow;
    } else {
        memcpy(&wide, &value, sizeof wide);
    }
    memcpy(bits, &wide, sizeof wide);
    if (bytes == 4) {
        uint32_t low;
        narrow = (float)wide;
        memcpy(&low, &narrow, sizeof low);
        *bits = low;
    }
    return true;
}

static ptx_fit match_constant(ptx_decoding *d, ptx_constant_kind kind, uint64_t value, unsigned bytes) {
    uint32_t op;
    if (!ptx_constant_slot(d->p, kind, value, bytes, &op))
        return PTX_FAILED;
    set_op(d, op, bytes == 8);
    return PTX_FITS;
}

/* The index of the kernel with this name, whose address a launch by a kernel takes. */
static bool find_kernel(const ptx_decoding *d, const ptx_token *name, uint64_t *index) {
    const ptx_module *module = d->p->module;
    for (*index = 0; *index < module->kernel_count; ++*index)
        if (ptx_token_is(name, module->kernels[*index]->name))
            return true;
    return false;
}

static ptx_fit match_named_source(ptx_decoding *d, char letter, const ptx_token *name,
                                  unsigned constant_bytes) {
    uint32_t number, op;
    uint64_t which;
    ptx_registers *r = ptx_find_register(d->p, name, &number);
    if (r) {
        if (r->type == PTX_TYPE_PRED || !width_fits(d, letter, ptx_type_bytes(r->type)))
            return ptx_misfit(d, name, expected_operand(letter));
        if (!ptx_register_slot(d->p, r, number, &op))
            return PTX_FAILED;
        set_register(d, op, ptx_type_bytes(r->type) == 8, false);
        return PTX_FITS;
    }
    if (ptx_find_special(name, &which)) {
        if (!width_fits(d, letter, 4))
            return ptx_misfit(d, name, expected_operand(letter));
        return match_constant(d, PTX_CONSTANT_SPECIAL, which, 4);
    }
    unsigned shift;
    if (ptx_find_clock(name, &shift))
        return ptx_misfit(d, name, "a clock can only be moved to a register");
    /* The simulator reports a single multiprocessor. */
    if (ptx_token_is(name, "%smid") || ptx_token_is(name, "%nsmid"))
        return match_constant(d, PTX_CONSTANT_VALUE, name->length == 6, 4);
    if (ptx_token_is(name, "WARP_SZ"))
        return match_constant(d, PTX_CONSTANT_VALUE, PTX_LANES, constant_bytes);
    ptx_symbol *symbol = ptx_find_symbol(d->p, name);
    uint64_t kernel;
    if (!symbol && letter != 'w' && find_kernel(d, name, &kernel))
        return match_constant(d, PTX_CONSTANT_VALUE, PTX_KERNEL_WINDOW + kernel, 8);
    if (!symbol)
        return unknown_name(d, name);
    ptx_fit fits = use_symbol(d, symbol, name);
    if (fits != PTX_FITS)
        return fits;
    /* the address of a shared variable or parameter is in its own state space, not generic */
    return match_constant(d, symbol->dynamic ? PTX_CONSTANT_DYNAMIC_SHARED : PTX_CONSTANT_VALUE,
                          symbol->offset, constant_bytes);
}

static ptx_fit match_source(ptx_decoding *d, char letter, const ptx_token *token, ptx_operand_kind kind,
                            uint64_t value) {
    unsigned bytes = letter == 'l' ? 8 : 4;
    if (letter == 'x' && ptx_type_bytes(d->parts.type) == 8)
        bytes = 8;
    if (kind == PTX_OPERAND_NAME)
        return match_named_source(d, letter, token, bytes);
    uint64_t bits;
    if (kind == PTX_OPERAND_ADDRESS || kind == PTX_OPERAND_VECTOR)
        return ptx_misfit(d, token, expected_operand(letter));
    if (!literal_bits(d, kind, value, bytes, &bits))
        return ptx_misfit(d, token, "this kind of constant does not go with the type");
    return match_constant(d, PTX_CONSTANT_VALUE, bits, bytes);
}

static ptx_fit match_predicate(ptx_decoding *d, const ptx_token *name, ptx_operand_kind kind, uint64_t value,
                               bool written) {
    if (kind == PTX_OPERAND_NAME && !written && ptx_token_is(name, "%is_explicit_cluster")) {
        set_op(d, PTX_PRED_EXPLICIT_CLUSTER, false);
        return PTX_FITS;
    }
    if (kind == PTX_OPERAND_INTEGER && !written) {
        set_op(d, value ? PTX_PRED_TRUE : PTX_PRED_FALSE, false);
        return PTX_FITS;
    }
    if (kind != PTX_OPERAND_NAME)
        return ptx_misfit(d, name, expected_operand('p'));
    if (written && ptx_token_is(name, "_")) {
        if (!d->may_sink)
            return ptx_misfit(d, name, "'_' cannot take this instruction's result");
        set_op(d, PTX_PRED_SINK, false);
        return PTX_FITS;
    }
    uint32_t number, op;
    ptx_registers *r = ptx_find_register(d->p, name, &number);
    if (!r)
        return unknown_name(d, name);
    if (r->type != PTX_TYPE_PRED)
        return ptx_misfit(d, name, expected_operand('p'));
    if (!ptx_register_slot(d->p, r, number, &op))
        return PTX_FAILED;
    set_op(d, op, false);
    return PTX_FITS;
}

static ptx_fit match_second_predicate(ptx_decoding *d, const ptx_operand *operand) {
    d->may_sink = true;
    if (operand->has_second)
        return match_predicate(d, &operand->second, PTX_OPERAND_NAME, 0, true);
    set_op(d, PTX_PRED_SINK, false);
    return PTX_FITS;
}

/* An address that is equal in all lanes: a variable or a number. */
static ptx_fit match_uniform_address(ptx_decoding *d, const ptx_operand *operand) {
    ptx_symbol *symbol = NULL;
    if (!operand->absolute) {
        symbol = ptx_find_symbol(d->p, &operand->token);
        if (!symbol)
            return unknown_name(d, &operand->token);
        ptx_fit fits = use_symbol(d, symbol, &operand->token);
        if (fits != PTX_FITS)
            return fits;
        bool own = symbol->space == PTX_SPACE_SHARED && d->parts.space == PTX_SPACE_CLUSTER;
        if (symbol->in_local)
            d->in.space = PTX_SPACE_LOCAL;
        if (symbol->space != d->parts.space && !own)
            return ptx_misfit(d, &operand->token,
                              "the variable is in another state space than the instruction's");
    } else if (d->parts.space == PTX_SPACE_PARAM) {
        return ptx_misfit(d, &operand->token, "expected the name of a parameter");
    }
    bool dynamic = symbol && symbol->dynamic;
    uint64_t value = operand->value + (symbol ? symbol->offset : 0);
    d->in.address = PTX_ADDRESS_UNIFORM;
    return ptx_constant_slot(d->p, dynamic ? PTX_CONSTANT_DYNAMIC_SHARED : PTX_CONSTANT_VALUE, value, 8,
                             &d->in.base)
               ? PTX_FITS
               : PTX_FAILED;
}

static ptx_fit match_address(ptx_decoding *d, const ptx_operand *operand) {
    if (operand->kind != PTX_OPERAND_ADDRESS || operand->element_count)
        return ptx_misfit(d, &operand->token, expected_operand('m'));
    uint32_t number;
    ptx_registers *r = operand->absolute ? NULL : ptx_find_register(d->p, &operand->token, &number);
    if (!r)
        return match_uniform_address(d, operand);
    unsigned bytes = ptx_type_bytes(r->type);
    bool shared = d->parts.space == PTX_SPACE_SHARED || d->parts.space == PTX_SPACE_CLUSTER;
    if (bytes != 8 && !(bytes == 4 && shared))
        return ptx_misfit(d, &operand->token, "expected a 64-bit register as the address");
    d->in.address = bytes == 8 ? PTX_ADDRESS_64 : PTX_ADDRESS_32;
    d->in.imm = (int64_t)operand->value;
    return ptx_register_slot(d->p, r, number, &d->in.base) ? PTX_FITS : PTX_FAILED;
}

/* A second address operand: base and offset take a slot each. */
static ptx_fit match_further_address(ptx_decoding *d, const ptx_operand *operand, unsigned coordinates) {
    if (operand->kind != PTX_OPERAND_ADDRESS || operand->element_count != coordinates)
        return ptx_misfit(d, &operand->token, expected_operand(coordinates ? 'c' : 'a'));
    uint32_t number, op;
    ptx_registers *r = operand->absolute ? NULL : ptx_find_register(d->p, &operand->token, &number);
    ptx_fit fits = PTX_FITS;
    if (!r && operand->absolute)
        fits = match_constant(d, PTX_CONSTANT_VALUE, 0, 8);
    else if (!r)
        fits = match_named_source(d, 'l', &operand->token, 8);
    else if (r->type == PTX_TYPE_PRED || ptx_type_bytes(r->type) < 4)
        return ptx_misfit(d, &operand->token, "expected a 32- or 64-bit register as the address");
    else if (ptx_register_slot(d->p, r, number, &op))
        set_register(d, op, ptx_type_bytes(r->type) == 8, false);
    else
        return PTX_FAILED;
    return fits == PTX_FITS ? match_constant(d, PTX_CONSTANT_VALUE, operand->value, 8) : fits;
}

/* Both 64-bit halves of a 128-bit register. */
static ptx_fit match_128(ptx_decoding *d, char letter, const ptx_operand *operand) {
    uint32_t number, op;
    if (operand->kind != PTX_OPERAND_NAME)
        return ptx_misfit(d, &operand->token, expected_operand(letter));
    ptx_registers *r = ptx_find_register(d->p, &operand->token, &number);
    if (!r)
        return unknown_name(d, &operand->token);
    if (r->type != PTX_TYPE_B128)
        return ptx_misfit(d, &operand->token, expected_operand(letter));
    if (!ptx_register_slot(d->p, r, number, &op))
        return PTX_FAILED;
    set_register(d, op, true, letter == 'D');
    set_register(d, op + 8 * PTX_LANES, true, letter == 'D');
    return PTX_FITS;
}

/* Cache policies have no effect. */
static ptx_fit skip_policy(ptx_decoding *d, const ptx_operand *operand) {
    uint32_t number;
    const ptx_registers *r =
        operand->kind == PTX_OPERAND_NAME ? ptx_find_register(d->p, &operand->token, &number) : NULL;
    bool good = r && ptx_type_bytes(r->type) == 8;
    return good ? PTX_FITS : ptx_misfit(d, &operand->token, expected_operand('z'));
}

static ptx_fit match_label(ptx_decoding *d, const ptx_operand *operand) {
    ptx_parser *p = d->p;
    if (operand->kind != PTX_OPERAND_NAME)
        return ptx_misfit(d, &operand->token, expected_operand('b'));
    if (!ptx_reserve(&p->fixups, &p->fixup_capacity, p->fixup_count, sizeof *p->fixups)) {
        ptx_out_of_memory(p);
        return PTX_FAILED;
    }
    p->fixups[p->fixup_count++] = (ptx_fixup){.label = operand->token,
                                              .scope = p->scope,
                                              .pc = (uint32_t)p->kernel->count,
                                              .operand = d->in.operand_count};
    set_op(d, 0, false);
    set_op(d, 0, false); /* the reconvergence point, which ptx_cfg_build fills in */
    return PTX_FITS;
}

static ptx_fit match_clock(ptx_decoding *d, const ptx_operand *operand) {
    unsigned shift = 0;
    if (operand->kind != PTX_OPERAND_NAME || !ptx_find_clock(&operand->token, &shift))
        return ptx_misfit(d, &operand->token, "expected a register or constant of the type's width");
    d->in.imm = shift;
    return PTX_FITS;
}

static ptx_fit match_scalar(ptx_decoding *d, char letter, const ptx_token *token, ptx_operand_kind kind,
                            uint64_t value) {
    bool written = letter >= 'A' && letter <= 'Z';
    return written ? match_destination(d, letter, token, kind) : match_source(d, letter, token, kind, value);
}

/* A tensor map and the coordinates of a tile. */
static ptx_fit match_coordinates(ptx_decoding *d, const ptx_operand *operand) {
    ptx_fit fits = match_further_address(d, operand, d->parts.rank);
    d->in.vector = d->parts.rank;
    for (unsigned i = 0; i < operand->element_count && fits == PTX_FITS; i++) {
        const ptx_element *e = &d->p->elements[operand->first_element + i];
        fits = match_scalar(d, 'w', &e->token, e->kind, e->value);
    }
    return fits;
}

/* A texture or surface and the coordinates of a point, which are 1, 2 or 4. */
static ptx_fit match_point(ptx_decoding *d, const ptx_operand *operand) {
    const unsigned coordinates = d->parts.rank == 3 ? 4 : d->parts.rank;
    ptx_fit fits = match_further_address(d, operand, coordinates);
    for (unsigned i = 0; i < operand->element_count && fits == PTX_FITS; i++) {
        const ptx_element *e = &d->p->elements[operand->first_element + i];
        fits = match_scalar(d, 'w', &e->token, e->kind, e->value);
    }
    return fits;
}

/* The vector of a .v2 or .v4 access: all elements match the same letter. */
static ptx_fit match_elements(ptx_decoding *d, char letter, const ptx_operand *operand) {
    if (operand->kind != PTX_OPERAND_VECTOR || operand->element_count != d->parts.vector)
        return ptx_misfit(d, &operand->token,
                          "expected a vector of as many elements as the instruction says");
    d->may_sink = true;
    for (unsigned i = 0; i < operand->element_count; i++) {
        const ptx_element *e = &d->p->elements[operand->first_element + i];
        ptx_fit fits = match_scalar(d, letter, &e->token, e->kind, e->value);
        if (fits != PTX_FITS)
            return fits;
    }
    return PTX_FITS;
}

ptx_fit ptx_match_operand(ptx_decoding *d, char letter, const ptx_operand *operand, bool vector) {
    if (operand->negated && letter != 'n' && letter != '~')
        return ptx_misfit(d, &operand->token, "'!' is not allowed here");
    if (operand->has_second && letter != 'Q' && letter != 'S')
        return ptx_misfit(d, &operand->second, "only one result is allowed here");
    ptx_fit fits;
    switch (letter) {
    case 'P':
    case 'Q':
        d->may_sink = d->may_sink || letter == 'Q';
        fits = match_predicate(d, &operand->token, operand->kind, operand->value, true);
        return fits == PTX_FITS && letter == 'Q' ? match_second_predicate(d, operand) : fits;
    case 'p':
        return match_predicate(d, &operand->token, operand->kind, operand->value, false);
    case 'n':
    case '~':
        d->in.flip = operand->negated;
        return match_predicate(d, &operand->token, operand->kind, operand->value, false);
    case 'S':
        fits = match_destination(d, 'W', &operand->token, operand->kind);
        return fits == PTX_FITS ? match_second_predicate(d, operand) : fits;
    case 'm':
        return match_address(d, operand);
    case 'a':
        return match_further_address(d, operand, 0);
    case 'c':
        return match_coordinates(d, operand);
    case 'e':
        return match_point(d, operand);
    case 'D':
    case 'd':
        return match_128(d, letter, operand);
    case 'z':
        return skip_policy(d, operand);
    case 'b':
        return match_label(d, operand);
    case 't':
        return match_clock(d, operand);
    case 'i':
        d->in.imm = (int64_t)operand->value;
        return operand->kind == PTX_OPERAND_INTEGER ? PTX_FITS
                                                    : ptx_misfit(d, &operand->token, expected_operand('i'));
    case 'j':
        d->in.imm = (int64_t)((uint64_t)d->in.imm << 8 | (operand->value & 0xff));
        return operand->kind == PTX_OPERAND_INTEGER ? PTX_FITS
                                                    : ptx_misfit(d, &operand->token, expected_operand('i'));
    case 'k':
        letter = 'w';
        break;
    default:
        break;
    }
    return vector ? match_elements(d, letter, operand)
                  : match_scalar(d, letter, &operand->token, operand->kind, operand->value);
}

bool ptx_omits(const ptx_decoding *d, char letter) {
    return (letter == '~' && d->parts.combine == PTX_COMBINE_NONE) || (letter == 'z' && !d->parts.cache_hint);
}

ptx_fit ptx_match_absent(ptx_decoding *d, char letter) {
    if (letter == 'k')
        return match_constant(d, PTX_CONSTANT_VALUE, 0, 4);
    if (!ptx_omits(d, letter))
        return ptx_misfit(d, &d->statement->opcode, "an operand is missing");
    if (letter == '~')
        set_op(d, PTX_PRED_TRUE, false);
    return PTX_FITS;
}

/* The accumulators of wgmma, whose number depends on the shape: first as results, then as sources. */
static ptx_fit match_sums(ptx_decoding *d, const ptx_operand *operand, unsigned wanted) {
    if (operand->kind != PTX_OPERAND_VECTOR || operand->element_count != wanted)
        return ptx_misfit(d, &operand->token, "expected a vector of as many registers as the shape has sums");
    for (unsigned i = 0; i < 2 * wanted; i++) {
        const ptx_element *e = &d->p->elements[operand->first_element + i % wanted];
        ptx_fit fits = match_destination(d, 'W', &e->token, e->kind);
        if (fits != PTX_FITS)
            return fits;
        d->p->slots[d->in.operand_count - 1].role = i < wanted ? PTX_ROLE_WRITTEN : PTX_ROLE_READ;
    }
    return PTX_FITS;
}

ptx_fit ptx_match_braces(ptx_decoding *d, const char **letters) {
    const ptx_operand *operand = &d->p->operands[d->next_operand++];
    size_t wanted = strcspn(*letters, "}");
    if (wanted == 3 && (*letters)[2] == '*') {
        const unsigned each = (unsigned)((*letters)[1] - '0');
        *letters += wanted + 1;
        return match_sums(d, operand, each * d->parts.vector);
    }
    if (operand->kind != PTX_OPERAND_VECTOR || operand->element_count != wanted)
        return ptx_misfit(d, &operand->token, "expected a vector or another kind of operand");
    d->may_sink = true;
    for (size_t i = 0; i < wanted; i++) {
        const ptx_element *e = &d->p->elements[operand->first_element + i];
        ptx_fit fits = match_scalar(d, (*letters)[i], &e->token, e->kind, e->value);
        if (fits != PTX_FITS)
            return fits;
    }
    *letters += wanted + 1;
    return PTX_FITS;
}

bool ptx_match_guard(ptx_decoding *d) {
    d->in.guard = PTX_PRED_TRUE;
    if (!d->statement->guarded)
        return true;
    uint32_t number;
    const ptx_token *name = &d->statement->guard;
    ptx_registers *r = ptx_find_register(d->p, name, &number);
    if (!r || r->type != PTX_TYPE_PRED)
        return ptx_syntax(d->p, name, "'%.*s' is not a declared predicate", (int)name->length, name->start);
    d->in.guard_flip = d->statement->guard_negated ? PTX_ALL_LANES : 0;
    return ptx_register_slot(d->p, r, number, &d->in.guard);
}
