#include "instrumentation/racecheck.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "instrumentation/race_barrier.h"
#include "instrumentation/race_order.h"
#include "interpreter/lanes.h"
#include "reserve.h"

/* A clock that passes this is set back at the next block. */
#define LATEST (UINT32_MAX / 2)
#define NO_THREAD UINT16_MAX

/* The lanes of one warp of the cluster that have read a word, of late and since the last ordering of the
 * warp. */
typedef struct readers {
    uint32_t time, pc, lanes;
    uint32_t warp;
} readers;

/* The last write of a word. */
typedef struct writer {
    uint32_t time, pc;
    uint32_t access; /* the number of the access */
    uint16_t thread;
    uint16_t other; /* NO_THREAD, or one more: of atomics, which need no order among themselves, or the one
                       that began the copy of the late copier */
} writer;

/* What is known of a word (or, in kernels with narrower accesses, of a smaller unit). A time of 0 is before
   all blocks. The two warps that have read it last are here, others that still matter in a crowd. */
typedef struct cell {
    writer write, atomic;
    readers read[2];
    uint32_t crowd; /* 0: none, else one more than its index */
} cell;

/* Further warps that have read a word, each once. */
typedef struct crowd {
    readers *items;
    size_t count, capacity;
} crowd;

struct ptx_racecheck {
    ptx_observer base; /* first, so that a ptx_observer is one of these */
    const ptx_kernel *kernel;
    ptx_race_table table;
};

static const ptx_hooks hooks;

/* One lane's access of one cell. */
typedef struct touch {
    const ptx_instr *in;
    const ptx_access *access; /* NULL of a copy by the hardware */
    ptx_checking *owner;      /* of the memory; its block may be another one of the cluster */
    const ptx_warp *warp;
    uint32_t pc;
    ptx_effect effect;
    unsigned lane;
    unsigned writer; /* the thread, or the copier that writes for it */
    uint16_t beside; /* the thread that the late copier writes for, else NO_THREAD */
    uint64_t address;
} touch;

static unsigned thread_of(const ptx_checking *c, const touch *t) {
    return c->first + t->warp->index * PTX_LANES + t->lane;
}

static inline bool ordered(const ptx_checking *c, const touch *t, unsigned thread, uint32_t time) {
    return ptx_ordered(c, t->warp->index, t->lane, thread, time);
}

/* ---- reports ---- */

/* The linear number of the block that a thread of the cluster belongs to; copies are those of who began them.
 */
static uint64_t block_of(const ptx_checking *c, unsigned thread) {
    return c->cluster->blocks[thread / c->threads]->block;
}

static void report_as(ptx_checking *c, const touch *t, ptx_hazard hazard, uint32_t first_pc, unsigned first,
                      bool collided) {
    if (first >= c->everybody)
        first = c->cluster->issuer[first - c->everybody];
    const ptx_race race = {.hazard = hazard,
                           .first_pc = first_pc,
                           .second_pc = t->pc,
                           .first_thread = first % c->threads,
                           .second_thread = t->warp->index * PTX_LANES + t->lane,
                           .first_block = block_of(c, first),
                           .second_block = c->block,
                           .block = t->owner->block,
                           .address = t->address,
                           .count = 1,
                           .collides = collided};
    ptx_race_table_add(&c->table, &race);
}

static void report(ptx_checking *c, const touch *t, ptx_hazard hazard, uint32_t first_pc, unsigned first) {
    report_as(c, t, hazard, first_pc, first, false);
}

/* Where a lane's value for the cell at hand lies in its registers. An access by the cluster's addresses names
   the block, too. */
static const uint8_t *stored_value(const touch *t, unsigned lane) {
    uint64_t offset = (t->address - t->access->address[lane]) % PTX_SHARED_PART;
    unsigned bytes = ptx_type_bytes(t->in->type), element = (unsigned)(offset / bytes);
    unsigned slot = ptx_is_wide(t->in, element) ? 8 : 4;
    return (const uint8_t *)ptx_lanes(t->warp, t->in, element) + lane * slot + offset % bytes;
}

/* Lanes of one store that write the same value to one word do no harm. */
static bool same_value(const ptx_checking *c, const touch *t, const writer *by) {
    return by->access == c->cluster->access && t->access && t->in->effect == PTX_EFFECT_STORE &&
           memcmp(stored_value(t, t->lane), stored_value(t, by->thread % PTX_LANES), c->unit) == 0;
}

/* Whether this is a write over another thread's by the same store, which lanes have executed at once, or
   which has written this word alone in the block. */
