#include "racecheck.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "executor.h"
#include "race_table.h"

/* A clock that passes this is set back at the next block. */
#define LATEST (UINT32_MAX / 2)
#define NO_THREAD UINT16_MAX

/* The lanes of one warp that have read a word, of late and since the last ordering of the warp. */
typedef struct readers {
    uint32_t time, pc, lanes;
    uint32_t warp;
} readers;

/* The last write of a word. */
typedef struct writer {
    uint32_t time, pc;
    uint32_t access; /* the number of the access */
    uint16_t thread;
    uint16_t other; /* of atomics, which need no order among themselves: one more thread, or NO_THREAD */
} writer;

/* What is known of a word (or, in kernels with narrower accesses, of a smaller unit). A time of 0 is before
   all blocks. Two warps of readers are enough: of a third, one of them raced with the same writer. */
typedef struct cell {
    writer write, atomic;
    readers read[2];
} cell;

struct ptx_racecheck {
    ptx_observer base; /* first, so that a ptx_observer is one of these */
    const ptx_kernel *kernel;
    ptx_race_table table;
};

/* One block after the other, of those that share a place. Times count orderings; `knows` says up to when
 * another's accesses come before. */
typedef struct checking {
    const ptx_instr *code;
    size_t shared_bytes;
    unsigned unit; /* bytes of a cell */
    cell *cells;
    uint32_t now, access;
    uint32_t begin, block_time;        /* of this block; its last barrier of all warps */
    uint32_t warp_time[PTX_MAX_WARPS]; /* the last ordering of all lanes of a warp */
    uint32_t part_time[PTX_MAX_WARPS]; /* and of some of its lanes */
    uint32_t started[PTX_MAX_WARPS];   /* lanes that there are */
    uint32_t warp_knows[PTX_MAX_WARPS][PTX_MAX_WARPS];
    uint32_t lane_knows[PTX_MAX_WARPS][PTX_LANES][PTX_LANES];
    uint64_t block;
    ptx_race_table table;
} checking;

/* One lane's access of one cell. */
typedef struct touch {
    const ptx_instr *in;
    const ptx_access *access;
    const ptx_warp *warp;
    uint32_t pc;
    unsigned lane;
    uint64_t address;
} touch;

static uint16_t thread_of(const touch *t) {
    return (uint16_t)(t->warp->index * PTX_LANES + t->lane);
}

/* ---- order ---- */

/* Whether what another lane of the warp did at `time` comes before what `lane` does now. */
static inline bool lanes_ordered(const checking *c, unsigned warp, unsigned lane, unsigned other,
                                 uint32_t time) {
    return time < c->warp_time[warp] ||
           (time < c->part_time[warp] && time < c->lane_knows[warp][lane][other]);
}

static bool ordered(const checking *c, const touch *t, unsigned thread, uint32_t time) {
    unsigned warp = thread / PTX_LANES;
    if (time < c->block_time || thread == thread_of(t))
        return true;
    if (warp == t->warp->index)
        return lanes_ordered(c, warp, t->lane, thread % PTX_LANES, time);
    return time < c->warp_knows[t->warp->index][warp];
}

/* ---- reports ---- */

static void report(checking *c, const touch *t, ptx_hazard hazard, uint32_t first_pc, unsigned first_thread) {
    const ptx_race race = {.hazard = hazard,
                           .first_pc = first_pc,
                           .second_pc = t->pc,
                           .first_thread = first_thread,
                           .second_thread = thread_of(t),
                           .block = c->block,
                           .address = t->address,
                           .count = 1};
    ptx_race_table_add(&c->table, &race);
}

/* Where a lane's value for the cell at hand lies in its registers. */
static const uint8_t *stored_value(const touch *t, unsigned lane) {
    uint64_t offset = t->address - t->access->address[lane];
    unsigned bytes = ptx_type_bytes(t->in->type), element = (unsigned)(offset / bytes);
    unsigned slot = t->in->wide >> element & 1 ? 8 : 4;
    return (const uint8_t *)ptx_lanes(t->warp, t->in, element) + lane * slot + offset % bytes;
}

