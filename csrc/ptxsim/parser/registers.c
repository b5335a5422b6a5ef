#include "parser/registers.h"

#include <stdlib.h>
#include <string.h>

/* A slot of 32 bits a lane is a unit, and the name of a register is its first unit before it is moved. Sets
   of registers are rows of words. */
enum { UNIT = PTX_LANES * 4, NONE = UINT32_MAX };
#define MOST_WORK ((size_t)1 << 24)

typedef struct stretch {
    uint32_t begin, end; /* instructions [begin, end) */
    uint32_t successor[2];
} stretch;

/* Where a register is alive, at most: from its first to its last instruction. */
typedef struct life {
    uint32_t first, last;
    uint32_t next; /* of those that begin, or end, at one place */
    uint32_t unit; /* that it gets */
    bool wide;
} life;

typedef struct sharing {
    ptx_kernel *kernel;
    uint32_t units, words, count;
    stretch *stretches;
    uint32_t *stretch_of;                /* of each instruction that begins one */
    uint64_t *needed, *written, *coming; /* a row for each stretch: read before written; alive at its end */
    life *lives;
    uint32_t *places; /* by instruction: the first life that begins there, then the first that ends */
} sharing;

/* ---- stretches without branches ---- */

static bool ends_stretch(const ptx_instr *in) {
    return in->kind == PTX_BRANCH || in->kind == PTX_EXIT;
}

static bool unconditional(const ptx_instr *in) {
    return in->guard == PTX_PRED_TRUE && in->guard_flip == 0;
}

static void find_stretches(sharing *s) {
    const ptx_instr *code = s->kernel->code;
    const uint32_t n = (uint32_t)s->kernel->count;
    memset(s->stretch_of, 0, n * sizeof *s->stretch_of);
    for (uint32_t pc = 0; pc < n; pc++) {
        if (code[pc].kind == PTX_BRANCH)
            s->stretch_of[code[pc].op[0]] = 1;
        if (pc == 0 || ends_stretch(&code[pc - 1]))
            s->stretch_of[pc] = 1;
    }
    for (uint32_t pc = 0; pc < n; pc++) {
        if (s->stretch_of[pc])
            s->stretches[s->count++].begin = pc;
        s->stretch_of[pc] = s->count - 1;
        s->stretches[s->count - 1].end = pc + 1;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        stretch *at = &s->stretches[i];
        const ptx_instr *last = &code[at->end - 1];
        const bool goes_on = at->end < n && (!ends_stretch(last) || !unconditional(last));
        at->successor[0] = last->kind == PTX_BRANCH ? s->stretch_of[last->op[0]] : NONE;
        at->successor[1] = goes_on ? i + 1 : NONE;
    }
}

/* ---- which registers are alive ---- */

static void add(uint64_t *set, uint32_t member) {
    set[member / 64] |= (uint64_t)1 << member % 64;
}

static bool has(const uint64_t *set, uint32_t member) {
    return set[member / 64] >> member % 64 & 1;
}

/* The register of an operand, by its first unit; NONE of others. The address comes behind the list. */
static uint32_t register_at(const ptx_instr *in, uint32_t k) {
    if (k == in->operand_count)
        return in->address == PTX_ADDRESS_UNIFORM ? NONE : in->base / UNIT;
    return ptx_role_of(in, k) == PTX_ROLE_OTHER ? NONE : in->op[k] / UNIT;
}

static bool writes(const ptx_instr *in, uint32_t k) {
    return k < in->operand_count && ptx_role_of(in, k) == PTX_ROLE_WRITTEN;
}

/* Lanes that a guard keeps away keep the old value, so that it is needed. */
static void look_through(sharing *s, const stretch *at, uint64_t *needed, uint64_t *written) {
    for (const ptx_instr *in = s->kernel->code + at->begin; in < s->kernel->code + at->end; in++) {
        for (unsigned writing = 0; writing < 2; writing++)
            for (uint32_t k = 0; k <= in->operand_count; k++) {
                const uint32_t r = register_at(in, k);
                if (r == NONE || writes(in, k) != writing)
                    continue;
                s->lives[r].wide =
                    k == in->operand_count ? in->address == PTX_ADDRESS_64 : ptx_is_wide(in, k);
                if (!has(written, r) && (!writing || !unconditional(in)))
                    add(needed, r);
                if (writing)
                    add(written, r);
            }
    }
}

/* From the last stretch to the first until nothing changes; false if that takes too long. */
static bool spread(sharing *s) {
    size_t work = 0;
    for (bool changed = true; changed;) {
        changed = false;
        work += (size_t)s->count * s->words;
        if (work > MOST_WORK)
            return false;
        for (uint32_t i = s->count; i-- > 0;) {
            const size_t row = (size_t)i * s->words;
            for (unsigned k = 0; k < 2; k++) {
                const uint32_t next = s->stretches[i].successor[k];
                for (uint32_t w = 0; next != NONE && w < s->words; w++)
                    s->coming[row + w] |= s->needed[(size_t)next * s->words + w];
            }
            for (uint32_t w = 0; w < s->words; w++) {
                const uint64_t before = s->needed[row + w];
                s->needed[row + w] |= s->coming[row + w] & ~s->written[row + w];
                changed = changed || s->needed[row + w] != before;
            }
        }
    }
    return true;
}