static bool collides(const ptx_checking *c, const touch *t, const writer *by) {
    if (t->effect != PTX_EFFECT_STORE || by->pc != t->pc || !t->access)
        return false;
    const ptx_stored *stored = &c->stored[t->pc];
    return by->access == c->cluster->access || stored->shared || !stored->several;
}

static void note_stored(const ptx_checking *c, const touch *t) {
    ptx_stored *stored = &c->stored[t->pc];
    for (uint32_t left = t->access->mask; left; left &= left - 1) {
        const uint64_t address = t->access->address[__builtin_ctz(left)];
        if (stored->time < c->begin)
            *stored = (ptx_stored){.address = address, .time = c->cluster->now};
        stored->several = stored->several || stored->address != address;
    }
}

/* ---- cells ---- */

static void check_writer(ptx_checking *c, const touch *t, const writer *by) {
    unsigned thread = by->thread;
    if (by->time < c->block_time && thread - c->first < c->threads)
        return;
    if (ordered(c, t, thread, by->time)) {
        if (by->other == NO_THREAD || ordered(c, t, by->other, by->time))
            return;
        thread = by->other;
    }
    if (thread == c->everybody + PTX_LATE_COPIER)
        thread = by->other;
    if (t->effect != PTX_EFFECT_STORE)
        report(c, t, PTX_HAZARD_WRITE_READ, by->pc, thread);
    else if (!same_value(c, t, by))
        report_as(c, t, PTX_HAZARD_WRITE_WRITE, by->pc, thread, collides(c, t, by));
}

/* Whether a barrier of all warps of the block came in between. */
static inline bool long_past(const ptx_checking *c, const readers *r) {
    return r->time < c->begin || (r->time < c->block_time && r->warp * PTX_LANES - c->first < c->threads);
}

static void check_readers(ptx_checking *c, const touch *t, const readers *r) {
    unsigned first = r->warp * PTX_LANES;
    if (!r->lanes || long_past(c, r))
        return;
    uint32_t lanes = r->lanes;
    if (first == c->first + t->warp->index * PTX_LANES)
        lanes &= ~(1u << t->lane);
    while (lanes && ordered(c, t, first + (unsigned)__builtin_ctz(lanes), r->time))
        lanes &= lanes - 1;
    if (lanes)
        report(c, t, PTX_HAZARD_READ_WRITE, r->pc, first + (unsigned)__builtin_ctz(lanes));
}

static void check_crowd(ptx_checking *c, const touch *t, const cell *at) {
    const crowd *all = &t->owner->crowds[at->crowd - 1];
    for (size_t i = 0; i < all->count; i++)
        check_readers(c, t, &all->items[i]);
}

/* The cell's crowd, less the readers that no write can race with any more; NULL when memory ran out. */
static crowd *crowd_of(const ptx_checking *c, ptx_checking *owner, cell *at) {
    if (!at->crowd) {
        if (!ptx_reserve(&owner->crowds, &owner->crowd_capacity, owner->crowd_count, sizeof *owner->crowds))
            return NULL;
        owner->crowds[owner->crowd_count] = (crowd){0};
        at->crowd = (uint32_t)++owner->crowd_count;
    }
    crowd *all = &owner->crowds[at->crowd - 1];
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (!long_past(c, &all->items[i]))
            all->items[kept++] = all->items[i];
    all->count = kept;
    return ptx_reserve(&all->items, &all->capacity, all->count, sizeof *all->items) ? all : NULL;
}

/* `one` gives up its place in the cell to a warp, and what the crowd knows of that is returned. */
static readers change_places(const ptx_checking *c, const touch *t, cell *at, const readers *one,
                             unsigned warp) {
    readers found = {.warp = warp};
    if (!one->lanes || (!at->crowd && long_past(c, one)))
        return found;
    crowd *all = crowd_of(c, t->owner, at);
    if (!all)
        return found; /* better a race less than one that is none */
    size_t i = 0;
    while (i < all->count && all->items[i].warp != warp)
        i++;
    if (i < all->count)
        found = all->items[i];
    else
        all->count++;
    all->items[i] = *one;
    return found;
}