/* Lanes of one store that write the same value to one word do no harm. */
static bool same_value(const checking *c, const touch *t, const writer *by) {
    return by->access == c->access && t->access->effect == PTX_EFFECT_STORE &&
           memcmp(stored_value(t, t->lane), stored_value(t, by->thread % PTX_LANES), c->unit) == 0;
}

/* ---- cells ---- */

static void check_writer(checking *c, const touch *t, const writer *by) {
    if (by->time < c->block_time)
        return;
    unsigned thread = by->thread;
    if (ordered(c, t, thread, by->time)) {
        if (by->other == NO_THREAD || ordered(c, t, by->other, by->time))
            return;
        thread = by->other;
    }
    if (t->access->effect != PTX_EFFECT_STORE)
        report(c, t, PTX_HAZARD_WRITE_READ, by->pc, thread);
    else if (!same_value(c, t, by))
        report(c, t, PTX_HAZARD_WRITE_WRITE, by->pc, thread);
}

static void check_readers(checking *c, const touch *t, const readers *r) {
    if (r->time < c->block_time || !r->lanes)
        return;
    uint32_t lanes = r->lanes;
    if (r->warp == t->warp->index) {
        lanes &= ~(1u << t->lane);
        while (lanes && lanes_ordered(c, r->warp, t->lane, (unsigned)__builtin_ctz(lanes), r->time))
            lanes &= lanes - 1;
    } else if (r->time < c->warp_knows[t->warp->index][r->warp]) {
        return;
    }
    if (lanes)
        report(c, t, PTX_HAZARD_READ_WRITE, r->pc, r->warp * PTX_LANES + (unsigned)__builtin_ctz(lanes));
}

/* Of the lanes that have read before, those stay whose reads this one does not follow. */
static void note_read(const checking *c, const touch *t, cell *at) {
    unsigned warp = t->warp->index;
    readers *mine = &at->read[0];
    if (mine->warp != warp || !mine->lanes) {
        readers before = *mine, *second = &at->read[1];
        if (second->warp == warp)
            *mine = *second;
        else
            *mine = (readers){.warp = warp};
        if (before.lanes)
            *second = before;
    }
    if (mine->time < c->warp_time[warp])
        mine->lanes = 0;
    else if (mine->time < c->part_time[warp])
        for (uint32_t left = mine->lanes; left; left &= left - 1)
            if (lanes_ordered(c, warp, t->lane, (unsigned)__builtin_ctz(left), mine->time))
                mine->lanes &= ~(left & -left);
    mine->lanes |= 1u << t->lane;
    mine->time = c->now;
    mine->pc = t->pc;
}

static void note_write(const checking *c, const touch *t, writer *by, bool joins) {
    by->other = joins ? by->thread : NO_THREAD;
    by->thread = thread_of(t);
    by->time = c->now;
    by->pc = t->pc;
    by->access = c->access;
}

static inline void touch_cell(checking *c, const touch *t, cell *at) {
    ptx_effect effect = t->access->effect;
    if (effect != PTX_EFFECT_STORE && at->write.time < c->begin && at->atomic.time < c->begin)
        report(c, t, PTX_HAZARD_UNINITIALISED, PTX_NO_PC, thread_of(t));
    check_writer(c, t, &at->write);
    if (effect != PTX_EFFECT_ATOMIC)
        check_writer(c, t, &at->atomic);
    if (effect == PTX_EFFECT_LOAD) {
        note_read(c, t, at);
        return;
    }
    check_readers(c, t, &at->read[0]);
    check_readers(c, t, &at->read[1]);
    if (effect == PTX_EFFECT_STORE)
        note_write(c, t, &at->write, false);
    else
        note_write(c, t, &at->atomic, !ordered(c, t, at->atomic.thread, at->atomic.time));
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    checking *c = state;
    if (access->space != PTX_SPACE_SHARED)
        return;
    c->access++;
    touch t = {.in = in, .access = access, .warp = warp, .pc = (uint32_t)(in - c->code)};
    for (uint32_t left = access->mask; left; left &= left - 1) {
        t.lane = (unsigned)__builtin_ctz(left);
        uint64_t address = access->address[t.lane];
        if (address > c->shared_bytes || access->bytes > c->shared_bytes - address || address % c->unit)
            continue; /* the executor will say so */
        for (t.address = address; t.address < address + access->bytes; t.address += c->unit)
            touch_cell(c, &t, &c->cells[t.address / c->unit]);
    }
}

