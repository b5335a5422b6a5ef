/* From a parsed statement to a ptx_instr: finds the row of opcodes.def that fits the operands and turns
   each operand into a slot of the register file. */
#include <stdio.h>
#include <string.h>

#include "parser.h"

enum { MAX_REGISTER_BYTES = 4 << 20 };

/* MISFIT: this row does not take the operand, another may. FAILED: an error has been recorded. */
typedef enum fit { FITS, MISFIT, FAILED } fit;

typedef struct decoding {
    ptx_parser *p;
    const ptx_statement *statement;
    ptx_opcode_parts parts;
    ptx_instr in;
    unsigned next_op;      /* operand slots filled */
    unsigned next_operand; /* parsed operands consumed */
    ptx_token misfit;      /* where and why this row did not fit */
    char reason[160];
} decoding;

static fit misfit(decoding *d, const ptx_token *at, const char *reason) {
    d->misfit = *at;
    snprintf(d->reason, sizeof d->reason, "%s", reason);
    return MISFIT;
}

/* ---- slots ---- */

static bool new_slot(ptx_parser *p, unsigned bytes, uint32_t *slot) {
    ptx_kernel *kernel = p->kernel;
    uint32_t size = bytes == 8 ? 256 : 128;
    if (kernel->register_bytes + kernel->constant_bytes + size > MAX_REGISTER_BYTES)
        return ptx_unsupported(p, &p->token, "the kernel uses too many registers");
    *slot = kernel->register_bytes;
    kernel->register_bytes += size;
    return true;
}

static bool constant_slot(ptx_parser *p, ptx_constant_kind kind, uint64_t value, unsigned bytes,
                          uint32_t *op) {
    ptx_kernel *kernel = p->kernel;
    if (bytes == 4 && kind == PTX_CONSTANT_VALUE)
        value = (uint32_t)value;
    for (size_t i = 0; i < kernel->constant_count; i++) {
        const ptx_constant *c = &kernel->constants[i];
        if (c->kind == kind && c->value == value && c->bytes == bytes) {
            *op = PTX_CONSTANT | c->offset;
            return true;
        }
    }
    if (!ptx_reserve(&kernel->constants, &kernel->constant_capacity, kernel->constant_count,
                     sizeof *kernel->constants))
        return ptx_out_of_memory(p);
    if (kernel->register_bytes + kernel->constant_bytes + 256 > MAX_REGISTER_BYTES)
        return ptx_unsupported(p, &p->token, "the kernel uses too many constants");
    ptx_constant added = {.kind = kind, .value = value, .bytes = bytes, .offset = kernel->constant_bytes};
    kernel->constants[kernel->constant_count++] = added;
    kernel->constant_bytes += PTX_LANES * bytes;
    *op = PTX_CONSTANT | added.offset;
    return true;
}

/* ---- names ---- */

/* The number behind the prefix of a `%r<14>` declaration. */
static bool register_number(const ptx_registers *r, const ptx_token *name, uint32_t *number) {
    if (memcmp(r->name, name->start, r->length) != 0)
        return false;
    size_t digits = name->length - r->length;
    const char *digit = name->start + r->length;
    if (digits == 0 || digits > 7 || (digits > 1 && *digit == '0'))
        return false;
    *number = 0;
    for (size_t i = 0; i < digits; i++) {
        if (digit[i] < '0' || digit[i] > '9')
            return false;
        *number = *number * 10 + (uint32_t)(digit[i] - '0');
    }
    return *number < r->count;
}

static ptx_registers *find_register(ptx_parser *p, const ptx_token *name, uint32_t *number) {
    for (size_t i = p->register_count; i-- > 0;) {
        ptx_registers *r = &p->registers[i];
        if (name->length < r->length)
            continue;
        *number = 0;
        if (r->numbered ? register_number(r, name, number)
                        : name->length == r->length && memcmp(r->name, name->start, r->length) == 0)
            return r;
    }
    return NULL;
}