/* Of the lanes that have read before, those stay whose reads this one does not follow. */
static void note_read(const ptx_checking *c, const touch *t, cell *at) {
    unsigned warp = t->warp->index, numbered = c->first / PTX_LANES + warp;
    readers *mine = &at->read[0];
    if (mine->warp != numbered || !mine->lanes) {
        readers before = *mine, *second = &at->read[1];
        *mine = second->warp == numbered ? *second : change_places(c, t, at, second, numbered);
        if (before.lanes)
            *second = before;
    }
    if (mine->time < c->warp_time[warp])
        mine->lanes = 0;
    else if (mine->time < c->part_time[warp])
        for (uint32_t left = mine->lanes; left; left &= left - 1)
            if (ptx_lanes_ordered(c, warp, t->lane, (unsigned)__builtin_ctz(left), mine->time))
                mine->lanes &= ~(left & -left);
    mine->lanes |= 1u << t->lane;
    mine->time = c->cluster->now;
    mine->pc = t->pc;
}

static void note_write(const ptx_checking *c, const touch *t, writer *by, bool joins) {
    by->other = joins ? by->thread : t->beside;
    by->thread = (uint16_t)t->writer;
    by->time = c->cluster->now;
    by->pc = t->pc;
    by->access = c->cluster->access;
}

static inline void touch_cell(ptx_checking *c, const touch *t, cell *at) {
    ptx_effect effect = t->effect;
    if (effect != PTX_EFFECT_STORE && at->write.time < c->begin && at->atomic.time < c->begin)
        report(c, t, PTX_HAZARD_UNINITIALISED, PTX_NO_PC, thread_of(c, t));
    check_writer(c, t, &at->write);
    if (effect != PTX_EFFECT_ATOMIC)
        check_writer(c, t, &at->atomic);
    if (effect == PTX_EFFECT_LOAD) {
        note_read(c, t, at);
        return;
    }
    check_readers(c, t, &at->read[0]);
    check_readers(c, t, &at->read[1]);
    if (at->crowd)
        check_crowd(c, t, at);
    if (effect == PTX_EFFECT_STORE && t->access && at->write.access == c->cluster->access)
        c->stored[t->pc].shared = true;
    if (effect == PTX_EFFECT_STORE)
        note_write(c, t, &at->write, false);
    else
        note_write(c, t, &at->atomic, !ordered(c, t, at->atomic.thread, at->atomic.time));
}

/* A write over what a copy may still have to read. */
static void check_lent(ptx_checking *c, touch *t, uint64_t address, uint64_t bytes) {
    for (size_t i = 0; i < t->owner->lent_count; i++) {
        const ptx_lent *lent = &t->owner->lent[i];
        if (address >= lent->offset + lent->bytes || lent->offset >= address + bytes)
            continue;
        t->address = address > lent->offset ? address : lent->offset;
        report(c, t, PTX_HAZARD_READ_WRITE, lent->pc, lent->thread);
    }
}

static bool can_touch(const ptx_checking *owner, uint64_t address, uint64_t bytes) {
    return address <= owner->shared_bytes && bytes <= owner->shared_bytes - address &&
           address % owner->unit == 0;
}

static void touch_bytes(ptx_checking *c, touch *t, uint64_t address, uint64_t bytes) {
    ptx_checking *owner = t->owner;
    if (!can_touch(owner, address, bytes))
        return; /* the executor will say so */
    if (t->effect != PTX_EFFECT_LOAD && owner->lent_count)
        check_lent(c, t, address, bytes);
    for (t->address = address; t->address < address + bytes; t->address += owner->unit)
        touch_cell(c, t, &owner->cells[t->address / owner->unit]);
}

/* The ends of copies, which were looked at when they began. */
static void note_landed(const ptx_checking *c, touch *t) {
    const ptx_access *access = t->access;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        t->lane = (unsigned)__builtin_ctz(left);
        t->writer = thread_of(c, t);
        const uint64_t address = access->address[t->lane];
        if (can_touch(c, address, access->bytes))
            for (uint64_t at = address; at < address + access->bytes; at += c->unit)
                note_write(c, t, &c->cells[at / c->unit].write, false);
    }
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    ptx_checking *c = state;
    bool remote = access->space == PTX_SPACE_CLUSTER;
    if (access->space != PTX_SPACE_SHARED && !remote)
        return;
    c->cluster->access++;
    touch t = {.in = in,
               .access = access,
               .owner = c,
               .warp = warp,
               .pc = (uint32_t)(in - c->code),
               .effect = access->effect,
               .beside = NO_THREAD};
    if (access->landed) {
        note_landed(c, &t);
        return;
    }
    if (t.effect == PTX_EFFECT_STORE)
        note_stored(c, &t);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        t.lane = (unsigned)__builtin_ctz(left);
        t.writer = thread_of(c, &t);
        uint64_t address = access->address[t.lane];
        if (remote) {
            uint64_t rank = address / PTX_SHARED_PART - 1;
            if (rank >= warp->worker->run->cluster_blocks)
                continue;
            t.owner = c->cluster->blocks[rank];
            address %= PTX_SHARED_PART;
        }
        touch_bytes(c, &t, address, access->bytes);
    }
}