/* Written, but by no thread of this block. */
static void on_delivery(void *state, uint64_t address, uint64_t bytes) {
    checking *c = state;
    if (address > c->shared_bytes || bytes > c->shared_bytes - address)
        return; /* the executor will say so */
    for (uint64_t i = address / c->unit; i * c->unit < address + bytes; i++)
        if (c->cells[i].write.time < c->begin)
            c->cells[i].write = (writer){.time = c->begin};
}

/* ---- orderings ---- */

/* Everybody in `mask` learns what any of them knows, and what they all did until now. `count` rows of `width`
   entries each. */
static void share(uint32_t (*knows)[PTX_LANES], uint32_t mask, uint32_t now) {
    uint32_t row[PTX_LANES] = {0};
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t *of_one = knows[__builtin_ctz(left)];
        for (unsigned i = 0; i < PTX_LANES; i++)
            row[i] = of_one[i] > row[i] ? of_one[i] : row[i];
    }
    for (uint32_t left = mask; left; left &= left - 1)
        row[__builtin_ctz(left)] = now;
    for (uint32_t left = mask; left; left &= left - 1)
        memcpy(knows[__builtin_ctz(left)], row, sizeof row);
}

static void on_warp_sync(void *state, const ptx_warp *warp, uint32_t members) {
    checking *c = state;
    unsigned w = warp->index;
    c->now++;
    if ((members & c->started[w]) == c->started[w]) {
        c->warp_time[w] = c->now;
    } else {
        c->part_time[w] = c->now;
        share(c->lane_knows[w], members, c->now);
    }
}

/* Warps that wait at different instructions: the condition around a barrier was not the same for all. */
static void check_barrier(checking *c, const ptx_block *block, uint32_t mask) {
    unsigned first = (unsigned)__builtin_ctz(mask);
    for (uint32_t left = mask; left; left &= left - 1) {
        const ptx_warp *one = &block->warps[first], *other = &block->warps[__builtin_ctz(left)];
        if (one->pc == other->pc)
            continue;
        const ptx_race race = {.hazard = PTX_HAZARD_BARRIER,
                               .first_pc = one->pc - 1,
                               .second_pc = other->pc - 1,
                               .first_thread = first * PTX_LANES,
                               .second_thread = other->index * PTX_LANES,
                               .block = c->block,
                               .count = 1};
        ptx_race_table_add(&c->table, &race);
    }
}

static void on_barrier(void *state, const ptx_block *block, uint32_t mask) {
    checking *c = state;
    c->now++;
    check_barrier(c, block, mask);
    unsigned warps = 0;
    for (uint32_t left = mask; left; left &= left - 1, warps++)
        c->warp_time[__builtin_ctz(left)] = c->now;
    if (warps == block->live_warps)
        c->block_time = c->now;
    else
        share(c->warp_knows, mask, c->now);
}

/* What any thread did before it arrived comes before what any does after it waited. */
static void on_cluster_barrier(void *state, const ptx_block *block) {
    checking *c = state;
    c->block_time = ++c->now;
    for (unsigned i = 0; i < block->worker->warp_count; i++)
        c->warp_time[i] = c->now;
}

/* Where the lanes of `missing` would have gone on. */
static uint32_t place_of(const ptx_warp *warp, uint32_t missing) {
    for (uint32_t i = warp->depth; i-- > 0;)
        if (warp->stack[i].mask & missing)
            return warp->stack[i].pc;
    return PTX_NO_PC;
}

static void on_fault(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    checking *c = state;
    if (status != PTX_ERR_BARRIER || !warp->active) /* a warp that has ended may have left a copy behind */
        return;
    uint32_t missing = warp->live & ~warp->active, first = warp->index * PTX_LANES;
    ptx_race race = {.hazard = PTX_HAZARD_BARRIER,
                     .first_pc = (uint32_t)(in - c->code),
                     .second_pc = PTX_NO_PC,
                     .first_thread = first + (unsigned)__builtin_ctz(warp->active),
                     .second_thread = first,
                     .block = c->block,
                     .count = 1};
    const ptx_block *block = warp->block;
    if (missing) {
        race.second_pc = place_of(warp, missing);
        race.second_thread = first + (unsigned)__builtin_ctz(missing);
    }
    for (unsigned i = 0; i < warp->worker->warp_count && !missing; i++) {
        const ptx_warp *other = &block->warps[i];
        if (other->state != PTX_WARP_WAITING || (other->pc == warp->pc && other->barrier == warp->barrier))
            continue;
        race.second_pc = other->pc - 1;
        race.second_thread = other->index * PTX_LANES;
        break;
    }
    ptx_race_table_add(&c->table, &race);
}