/* The slot of a register, given to it at its first use; an index for a predicate. */
static bool register_slot(ptx_parser *p, ptx_registers *r, uint32_t number, uint32_t *op) {
    uint32_t *slot = &r->slots[number];
    if (*slot == 0) {
        uint32_t fresh = 0;
        if (r->type == PTX_TYPE_PRED)
            fresh = p->kernel->predicate_count++;
        else if (!new_slot(p, ptx_type_bytes(r->type), &fresh))
            return false;
        *slot = fresh + 1;
    }
    *op = *slot - 1;
    return true;
}

static bool find_special(const ptx_token *name, uint64_t *which) {
    static const char *const names[PTX_SPECIAL_COUNT] = {
        [PTX_TID_X] = "%tid.x",
        [PTX_TID_Y] = "%tid.y",
        [PTX_TID_Z] = "%tid.z",
        [PTX_NTID_X] = "%ntid.x",
        [PTX_NTID_Y] = "%ntid.y",
        [PTX_NTID_Z] = "%ntid.z",
        [PTX_CTAID_X] = "%ctaid.x",
        [PTX_CTAID_Y] = "%ctaid.y",
        [PTX_CTAID_Z] = "%ctaid.z",
        [PTX_NCTAID_X] = "%nctaid.x",
        [PTX_NCTAID_Y] = "%nctaid.y",
        [PTX_NCTAID_Z] = "%nctaid.z",
        [PTX_LANEID] = "%laneid",
        [PTX_WARPID] = "%warpid",
        [PTX_NWARPID] = "%nwarpid",
        [PTX_LANEMASK_EQ] = "%lanemask_eq",
        [PTX_LANEMASK_LT] = "%lanemask_lt",
        [PTX_LANEMASK_LE] = "%lanemask_le",
        [PTX_LANEMASK_GT] = "%lanemask_gt",
        [PTX_LANEMASK_GE] = "%lanemask_ge",
        [PTX_DYNAMIC_SMEM_SIZE] = "%dynamic_smem_size",
    };
    for (unsigned i = 0; i < PTX_SPECIAL_COUNT; i++)
        if (ptx_token_is(name, names[i])) {
            *which = i;
            return true;
        }
    return false;
}

static ptx_symbol *find_symbol(ptx_parser *p, const ptx_token *name) {
    for (size_t i = p->symbol_count; i-- > 0;)
        if (p->symbols[i].length == name->length &&
            memcmp(p->symbols[i].name, name->start, name->length) == 0)
            return &p->symbols[i];
    return NULL;
}

static fit unknown_name(decoding *d, const ptx_token *name) {
    if (*name->start == '%')
        ptx_unsupported(d->p, name,
                        "'%.*s' is not a declared register nor a special register that is supported",
                        (int)name->length, name->start);
    else
        ptx_syntax(d->p, name, "'%.*s' is not declared", (int)name->length, name->start);
    return FAILED;
}

/* The symbol as a place in memory, its offset in the kernel settled. */
static fit use_symbol(decoding *d, ptx_symbol *symbol, const ptx_token *name) {
    if (symbol->unsupported) {
        ptx_unsupported(d->p, name, "the module variable '%.*s' is not supported (only shared variables are)",
                        (int)name->length, name->start);
        return FAILED;
    }
    if ((symbol->dynamic || !symbol->placed) && !ptx_place_shared(d->p, name, symbol))
        return FAILED;
    return FITS;
}

/* ---- operands ---- */

static void set_op(decoding *d, uint32_t op, bool wide) {
    if (wide)
        d->in.wide |= (uint8_t)(1u << d->next_op);
    d->in.op[d->next_op++] = op;
}

/* The width a letter stands for; for x and y, that of the register at hand if it is wide enough. */
static bool width_fits(const decoding *d, char letter, unsigned bytes) {
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

static const char *letter_wants(char letter) {
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
        return "expected an address in brackets";
    case 'i':
        return "expected an integer constant";
    case 'b':
        return "expected a label";
    default:
        return "expected a register wide enough for the type";
    }
}