/* A copy reads by another way than threads write: one of the two has to have fenced. What is not ordered at
   all is reported as that alone. */
static void check_fences(ptx_checking *c, touch *t, uint64_t address, uint64_t bytes) {
    if (!can_touch(t->owner, address, bytes))
        return;
    for (t->address = address; t->address < address + bytes; t->address += t->owner->unit) {
        const writer *by = &t->owner->cells[t->address / t->owner->unit].write;
        if (by->time >= c->begin && by->thread < c->everybody && !ptx_fenced(c, by->thread, by->time) &&
            !ptx_fenced(c, t->writer, by->time) && ordered(c, t, by->thread, by->time))
            report(c, t, PTX_HAZARD_UNFENCED, by->pc, by->thread);
    }
}

/* From here on a copy reads these bytes. */
static void lend(const touch *t, const ptx_async *copy) {
    ptx_checking *owner = t->owner;
    if (!ptx_reserve(&owner->lent, &owner->lent_capacity, owner->lent_count, sizeof *owner->lent))
        return; /* better a race less than one that is none */
    owner->lent[owner->lent_count++] =
        (ptx_lent){.offset = copy->from.offset, .bytes = copy->bytes, .pc = t->pc, .thread = t->writer};
}

/* The thread has waited: to others it is as if it read them itself now. */
static void take_back(ptx_checking *c, touch *t, const ptx_async *copy) {
    ptx_checking *owner = t->owner;
    size_t i = 0;
    while (i < owner->lent_count &&
           (owner->lent[i].offset != copy->from.offset || owner->lent[i].bytes != copy->bytes ||
            owner->lent[i].pc != t->pc || owner->lent[i].thread != t->writer))
        i++;
    if (i < owner->lent_count)
        owner->lent[i] = owner->lent[--owner->lent_count];
    touch_bytes(c, t, copy->from.offset, copy->bytes);
}

/* A copy is the work of a copier from here on; who began it must have seen to it that its place is free. */
static void on_async(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy) {
    ptx_checking *c = state;
    touch t = {
        .in = in, .warp = warp, .pc = (uint32_t)(in - c->code), .lane = copy->lane, .beside = NO_THREAD};
    c->cluster->access++;
    t.writer = thread_of(c, &t);
    if (copy->from.block) {
        t.effect = PTX_EFFECT_LOAD;
        t.owner = c->cluster->blocks[copy->from.block->rank];
        if (copy->over) {
            take_back(c, &t, copy);
            return;
        }
        check_fences(c, &t, copy->from.offset, copy->bytes);
        touch_bytes(c, &t, copy->from.offset, copy->bytes);
        if (copy->grouped)
            lend(&t, copy);
    }
    if (copy->to.block) {
        t.effect = PTX_EFFECT_STORE;
        t.owner = c->cluster->blocks[copy->to.block->rank];
        if (copy->grouped) {
            t.beside = (uint16_t)t.writer;
            t.writer = c->everybody + PTX_LATE_COPIER;
        } else {
            t.writer = ptx_order_copy(c, copy->barrier, t.writer);
        }
        touch_bytes(c, &t, copy->to.offset, copy->bytes);
    }
}

/* ---- orderings ---- */

static void on_warp_sync(void *state, const ptx_warp *warp, uint32_t members) {
    ptx_order_warp_sync(state, warp, members);
}

static void on_async_fence(void *state, const ptx_warp *warp, uint32_t mask) {
    ptx_order_async_fence(state, warp, mask);
}

static void on_mbarrier(void *state, const ptx_warp *warp, const ptx_arrival *arrival) {
    ptx_order_arrive(state, warp, arrival);
}

static void on_mbarrier_wait(void *state, const ptx_warp *warp, ptx_place at, uint32_t mask) {
    ptx_order_wait(state, warp, at, mask);
}

static void on_barrier(void *state, const ptx_block *block, uint32_t mask) {
    ptx_race_check_barrier(state, block, mask);
    ptx_order_barrier(state, block, mask);
}

static void on_barrier_arrive(void *state, const ptx_warp *warp, uint32_t barrier) {
    ptx_order_barrier_arrive(state, warp, barrier);
}

static void on_cluster_barrier(void *state, const ptx_block *block) {
    ptx_order_cluster_barrier(state, block);
}

