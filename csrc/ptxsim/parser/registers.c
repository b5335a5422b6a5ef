/* Liveness analysis by backward data flow over basic blocks, then a linear scan over live intervals. */
#include "parser/passes.h"

#include <stdlib.h>
#include <string.h>

/* A unit is a 32-bit slot of all lanes. A register is identified by its first unit before allocation. Sets of
   registers are bit sets. */
enum { UNIT = PTX_LANES * 4, NONE = UINT32_MAX };
#define MAX_WORK ((size_t)1 << 24)

typedef struct basic_block {
    uint32_t begin, end; /* instructions [begin, end) */
    uint32_t successor[2];
} basic_block;

/* Conservative live interval of a register: from its first to its last instruction. */
typedef struct live_interval {
    uint32_t first, last;
    uint32_t next; /* next interval that starts, or ends, at the same instruction */
    uint32_t unit; /* allocated unit */
    bool wide;
} live_interval;

typedef struct allocation {
    ptx_kernel *kernel;
    uint32_t units, words, count;
    basic_block *blocks;
    uint32_t *block_of; /* per instruction that starts a block */
    uint64_t *live_in, *defined,
        *live_out; /* one bit set per block: read before written, written, live at its end */
    live_interval *intervals;
    uint32_t *boundaries; /* per instruction: the first interval that starts there, then the first that ends
                             there */
} allocation;

/* ---- basic blocks ---- */

static void find_blocks(allocation *s) {
    const ptx_instr *code = s->kernel->code;
    const uint32_t n = (uint32_t)s->kernel->count;
    memset(s->block_of, 0, n * sizeof *s->block_of);
    for (uint32_t pc = 0; pc < n; pc++) {
        if (code[pc].kind == PTX_BRANCH)
            s->block_of[code[pc].op[0]] = 1;
        if (pc == 0 || ptx_ends_block(&code[pc - 1]))
            s->block_of[pc] = 1;
    }
    for (uint32_t pc = 0; pc < n; pc++) {
        if (s->block_of[pc])
            s->blocks[s->count++].begin = pc;
        s->block_of[pc] = s->count - 1;
        s->blocks[s->count - 1].end = pc + 1;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        basic_block *at = &s->blocks[i];
        const ptx_instr *last = &code[at->end - 1];
        const bool goes_on = at->end < n && (!ptx_ends_block(last) || !ptx_is_unguarded(last));
        at->successor[0] = last->kind == PTX_BRANCH ? s->block_of[last->op[0]] : NONE;
        at->successor[1] = goes_on ? i + 1 : NONE;
    }
}

/* ---- liveness ---- */

static void add(uint64_t *set, uint32_t member) {
    set[member / 64] |= (uint64_t)1 << member % 64;
}

static bool has(const uint64_t *set, uint32_t member) {
    return set[member / 64] >> member % 64 & 1;
}

/* The register of an operand, by its first unit; NONE if it is no register. Index operand_count is the
   address. */
static uint32_t register_at(const ptx_instr *in, uint32_t k) {
    if (k == in->operand_count)
        return in->address == PTX_ADDRESS_UNIFORM ? NONE : in->base / UNIT;
    return ptx_role_of(in, k) == PTX_ROLE_OTHER ? NONE : in->op[k] / UNIT;
}

static bool writes(const ptx_instr *in, uint32_t k) {
    return k < in->operand_count && ptx_role_of(in, k) == PTX_ROLE_WRITTEN;
}

/* A guarded write keeps the old value in some lanes, so that the register remains live. */
static void scan_block(allocation *s, const basic_block *at, uint64_t *live_in, uint64_t *defined) {
    for (const ptx_instr *in = s->kernel->code + at->begin; in < s->kernel->code + at->end; in++) {
        for (unsigned writing = 0; writing < 2; writing++)
            for (uint32_t k = 0; k <= in->operand_count; k++) {
                const uint32_t r = register_at(in, k);
                if (r == NONE || writes(in, k) != writing)
                    continue;
                s->intervals[r].wide =
                    k == in->operand_count ? in->address == PTX_ADDRESS_64 : ptx_is_wide(in, k);
                if (!has(defined, r) && (!writing || !ptx_is_unguarded(in)))
                    add(live_in, r);
                if (writing)
                    add(defined, r);
            }
    }
}

/* Backward data flow until a fixed point; returns false if that takes too long. */
static bool solve_liveness(allocation *s) {
    size_t work = 0;
    for (bool changed = true; changed;) {
        changed = false;
        work += (size_t)s->count * s->words;
        if (work > MAX_WORK)
            return false;
        for (uint32_t i = s->count; i-- > 0;) {
            const size_t row = (size_t)i * s->words;
            for (unsigned k = 0; k < 2; k++) {
                const uint32_t next = s->blocks[i].successor[k];
                for (uint32_t w = 0; next != NONE && w < s->words; w++)
                    s->live_out[row + w] |= s->live_in[(size_t)next * s->words + w];
            }
            for (uint32_t w = 0; w < s->words; w++) {
                const uint64_t before = s->live_in[row + w];
                s->live_in[row + w] |= s->live_out[row + w] & ~s->defined[row + w];
                changed = changed || s->live_in[row + w] != before;
            }
        }
    }
    return true;
}