/* ---- life ---- */

/* The narrowest element that the kernel accesses in shared memory, at most a word. */
static unsigned unit_of(const ptx_kernel *kernel) {
    unsigned unit = 4;
    for (size_t pc = 0; pc < kernel->count; pc++) {
        const ptx_instr *in = &kernel->code[pc];
        bool access = in->effect == PTX_EFFECT_LOAD || in->effect == PTX_EFFECT_STORE ||
                      in->effect == PTX_EFFECT_ATOMIC;
        bool shared = in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_GENERIC;
        if (access && shared && ptx_type_bytes(in->type) < unit)
            unit = ptx_type_bytes(in->type);
    }
    return unit;
}

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    (void)self;
    checking *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->code = worker->kernel->code;
    c->shared_bytes = worker->run->shared_bytes;
    c->unit = unit_of(worker->kernel);
    c->cells = calloc(c->shared_bytes / c->unit + 1, sizeof *c->cells);
    if (!c->cells) {
        free(c);
        return NULL;
    }
    return c;
}

static void detach(ptx_observer *self, void *state) {
    ptx_racecheck *racecheck = (ptx_racecheck *)self;
    checking *c = state;
    for (size_t i = 0; i < c->table.count; i++)
        ptx_race_table_add(&racecheck->table, &c->table.races[i]);
    racecheck->table.dropped += c->table.dropped;
    ptx_race_table_sort(&racecheck->table);
    free(c->cells);
    free(c);
}

static void block_begin(void *state, const ptx_block *block) {
    checking *c = state;
    if (c->now > LATEST) {
        c->now = 0;
        memset(c->cells, 0, (c->shared_bytes / c->unit + 1) * sizeof *c->cells);
        memset(c->warp_knows, 0, sizeof c->warp_knows);
        memset(c->lane_knows, 0, sizeof c->lane_knows);
        memset(c->part_time, 0, sizeof c->part_time);
    }
    c->begin = ++c->now; /* the time of deliveries, before all that this block does */
    c->block_time = ++c->now;
    const ptx_worker *worker = block->worker;
    for (unsigned i = 0; i < worker->warp_count; i++) {
        c->warp_time[i] = c->now;
        c->started[i] = block->warps[i].live;
    }
    const uint32_t *grid = worker->run->config->grid, *index = block->index;
    c->block = index[0] + grid[0] * (index[1] + (uint64_t)grid[1] * index[2]);
}

static const ptx_hooks hooks = {.attach = attach,
                                .detach = detach,
                                .block_begin = block_begin,
                                .access = on_access,
                                .warp_sync = on_warp_sync,
                                .barrier = on_barrier,
                                .cluster_barrier = on_cluster_barrier,
                                .delivery = on_delivery,
                                .fault = on_fault};

ptx_status ptx_racecheck_create(const ptx_kernel *kernel, ptx_racecheck **out, ptx_error *error) {
    ptx_racecheck *racecheck = calloc(1, sizeof *racecheck);
    *out = racecheck;
    if (!racecheck)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a race check");
    racecheck->base.hooks = &hooks;
    racecheck->kernel = kernel;
    return PTX_OK;
}

void ptx_racecheck_free(ptx_racecheck *racecheck) {
    free(racecheck);
}

ptx_observer *ptx_racecheck_observer(ptx_racecheck *racecheck) {
    return &racecheck->base;
}

const ptx_race *ptx_racecheck_races(const ptx_racecheck *racecheck, size_t *count) {
    *count = racecheck->table.count;
    return racecheck->table.races;
}

uint64_t ptx_racecheck_dropped(const ptx_racecheck *racecheck) {
    return racecheck->table.dropped;
}