static void extend(life *l, uint32_t pc) {
    l->first = pc < l->first ? pc : l->first;
    l->last = pc > l->last || l->last == NONE ? pc : l->last;
}

static void find_lives(sharing *s) {
    for (uint32_t r = 0; r < s->units; r++)
        s->lives[r].first = s->lives[r].last = s->lives[r].unit = NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        const stretch *at = &s->stretches[i];
        const size_t row = (size_t)i * s->words;
        for (uint32_t w = 0; w < s->words; w++) {
            for (uint64_t left = s->needed[row + w]; left; left &= left - 1)
                extend(&s->lives[64 * w + (uint32_t)__builtin_ctzll(left)], at->begin);
            for (uint64_t left = s->coming[row + w]; left; left &= left - 1)
                extend(&s->lives[64 * w + (uint32_t)__builtin_ctzll(left)], at->end - 1);
        }
        for (uint32_t pc = at->begin; pc < at->end; pc++)
            for (uint32_t k = 0; k <= s->kernel->code[pc].operand_count; k++) {
                const uint32_t r = register_at(&s->kernel->code[pc], k);
                if (r != NONE)
                    extend(&s->lives[r], pc);
            }
    }
}

/* ---- slots ---- */

static void chain(sharing *s, uint32_t *first, uint32_t r) {
    s->lives[r].next = *first;
    *first = r;
}

/* One pass over the code: a slot is free again after the last instruction of its register. A chain of free
   ones for either width goes through their lives. */
static void hand_out(sharing *s) {
    const uint32_t n = (uint32_t)s->kernel->count;
    uint32_t next_unit = 0, free_slot[2] = {NONE, NONE}, *begins = s->places, *ends = s->places + n;
    memset(s->places, 0xff, 2 * (size_t)n * sizeof *s->places);
    for (uint32_t r = 0; r < s->units; r++) {
        life *l = &s->lives[r];
        if (l->first == NONE)
            continue;
        if (!has(s->needed, r)) {
            chain(s, &begins[l->first], r);
            continue;
        }
        l->unit = next_unit;
        next_unit += 1u + l->wide;
    }
    s->kernel->poisoned_bytes = next_unit * UNIT;
    for (uint32_t pc = 0; pc < n; pc++) {
        for (uint32_t r = begins[pc], next; r != NONE; r = next) {
            life *l = &s->lives[r];
            uint32_t *slot = &free_slot[l->wide];
            next = l->next;
            if (*slot == NONE) {
                l->unit = next_unit;
                next_unit += 1u + l->wide;
            } else {
                l->unit = s->lives[*slot].unit;
                *slot = s->lives[*slot].next;
            }
            chain(s, &ends[l->last], r);
        }
        for (uint32_t r = ends[pc], next; r != NONE; r = next) {
            next = s->lives[r].next;
            chain(s, &free_slot[s->lives[r].wide], r);
        }
    }
    s->kernel->register_bytes = next_unit * UNIT;
}

static void rename_operands(sharing *s) {
    for (size_t pc = 0; pc < s->kernel->count; pc++) {
        ptx_instr *in = &s->kernel->code[pc];
        for (uint32_t k = 0; k <= in->operand_count; k++) {
            const uint32_t r = register_at(in, k);
            uint32_t *op = k < in->operand_count ? &in->op[k] : &in->base;
            if (r != NONE)
                *op = s->lives[r].unit * UNIT;
        }
    }
}

void ptx_share_registers(ptx_kernel *kernel) {
    const size_t n = kernel->count;
    sharing s = {.kernel = kernel, .units = kernel->register_bytes / UNIT};
    s.words = s.units / 64 + 1;
    kernel->poisoned_bytes = kernel->register_bytes;
    if (kernel->products) /* they use registers beyond their last instruction */
        return;
    s.stretches = calloc(n, sizeof *s.stretches);
    s.stretch_of = calloc(n, sizeof *s.stretch_of);
    s.lives = calloc(s.units + 1, sizeof *s.lives);
    s.places = calloc(2 * n, sizeof *s.places);
    bool good = s.stretches && s.stretch_of && s.lives && s.places;
    if (good)
        find_stretches(&s);
    const size_t row = s.words * sizeof *s.needed, rows = s.count;
    good = good && rows * s.words <= MOST_WORK / 8;
    if (good) {
        s.needed = calloc(rows, row);
        s.written = calloc(rows, row);
        s.coming = calloc(rows, row);
        good = s.needed && s.written && s.coming;
    }
    for (uint32_t i = 0; i < s.count && good; i++)
        look_through(&s, &s.stretches[i], s.needed + (size_t)i * s.words, s.written + (size_t)i * s.words);
    if (good && spread(&s)) {
        find_lives(&s);
        hand_out(&s);
        rename_operands(&s);
    }
    free(s.stretches);
    free(s.stretch_of);
    free(s.lives);
    free(s.places);
    free(s.needed);
    free(s.written);
    free(s.coming);
}