/* `_`, which throws a result away. */
static fit take_sink(decoding *d, char letter) {
    bool wide = letter == 'L' || (letter == 'X' && ptx_type_bytes(d->parts.type) == 8);
    uint32_t *sink = wide ? &d->p->sink64 : &d->p->sink32;
    uint32_t slot = 0;
    if (*sink == 0) {
        if (!new_slot(d->p, wide ? 8 : 4, &slot))
            return FAILED;
        *sink = slot + 1;
    }
    set_op(d, *sink - 1, wide);
    return FITS;
}

static fit take_destination(decoding *d, char letter, const ptx_token *name, ptx_operand_kind kind) {
    if (kind != PTX_OPERAND_NAME)
        return misfit(d, name, letter_wants(letter));
    if (ptx_token_is(name, "_"))
        return take_sink(d, letter);
    uint32_t number, op;
    ptx_registers *r = find_register(d->p, name, &number);
    if (!r)
        return unknown_name(d, name);
    if (r->type == PTX_TYPE_PRED || !width_fits(d, letter, ptx_type_bytes(r->type)))
        return misfit(d, name, letter_wants(letter));
    if (!register_slot(d->p, r, number, &op))
        return FAILED;
    set_op(d, op, ptx_type_bytes(r->type) == 8);
    return FITS;
}

