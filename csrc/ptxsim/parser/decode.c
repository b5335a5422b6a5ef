/* Instruction selection: finds the row of opcodes.def that matches an opcode and its operands. */
#include "parser/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "parser/cursor.h"
#include "parser/operand.h"
#include "reserve.h"

static ptx_fit decode_as(ptx_decoding *d, const ptx_opcode_row *opcode) {
    const ptx_parser *p = d->p;
    bool memory = strchr(opcode->signature, 'm') != NULL;
    for (const char *letter = opcode->signature; *letter;) {
        ptx_fit fits;
        d->may_sink = *letter == '_';
        letter += d->may_sink;
        bool present = d->next_operand < p->operand_count;
        if (!present || ptx_omits(d, *letter)) {
            fits = ptx_match_absent(d, *letter++);
        } else if (*letter == '{') {
            letter++;
            fits = ptx_match_braces(d, &letter);
        } else {
            bool vector = memory && *letter != 'm' && d->parts.vector > 1;
            fits = ptx_match_operand(d, *letter++, &p->operands[d->next_operand++], vector);
        }
        if (fits != PTX_FITS)
            return fits;
    }
    if (d->next_operand < p->operand_count)
        return ptx_misfit(d, &p->operands[d->next_operand].token, "one operand too many");
    return PTX_FITS;
}

/* Reserves the maximal number of slots of any row: two per operand or vector element, one per omitted
   operand. */
static bool reserve_slots(ptx_parser *p) {
    enum { LETTERS = 16 };
    size_t wanted = 2 * (p->operand_count + p->element_count) + LETTERS;
    if (wanted <= p->slot_capacity)
        return true;
    ptx_slot *grown = realloc(p->slots, 2 * wanted * sizeof *grown);
    if (!grown)
        return ptx_out_of_memory(p);
    p->slots = grown;
    p->slot_capacity = 2 * wanted;
    return true;
}

/* Allocates words from the kernel's arena; they never move. */
static uint32_t *new_words(ptx_kernel *kernel, size_t count) {
    enum { MIN_WORDS = 1024 };
    ptx_operands *last = kernel->operands;
    if (!last || last->capacity - last->count < count) {
        size_t capacity = count > MIN_WORDS ? count : MIN_WORDS;
        last = malloc(sizeof *last + capacity * sizeof last->words[0]);
        if (!last)
            return NULL;
        *last = (ptx_operands){.next = kernel->operands, .capacity = capacity};
        kernel->operands = last;
    }
    uint32_t *words = &last->words[last->count];
    last->count += count;
    return words;
}

static bool append(ptx_parser *p, ptx_instr *in, const ptx_token *at) {
    ptx_kernel *kernel = p->kernel;
    const uint32_t count = in->operand_count, trait_words = (count + 7) / 8;
    if (!ptx_reserve(&kernel->code, &kernel->code_capacity, kernel->count, sizeof *kernel->code) ||
        !ptx_reserve(&kernel->source, &kernel->source_capacity, kernel->count, sizeof *kernel->source) ||
        !(in->op = new_words(kernel, count + trait_words)))
        return ptx_out_of_memory(p);
    memset(in->op + count, 0, trait_words * sizeof *in->op);
    for (uint32_t k = 0; k < count; k++) {
        in->op[k] = p->slots[k].op;
        const uint32_t traits = (uint32_t)p->slots[k].role << 1 | p->slots[k].wide;
        in->op[count + k / 8] |= traits << k % 8 * PTX_TRAIT_BITS;
    }
    kernel->source[kernel->count] = (ptx_source){.line = at->line,
                                                 .column = at->column,
                                                 .text_offset = (uint32_t)(at->line_start - p->module->text),
                                                 .location = p->location};
    kernel->code[kernel->count++] = *in;
    return true;
}

/* State spaces that only this thread, block or cluster can write. */
static bool is_private(const ptx_opcode_parts *parts) {
    return parts->space != PTX_SPACE_GENERIC && parts->space != PTX_SPACE_GLOBAL;
}

static void record_global_access(ptx_kernel *kernel, ptx_instr *in, const ptx_token *opcode,
                                 const ptx_opcode_parts *parts) {
    bool atomic = strncmp(opcode->start, "atom.", 5) == 0 || strncmp(opcode->start, "red.", 4) == 0;
    bool load = strncmp(opcode->start, "ld.", 3) == 0, store = strncmp(opcode->start, "st.", 3) == 0;
    if (is_private(parts) || !(atomic || ((load || store) && parts->strong)))
        return;
    in->needs_ticket = true;
    kernel->global_atomics = kernel->global_atomics || atomic;
    kernel->strong_global_loads = kernel->strong_global_loads || load;
}

/* What malloc returns, and the order of launches by kernels, depend on the calls before them. */
static void record_heap(ptx_kernel *kernel, ptx_instr *in, ptx_opcode opcode) {
    if (opcode < PTX_OP_heap_malloc || opcode > PTX_OP_launch_copy)
        return;
    in->needs_ticket = true;
    kernel->uses_heap = kernel->global_atomics = true;
}

bool ptx_decode(ptx_parser *p, const ptx_statement *statement) {
    const ptx_token *name = &statement->opcode;
    const ptx_opcode_cached *known = ptx_opcode_lookup(&p->opcodes, name->start, name->length);
    ptx_decoding first = {.p = p, .statement = statement, .parts = known->parts};
    first.in.vector = (uint8_t)first.parts.vector;
    first.in.space = (uint8_t)first.parts.space;
    first.in.combine = (uint8_t)first.parts.combine;
    first.in.compare = (uint8_t)first.parts.compare;
    first.in.rounding = (uint8_t)first.parts.rounding;
    first.in.shape = (uint8_t)first.parts.shape;
    first.in.first_is_column_major = first.parts.column_major;
    first.in.effect = (uint8_t)first.parts.effect;
    first.in.type = first.parts.type;
    first.in.type2 = first.parts.type2;
    first.in.ftz = first.parts.ftz;
    first.in.sat = first.parts.sat;
    first.in.relu = first.parts.relu;
    first.in.aligned = first.parts.aligned;
    first.in.strong = first.parts.strong && first.parts.space != PTX_SPACE_SHARED;
    if (!reserve_slots(p) || !ptx_match_guard(&first))
        return false;
    ptx_decoding best = first;
    bool any = false;
    for (const ptx_opcode_row *row = known->row; row;
         row = ptx_opcode_find(&p->opcodes, name->start, name->length, row)) {
        ptx_decoding d = first;
        ptx_fit fits = decode_as(&d, row);
        if (fits == PTX_FAILED)
            return false;
        if (fits == PTX_FITS) {
            const ptx_opcode_traits traits = ptx_opcode_traits_of(row->opcode);
            d.in.opcode = (uint16_t)row->opcode;
            d.in.kind = (uint8_t)traits.kind;
            d.in.collective = traits.collective;
            p->kernel->generic_params |= row->opcode == PTX_OP_cvta_param;
            p->kernel->uses_wgmma |= row->opcode == PTX_OP_wgmma_fence;
            record_global_access(p->kernel, &d.in, name, &d.parts);
            record_heap(p->kernel, &d.in, row->opcode);
            d.in.plain = d.in.kind == PTX_RUN && !d.in.needs_ticket && d.in.guard == PTX_PRED_TRUE;
            return append(p, &d.in, name);
        }
        if (!any || d.next_operand > best.next_operand)
            best = d;
        any = true;
    }
    if (any)
        return ptx_syntax(p, &best.misfit, "%s, as an operand of '%.*s'", best.reason, (int)name->length,
                          name->start);
    return ptx_unknown_opcode(p, name);
}
