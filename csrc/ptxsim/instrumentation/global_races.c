/* The race detector of global memory: checks each access against the shadow word of its address. The launch
   has one host thread, so that the state of all blocks is one. */
#include "instrumentation/global_races.h"

#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "instrumentation/block_order.h"
#include "interpreter/lanes.h"

enum { PAGE_BYTES = 4096 };

/* How an instruction orders blocks. */
enum { TRAIT_FENCE = 1, TRAIT_RELEASE = 2 };

/* An access of a thread; clock 0: none. */
typedef struct epoch {
    uint32_t block, clock, pc;
    uint16_t thread;
    bool strong;
} epoch;

typedef struct global_word {
    epoch write, read[2];
} global_word;

typedef struct shadow_page {
    uint64_t number; /* address / PAGE_BYTES */
    global_word *words;
} shadow_page;

typedef struct ptx_global_state {
    const ptx_run *run;
    uint8_t *traits; /* one per instruction */
    unsigned unit;   /* bytes per shadow word */
    ptx_block_order *order;
    shadow_page *pages; /* a hash table with open addressing */
    size_t page_count, page_capacity;
    bool failed; /* out of memory: nothing more is checked */
} ptx_global_state;

/* The access of one lane. */
typedef struct lane_access {
    ptx_global_races *races;
    const ptx_warp *warp;
    const ptx_instr *in;
    const ptx_access *access;
    uint64_t cluster;
    epoch now;
    unsigned lane;
} lane_access;

static const ptx_hooks hooks;

/* ---- blocks and clusters ---- */

/* Number of the cluster of a block, along the axes of the grid. */
static uint64_t cluster_of(const ptx_run *run, uint64_t block) {
    if (run->cluster_blocks == 1)
        return block;
    const uint32_t *grid = run->config->grid, *size = run->cluster, *count = run->clusters;
    const uint64_t x = block % grid[0], y = block / grid[0] % grid[1], z = block / grid[0] / grid[1];
    return x / size[0] + count[0] * (y / size[1] + (uint64_t)count[1] * (z / size[2]));
}

static bool ordered(const lane_access *t, const epoch *before) {
    const ptx_global_state *s = t->races->state;
    return !before->clock || (before->strong && t->now.strong) ||
           ptx_block_order_precedes(s->order, cluster_of(s->run, before->block), before->clock, t->cluster);
}

/* ---- shadow memory ---- */

static size_t slot_of(const ptx_global_state *s, uint64_t number) {
    size_t at = (size_t)(number * 0x9e3779b97f4a7c15u >> 20) & (s->page_capacity - 1);
    while (s->pages[at].words && s->pages[at].number != number)
        at = (at + 1) & (s->page_capacity - 1);
    return at;
}

static bool grow(ptx_global_state *s) {
    const size_t before = s->page_capacity;
    shadow_page *old = s->pages;
    shadow_page *grown = calloc(before ? 2 * before : 256, sizeof *grown);
    if (!grown)
        return false;
    s->pages = grown;
    s->page_capacity = before ? 2 * before : 256;
    for (size_t i = 0; i < before; i++)
        if (old[i].words)
            grown[slot_of(s, old[i].number)] = old[i];
    free(old);
    return true;
}

/* The shadow of a page; NULL if memory ran out. */
static global_word *page_of(ptx_global_state *s, uint64_t address) {
    const uint64_t number = address / PAGE_BYTES;
    if (2 * s->page_count >= s->page_capacity && !grow(s))
        return NULL;
    shadow_page *page = &s->pages[slot_of(s, number)];
    if (!page->words) {
        page->words = calloc(PAGE_BYTES / s->unit, sizeof *page->words);
        page->number = number;
        s->page_count += page->words != NULL;
    }
    return page->words;
}

/* ---- reports ---- */

static void report(const lane_access *t, ptx_hazard hazard, const epoch *before, uint64_t address) {
    const ptx_allocation *allocation = ptx_view_find(&t->races->state->run->view, address);
    const ptx_race race = {.hazard = hazard,
                           .global = true,
                           .first_pc = before->pc,
                           .second_pc = t->now.pc,
                           .first_thread = before->thread,
                           .second_thread = t->now.thread,
                           .first_block = before->block,
                           .second_block = t->now.block,
                           .block = t->now.block,
                           .address = allocation ? address - allocation->address : address,
                           .count = 1};
    ptx_race_table_add(t->races->table, &race);
}