/* The bits of a literal for a source of `bytes`; false if a literal of that kind makes no sense there. */
static bool literal_bits(const decoding *d, ptx_operand_kind kind, uint64_t value, unsigned bytes,
                         uint64_t *bits) {
    bool is_float = ptx_type_class(d->parts.type) == PTX_CLASS_F;
    double wide;
    float narrow;
    *bits = value;
    if (kind == PTX_OPERAND_INTEGER)
        return !is_float || d->parts.type2;
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

static fit take_constant(decoding *d, ptx_constant_kind kind, uint64_t value, unsigned bytes) {
    uint32_t op;
    if (!constant_slot(d->p, kind, value, bytes, &op))
        return FAILED;
    set_op(d, op, bytes == 8);
    return FITS;
}

static fit take_named_source(decoding *d, char letter, const ptx_token *name, unsigned constant_bytes) {
    uint32_t number, op;
    uint64_t which;
    ptx_registers *r = find_register(d->p, name, &number);
    if (r) {
        if (r->type == PTX_TYPE_PRED || !width_fits(d, letter, ptx_type_bytes(r->type)))
            return misfit(d, name, letter_wants(letter));
        if (!register_slot(d->p, r, number, &op))
            return FAILED;
        set_op(d, op, ptx_type_bytes(r->type) == 8);
        return FITS;
    }
    if (find_special(name, &which)) {
        if (!width_fits(d, letter, 4))
            return misfit(d, name, letter_wants(letter));
        return take_constant(d, PTX_CONSTANT_SPECIAL, which, 4);
    }
    if (ptx_token_is(name, "WARP_SZ"))
        return take_constant(d, PTX_CONSTANT_VALUE, PTX_LANES, constant_bytes);
    ptx_symbol *symbol = find_symbol(d->p, name);
    if (!symbol)
        return unknown_name(d, name);
    fit fits = use_symbol(d, symbol, name);
    if (fits != FITS)
        return fits;
    /* Of a shared variable or of a parameter: addresses in their own spaces, not generic ones. */
    return take_constant(d, symbol->dynamic ? PTX_CONSTANT_DYNAMIC_SHARED : PTX_CONSTANT_VALUE,
                         symbol->offset, constant_bytes);
}

static fit take_source(decoding *d, char letter, const ptx_token *token, ptx_operand_kind kind,
                       uint64_t value) {
    unsigned bytes = letter == 'l' ? 8 : 4;
    if (letter == 'x' && ptx_type_bytes(d->parts.type) == 8)
        bytes = 8;
    if (kind == PTX_OPERAND_NAME)
        return take_named_source(d, letter, token, bytes);
    uint64_t bits;
    if (kind == PTX_OPERAND_ADDRESS || kind == PTX_OPERAND_VECTOR)
        return misfit(d, token, letter_wants(letter));
    if (!literal_bits(d, kind, value, bytes, &bits))
        return misfit(d, token, "this kind of constant does not go with the type");
    return take_constant(d, PTX_CONSTANT_VALUE, bits, bytes);
}

static fit take_predicate(decoding *d, const ptx_token *name, ptx_operand_kind kind, uint64_t value,
                          bool written) {
    if (kind == PTX_OPERAND_INTEGER && !written) {
        set_op(d, value ? PTX_PRED_TRUE : PTX_PRED_FALSE, false);
        return FITS;
    }
    if (kind != PTX_OPERAND_NAME)
        return misfit(d, name, letter_wants('p'));
    if (written && ptx_token_is(name, "_")) {
        set_op(d, PTX_PRED_SINK, false);
        return FITS;
    }
    uint32_t number, op;
    ptx_registers *r = find_register(d->p, name, &number);
    if (!r)
        return unknown_name(d, name);
    if (r->type != PTX_TYPE_PRED)
        return misfit(d, name, letter_wants('p'));
    if (!register_slot(d->p, r, number, &op))
        return FAILED;
    set_op(d, op, false);
    return FITS;
}

static fit take_second_predicate(decoding *d, const ptx_operand *operand) {
    if (operand->has_second)
        return take_predicate(d, &operand->second, PTX_OPERAND_NAME, 0, true);
    set_op(d, PTX_PRED_SINK, false);
    return FITS;
}

/* An address that is the same in every lane: a variable or a number. */
static fit take_uniform_address(decoding *d, const ptx_operand *operand) {
    ptx_symbol *symbol = NULL;
    if (!operand->absolute) {
        symbol = find_symbol(d->p, &operand->token);
        if (!symbol)
            return unknown_name(d, &operand->token);
        fit fits = use_symbol(d, symbol, &operand->token);
        if (fits != FITS)
            return fits;
        if (symbol->space != d->parts.space)
            return misfit(d, &operand->token,
                          "the variable is in another state space than the instruction's");
    } else if (d->parts.space == PTX_SPACE_PARAM) {
        return misfit(d, &operand->token, "expected the name of a parameter");
    }
    bool dynamic = symbol && symbol->dynamic;
    uint64_t value = operand->value + (symbol ? symbol->offset : 0);
    d->in.address = PTX_ADDRESS_UNIFORM;
    return constant_slot(d->p, dynamic ? PTX_CONSTANT_DYNAMIC_SHARED : PTX_CONSTANT_VALUE, value, 8,
                         &d->in.op[PTX_ADDRESS_OPERAND])
               ? FITS
               : FAILED;
}

static fit take_address(decoding *d, const ptx_operand *operand) {
    if (operand->kind != PTX_OPERAND_ADDRESS)
        return misfit(d, &operand->token, letter_wants('m'));
    uint32_t number;
    ptx_registers *r = operand->absolute ? NULL : find_register(d->p, &operand->token, &number);
    if (!r)
        return take_uniform_address(d, operand);
    unsigned bytes = ptx_type_bytes(r->type);
    if (bytes != 8 && !(bytes == 4 && d->parts.space == PTX_SPACE_SHARED))
        return misfit(d, &operand->token, "expected a 64-bit register as the address");
    d->in.address = bytes == 8 ? PTX_ADDRESS_64 : PTX_ADDRESS_32;
    d->in.imm = (int64_t)operand->value;
    return register_slot(d->p, r, number, &d->in.op[PTX_ADDRESS_OPERAND]) ? FITS : FAILED;
}

static fit take_label(decoding *d, const ptx_operand *operand) {
    ptx_parser *p = d->p;
    if (operand->kind != PTX_OPERAND_NAME)
        return misfit(d, &operand->token, letter_wants('b'));
    if (!ptx_reserve(&p->fixups, &p->fixup_capacity, p->fixup_count, sizeof *p->fixups)) {
        ptx_out_of_memory(p);
        return FAILED;
    }
    p->fixups[p->fixup_count++] =
        (ptx_fixup){.label = operand->token, .scope = p->scope, .pc = (uint32_t)p->kernel->count};
    return FITS;
}

static fit take_scalar(decoding *d, char letter, const ptx_token *token, ptx_operand_kind kind,
                       uint64_t value) {
    bool written = letter >= 'A' && letter <= 'Z';
    return written ? take_destination(d, letter, token, kind) : take_source(d, letter, token, kind, value);
}

/* The vector of a .v2/.v4 access: the same letter for each element. */
static fit take_elements(decoding *d, char letter, const ptx_operand *operand) {
    if (operand->kind != PTX_OPERAND_VECTOR || operand->element_count != d->parts.vector)
        return misfit(d, &operand->token, "expected a vector of as many elements as the instruction says");
    for (unsigned i = 0; i < operand->element_count; i++) {
        const ptx_element *e = &operand->elements[i];
        fit fits = take_scalar(d, letter, &e->token, e->kind, e->value);
        if (fits != FITS)
            return fits;
    }
    return FITS;
}

static fit take_operand(decoding *d, char letter, const ptx_operand *operand, bool vector) {
    if (operand->negated && letter != 'n' && letter != '~')
        return misfit(d, &operand->token, "'!' is not allowed here");
    if (operand->has_second && letter != 'Q' && letter != 'S')
        return misfit(d, &operand->second, "only one result is allowed here");
    fit fits;
    switch (letter) {
    case 'P':
    case 'Q':
        fits = take_predicate(d, &operand->token, operand->kind, operand->value, true);
        return fits == FITS && letter == 'Q' ? take_second_predicate(d, operand) : fits;
    case 'p':
        return take_predicate(d, &operand->token, operand->kind, operand->value, false);
    case 'n':
    case '~':
        d->in.flip = operand->negated;
        return take_predicate(d, &operand->token, operand->kind, operand->value, false);
    case 'S':
        fits = take_destination(d, 'W', &operand->token, operand->kind);
        return fits == FITS ? take_second_predicate(d, operand) : fits;
    case 'm':
        return take_address(d, operand);
    case 'b':
        return take_label(d, operand);
    case 'i':
        d->in.imm = (int64_t)operand->value;
        return operand->kind == PTX_OPERAND_INTEGER ? FITS : misfit(d, &operand->token, letter_wants('i'));
    case 'k':
        letter = 'w';
        break;
    default:
        break;
    }
    return vector ? take_elements(d, letter, operand)
                  : take_scalar(d, letter, &operand->token, operand->kind, operand->value);
}

/* An operand that was left out. */
static fit take_absent(decoding *d, char letter) {
    if (letter == 'k')
        return take_constant(d, PTX_CONSTANT_VALUE, 0, 4);
    if (letter == '~' && d->parts.combine == PTX_COMBINE_NONE) {
        set_op(d, PTX_PRED_TRUE, false);
        return FITS;
    }
    return misfit(d, &d->statement->opcode, "an operand is missing");
}

/* `{ww}` of a signature against a vector operand; returns the character after the brace in *letters. */
static fit take_braces(decoding *d, const char **letters) {
    const ptx_operand *operand = &d->statement->operands[d->next_operand++];
    size_t wanted = strcspn(*letters, "}");
    if (operand->kind != PTX_OPERAND_VECTOR || operand->element_count != wanted)
        return misfit(d, &operand->token, "expected a vector or another kind of operand");
    for (size_t i = 0; i < wanted; i++) {
        const ptx_element *e = &operand->elements[i];
        fit fits = take_scalar(d, (*letters)[i], &e->token, e->kind, e->value);
        if (fits != FITS)
            return fits;
    }
    *letters += wanted + 1;
    return FITS;
}

static fit decode_as(decoding *d, const ptx_opcode *opcode) {
    const ptx_statement *s = d->statement;
    bool memory = strchr(opcode->signature, 'm') != NULL;
    for (const char *letter = opcode->signature; *letter;) {
        fit fits;
        bool present = d->next_operand < s->operand_count;
        if (!present || (*letter == '~' && d->parts.combine == PTX_COMBINE_NONE)) {
            fits = take_absent(d, *letter++);
        } else if (*letter == '{') {
            letter++;
            fits = take_braces(d, &letter);
        } else {
            bool vector = memory && *letter != 'm' && d->parts.vector > 1;
            fits = take_operand(d, *letter++, &s->operands[d->next_operand++], vector);
        }
        if (fits != FITS)
            return fits;
    }
    if (d->next_operand < s->operand_count)
        return misfit(d, &s->operands[d->next_operand].token, "one operand too many");
    return FITS;
}

static bool decode_guard(decoding *d) {
    d->in.guard = PTX_PRED_TRUE;
    if (!d->statement->guarded)
        return true;
    uint32_t number;
    const ptx_token *name = &d->statement->guard;
    ptx_registers *r = find_register(d->p, name, &number);
    if (!r || r->type != PTX_TYPE_PRED)
        return ptx_syntax(d->p, name, "'%.*s' is not a declared predicate", (int)name->length, name->start);
    d->in.guard_flip = d->statement->guard_negated ? PTX_ALL_LANES : 0;
    return register_slot(d->p, r, number, &d->in.guard);
}

static bool append(ptx_parser *p, const ptx_instr *in, const ptx_token *at) {
    ptx_kernel *kernel = p->kernel;
    if (!ptx_reserve(&kernel->code, &kernel->code_capacity, kernel->count, sizeof *kernel->code) ||
        !ptx_reserve(&kernel->source, &kernel->source_capacity, kernel->count, sizeof *kernel->source))
        return ptx_out_of_memory(p);
    kernel->source[kernel->count] = (ptx_source){.line = at->line,
                                                 .column = at->column,
                                                 .text_offset = (uint32_t)(at->line_start - p->module->text),
                                                 .location = p->location};
    kernel->code[kernel->count++] = *in;
    return true;
}

static bool touches_global_atomically(const ptx_token *opcode, const ptx_opcode_parts *parts) {
    bool atomic = strncmp(opcode->start, "atom.", 5) == 0 || strncmp(opcode->start, "red.", 4) == 0;
    return atomic && parts->space != PTX_SPACE_SHARED;
}

bool ptx_decode(ptx_parser *p, const ptx_statement *statement) {
    const ptx_token *name = &statement->opcode;
    decoding first = {.p = p, .statement = statement, .parts = ptx_opcode_split(name->start, name->length)};
    first.in.vector = (uint8_t)first.parts.vector;
    first.in.space = (uint8_t)first.parts.space;
    first.in.combine = (uint8_t)first.parts.combine;
    first.in.rounding = (uint8_t)first.parts.rounding;
    first.in.effect = (uint8_t)first.parts.effect;
    first.in.type = first.parts.type;
    first.in.type2 = first.parts.type2;
    first.in.ftz = first.parts.ftz;
    first.in.sat = first.parts.sat;
    if (!decode_guard(&first))
        return false;
    decoding closest = first;
    const ptx_opcode *row = NULL;
    bool any = false;
    while ((row = ptx_opcode_find(&p->opcodes, name->start, name->length, row))) {
        decoding d = first;
        fit fits = decode_as(&d, row);
        if (fits == FAILED)
            return false;
        if (fits == FITS) {
            d.in.run = row->run;
            d.in.kind = (uint8_t)row->kind;
            d.in.collective = row->collective;
            p->kernel->global_atomics =
                p->kernel->global_atomics || touches_global_atomically(name, &d.parts);
            return append(p, &d.in, name);
        }
        if (!any || d.next_operand > closest.next_operand)
            closest = d;
        any = true;
    }
    if (any)
        return ptx_syntax(p, &closest.misfit, "%s, as an operand of '%.*s'", closest.reason,
                          (int)name->length, name->start);
    return ptx_unsupported(p, name, "the instruction '%.*s' is not supported", (int)name->length,
                           name->start);
}