static void extend(live_interval *l, uint32_t pc) {
    l->first = pc < l->first ? pc : l->first;
    l->last = pc > l->last || l->last == NONE ? pc : l->last;
}

static void build_intervals(allocation *s) {
    for (uint32_t r = 0; r < s->units; r++)
        s->intervals[r].first = s->intervals[r].last = s->intervals[r].unit = NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        const basic_block *at = &s->blocks[i];
        const size_t row = (size_t)i * s->words;
        for (uint32_t w = 0; w < s->words; w++) {
            for (uint64_t left = s->live_in[row + w]; left; left &= left - 1)
                extend(&s->intervals[64 * w + (uint32_t)__builtin_ctzll(left)], at->begin);
            for (uint64_t left = s->live_out[row + w]; left; left &= left - 1)
                extend(&s->intervals[64 * w + (uint32_t)__builtin_ctzll(left)], at->end - 1);
        }
        for (uint32_t pc = at->begin; pc < at->end; pc++)
            for (uint32_t k = 0; k <= s->kernel->code[pc].operand_count; k++) {
                const uint32_t r = register_at(&s->kernel->code[pc], k);
                if (r != NONE)
                    extend(&s->intervals[r], pc);
            }
    }
}

/* ---- allocation ---- */

static void push_interval(allocation *s, uint32_t *first, uint32_t r) {
    s->intervals[r].next = *first;
    *first = r;
}

/* Linear scan: a slot becomes free after the last instruction of its register. Free slots of each width are
   linked through their intervals. */
static void assign_slots(allocation *s) {
    const uint32_t n = (uint32_t)s->kernel->count;
    uint32_t next_unit = 0, free_slot[2] = {NONE, NONE}, *begins = s->boundaries, *ends = s->boundaries + n;
    memset(s->boundaries, 0xff, 2 * (size_t)n * sizeof *s->boundaries);
    for (uint32_t r = 0; r < s->units; r++) {
        live_interval *l = &s->intervals[r];
        if (l->first == NONE)
            continue;
        if (!has(s->live_in, r)) {
            push_interval(s, &begins[l->first], r);
            continue;
        }
        l->unit = next_unit;
        next_unit += 1u + l->wide;
    }
    s->kernel->poisoned_bytes = next_unit * UNIT;
    for (uint32_t pc = 0; pc < n; pc++) {
        for (uint32_t r = begins[pc], next; r != NONE; r = next) {
            live_interval *l = &s->intervals[r];
            uint32_t *slot = &free_slot[l->wide];
            next = l->next;
            if (*slot == NONE) {
                l->unit = next_unit;
                next_unit += 1u + l->wide;
            } else {
                l->unit = s->intervals[*slot].unit;
                *slot = s->intervals[*slot].next;
            }
            push_interval(s, &ends[l->last], r);
        }
        for (uint32_t r = ends[pc], next; r != NONE; r = next) {
            next = s->intervals[r].next;
            push_interval(s, &free_slot[s->intervals[r].wide], r);
        }
    }
    s->kernel->register_bytes = next_unit * UNIT;
}

static void rename_operands(allocation *s) {
    for (size_t pc = 0; pc < s->kernel->count; pc++) {
        ptx_instr *in = &s->kernel->code[pc];
        for (uint32_t k = 0; k <= in->operand_count; k++) {
            const uint32_t r = register_at(in, k);
            uint32_t *op = k < in->operand_count ? &in->op[k] : &in->base;
            if (r != NONE)
                *op = s->intervals[r].unit * UNIT;
        }
    }
}

void ptx_allocate_registers(ptx_kernel *kernel) {
    const size_t n = kernel->count;
    allocation s = {.kernel = kernel, .units = kernel->register_bytes / UNIT};
    s.words = s.units / 64 + 1;
    kernel->poisoned_bytes = kernel->register_bytes;
    if (kernel->uses_wgmma) /* wgmma uses registers beyond their last instruction */
        return;
    s.blocks = calloc(n, sizeof *s.blocks);
    s.block_of = calloc(n, sizeof *s.block_of);
    s.intervals = calloc(s.units + 1, sizeof *s.intervals);
    s.boundaries = calloc(2 * n, sizeof *s.boundaries);
    bool good = s.blocks && s.block_of && s.intervals && s.boundaries;
    if (good)
        find_blocks(&s);
    const size_t row = s.words * sizeof *s.live_in, rows = s.count;
    good = good && rows * s.words <= MAX_WORK / 8;
    if (good) {
        s.live_in = calloc(rows, row);
        s.defined = calloc(rows, row);
        s.live_out = calloc(rows, row);
        good = s.live_in && s.defined && s.live_out;
    }
    for (uint32_t i = 0; i < s.count && good; i++)
        scan_block(&s, &s.blocks[i], s.live_in + (size_t)i * s.words, s.defined + (size_t)i * s.words);
    if (good && solve_liveness(&s)) {
        build_intervals(&s);
        assign_slots(&s);
        rename_operands(&s);
    }
    free(s.blocks);
    free(s.block_of);
    free(s.intervals);
    free(s.boundaries);
    free(s.live_in);
    free(s.defined);
    free(s.live_out);
}