static void on_fault(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    if (status == PTX_ERR_BARRIER && warp->active) /* a warp that has ended may have left a copy behind */
        ptx_race_missed_barrier(state, warp, in);
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

static bool has_mbarriers(const ptx_kernel *kernel) {
    for (size_t pc = 0; pc < kernel->count; pc++)
        if (kernel->code[pc].opcode == PTX_OP_mbarrier_init)
            return true;
    return false;
}

static void forget_crowds(ptx_checking *c) {
    for (size_t i = 0; i < c->crowd_count; i++)
        free(c->crowds[i].items);
    c->crowd_count = 0;
}

static void release(ptx_checking *c) {
    ptx_order_close(c);
    forget_crowds(c);
    free(c->crowds);
    free(c->lent);
    free(c->stored);
    free(c->cells);
    free(c);
}

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    (void)self;
    ptx_checking *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->code = worker->kernel->code;
    c->count = worker->kernel->count;
    c->shared_bytes = worker->run->shared_bytes;
    c->unit = unit_of(worker->kernel);
    c->threads = worker->warp_count * PTX_LANES;
    c->everybody = c->threads * worker->run->cluster_blocks;
    c->cells = calloc(c->shared_bytes / c->unit + 1, sizeof(cell));
    c->stored = calloc(worker->kernel->count, sizeof *c->stored);
    if (c->cells && c->stored && ptx_order_open(c, has_mbarriers(worker->kernel)))
        return c;
    release(c);
    return NULL;
}

static void detach(ptx_observer *self, void *state) {
    ptx_racecheck *racecheck = (ptx_racecheck *)self;
    ptx_checking *c = state;
    for (size_t i = 0; i < c->table.count; i++)
        ptx_race_table_add(&racecheck->table, &c->table.races[i]);
    racecheck->table.dropped += c->table.dropped;
    ptx_race_table_sort(&racecheck->table);
    release(c);
}

/* All times are forgotten. */
static void reset(ptx_checking *c) {
    memset(c->cells, 0, (c->shared_bytes / c->unit + 1) * sizeof(cell));
    memset(c->stored, 0, c->count * sizeof *c->stored);
    forget_crowds(c);
    ptx_order_reset(c);
}

static ptx_checking *checking_of(const ptx_block *block) {
    for (unsigned i = 0; i < block->observer_count; i++)
        if (block->observers[i].hooks == &hooks)
            return block->observers[i].state;
    return NULL;
}

/* The blocks of a cluster begin in order of their ranks: the first one finds the others' states. */
static void meet_cluster(ptx_checking *leader, const ptx_block *block) {
    const bool late = leader->own.now > LATEST;
    for (unsigned b = 0; b < block->worker->run->cluster_blocks; b++) {
        ptx_checking *other = checking_of(block->cluster->blocks[b]);
        leader->own.blocks[b] = other;
        other->cluster = &leader->own;
        if (late)
            reset(other);
    }
}

static void block_begin(void *state, const ptx_block *block) {
    ptx_checking *c = state;
    const ptx_worker *worker = block->worker;
    if (block->rank == 0)
        meet_cluster(c, block);
    ptx_order_begin(c, block);
    c->lent_count = 0;
    const uint32_t *grid = worker->run->config->grid, *index = block->index;
    c->block = index[0] + grid[0] * (index[1] + (uint64_t)grid[1] * index[2]);
}

static void on_absent_source(void *state, const ptx_warp *warp, const ptx_instr *in, unsigned lane,
                             unsigned source) {
    ptx_checking *c = state;
    const ptx_race race = {.hazard = PTX_HAZARD_ABSENT_LANE,
                           .first_pc = PTX_NO_PC,
                           .second_pc = (uint32_t)(in - warp->worker->kernel->code),
                           .first_thread = warp->index * PTX_LANES + source,
                           .second_thread = warp->index * PTX_LANES + lane,
                           .first_block = c->block,
                           .second_block = c->block,
                           .block = c->block,
                           .address = source,
                           .count = 1};
    ptx_race_table_add(&c->table, &race);
}

static const ptx_hooks hooks = {.attach = attach,
                                .detach = detach,
                                .block_begin = block_begin,
                                .access = on_access,
                                .warp_sync = on_warp_sync,
                                .absent_source = on_absent_source,
                                .barrier = on_barrier,
                                .barrier_arrive = on_barrier_arrive,
                                .cluster_barrier = on_cluster_barrier,
                                .async = on_async,
                                .async_fence = on_async_fence,
                                .mbarrier = on_mbarrier,
                                .mbarrier_wait = on_mbarrier_wait,
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