/* Whether a store writes the value that memory has. */
static bool changes_nothing(const lane_access *t, uint64_t address) {
    if (t->in->effect != PTX_EFFECT_STORE)
        return false;
    const ptx_allocation *allocation = ptx_view_find(&t->races->state->run->view, address);
    const unsigned unit = t->races->state->unit, bytes = ptx_type_bytes(t->in->type);
    if (!allocation || !bytes || address - allocation->address + unit > allocation->bytes)
        return false;
    const uint64_t offset = address - t->access->address[t->lane];
    const unsigned element = (unsigned)(offset / bytes), slot = ptx_is_wide(t->in, element) ? 8 : 4;
    const uint8_t *value = (const uint8_t *)ptx_lanes(t->warp, t->in, element) + t->lane * slot;
    return memcmp(value + offset % bytes, allocation->host + (address - allocation->address), unit) == 0;
}

/* ---- accesses ---- */

/* Keeps the reads of two blocks; a read that happens before this one need not be kept. */
static void record_read(const lane_access *t, global_word *word) {
    epoch *reads = word->read;
    unsigned at = 0;
    while (at < 2 && reads[at].clock && reads[at].block != t->now.block)
        at++;
    for (unsigned i = 0; i < 2 && at == 2; i++)
        if (ordered(t, &reads[i]))
            at = i;
    if (at < 2)
        reads[at] = t->now;
}

static void check_word(const lane_access *t, global_word *word, uint64_t address) {
    const bool load = t->access->effect == PTX_EFFECT_LOAD;
    const epoch *unordered = NULL;
    for (unsigned i = 0; i < 2 && !load; i++)
        if (!ordered(t, &word->read[i]))
            unordered = &word->read[i];
    const bool after_write = !ordered(t, &word->write);
    if ((after_write && !load) || unordered)
        if (changes_nothing(t, address))
            return;
    if (after_write)
        report(t, load ? PTX_HAZARD_WRITE_READ : PTX_HAZARD_WRITE_WRITE, &word->write, address);
    else if (unordered)
        report(t, PTX_HAZARD_READ_WRITE, unordered, address);
    if (load)
        record_read(t, word);
    else
        word->write = t->now;
}

static void check_lane(const lane_access *t) {
    ptx_global_state *s = t->races->state;
    const uint64_t begin = t->access->address[t->lane], end = begin + t->access->bytes;
    if (begin % s->unit)
        return; /* misaligned: the interpreter reports it */
    global_word *page = NULL;
    for (uint64_t at = begin; at < end && !s->failed; at += s->unit) {
        if (!page || at % PAGE_BYTES == 0)
            page = page_of(s, at);
        s->failed = !page;
        if (page)
            check_word(t, &page[at % PAGE_BYTES / s->unit], at);
    }
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    ptx_global_races *races = state;
    ptx_global_state *s = races->state;
    if (access->space != PTX_SPACE_GLOBAL || access->async_completion || s->failed)
        return;
    const uint32_t pc = (uint32_t)(in - s->run->kernel->code);
    const bool atomic = access->effect == PTX_EFFECT_ATOMIC, strong = atomic || in->strong;
    lane_access t = {.races = races,
                     .warp = warp,
                     .in = in,
                     .access = access,
                     .cluster = cluster_of(s->run, warp->block->number),
                     .now = {.block = (uint32_t)warp->block->number, .pc = pc, .strong = strong}};
    if (s->traits[pc] & TRAIT_RELEASE)
        ptx_block_order_fence(s->order, t.cluster);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        t.lane = (unsigned)__builtin_ctz(left);
        t.now.thread = (uint16_t)(warp->index * PTX_LANES + t.lane);
        const uint64_t address = access->address[t.lane];
        if (strong && access->effect != PTX_EFFECT_STORE)
            ptx_block_order_acquire(s->order, t.cluster, address);
        t.now.clock = ptx_block_order_clock(s->order, t.cluster);
        check_lane(&t);
        if (strong && access->effect != PTX_EFFECT_LOAD)
            ptx_block_order_release(s->order, t.cluster, address);
    }
}

static void on_issue(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    const ptx_global_races *races = state;
    ptx_global_state *s = races->state;
    if (mask && s->traits[in - s->run->kernel->code] & TRAIT_FENCE)
        ptx_block_order_fence(s->order, cluster_of(s->run, warp->block->number));
}

static void block_end(void *state, const ptx_block *block) {
    const ptx_global_races *races = state;
    ptx_global_state *s = races->state;
    ptx_block_order_end(s->order, cluster_of(s->run, block->number), s->run->cluster_blocks);
}

/* ---- lifetime ---- */

static bool has(const char *text, size_t length, const char *word) {
    return memmem(text, length, word, strlen(word)) != NULL;
}

/* Traits from the text of an instruction: `membar.gl`, `fence.acq_rel.gpu`, `atom.release.gpu`. */
static uint8_t traits_of(const char *text) {
    const size_t length = strcspn(text, ";\n");
    const bool membar = has(text, length, "membar.gl") || has(text, length, "membar.sys");
    const bool wide = has(text, length, ".gpu") || has(text, length, ".sys");
    const bool releases = has(text, length, ".release") || has(text, length, ".acq_rel");
    if (membar || (wide && has(text, length, "fence.") && !has(text, length, ".acquire") &&
                   !has(text, length, ".proxy")))
        return TRAIT_FENCE;
    return wide && releases && !has(text, length, "fence.") ? TRAIT_RELEASE : 0;
}

/* Size of the narrowest element that the kernel accesses in global memory, at most 4 bytes. */
static unsigned shadow_unit(const ptx_kernel *kernel) {
    unsigned unit = 4;
    for (size_t pc = 0; pc < kernel->count; pc++) {
        const ptx_instr *in = &kernel->code[pc];
        const bool global = in->space == PTX_SPACE_GLOBAL || in->space == PTX_SPACE_GENERIC;
        const unsigned bytes = ptx_type_bytes(in->type);
        if (global && in->effect != PTX_EFFECT_NONE && in->effect != PTX_EFFECT_WARP_SYNC && bytes &&
            bytes < unit)
            unit = bytes;
    }
    return unit;
}

static void release(ptx_global_state *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->page_capacity; i++)
        free(s->pages[i].words);
    free(s->pages);
    ptx_block_order_free(s->order);
    free(s->traits);
    free(s);
}

static ptx_global_state *open_launch(const ptx_run *run) {
    const ptx_kernel *kernel = run->kernel;
    ptx_global_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->run = run;
    s->unit = shadow_unit(kernel);
    s->traits = calloc(kernel->count, 1);
    s->order = ptx_block_order_create(run->cluster_count);
    if (!s->traits || !s->order) {
        release(s);
        return NULL;
    }
    for (size_t pc = 0; pc < kernel->count; pc++)
        s->traits[pc] =
            traits_of(kernel->module->text + kernel->source[pc].text_offset + kernel->source[pc].column - 1);
    return s;
}

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    ptx_global_races *races = (ptx_global_races *)self;
    if (!races->state)
        races->state = open_launch(worker->run);
    races->attached += races->state != NULL;
    return races->state ? races : NULL;
}

static void detach(ptx_observer *self, void *state) {
    ptx_global_races *races = (ptx_global_races *)self;
    (void)state;
    if (--races->attached)
        return;
    release(races->state);
    races->state = NULL;
    ptx_race_table_sort(races->table);
}

static const ptx_hooks hooks = {.one_thread = true,
                                .attach = attach,
                                .detach = detach,
                                .block_end = block_end,
                                .issue = on_issue,
                                .access = on_access};

ptx_status ptx_global_races_create(ptx_race_table *table, ptx_global_races **out, ptx_error *error) {
    ptx_global_races *races = calloc(1, sizeof *races);
    *out = races;
    if (!races)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a race check");
    races->base.hooks = &hooks;
    races->table = table;
    return PTX_OK;
}

void ptx_global_races_free(ptx_global_races *races) {
    if (races)
        release(races->state);
    free(races);
}
