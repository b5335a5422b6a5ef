/* The race detector: checks each access to shared memory against the shadow word of its address. */
#include "instrumentation/racecheck.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "instrumentation/happens_before.h"
#include "instrumentation/race_barrier.h"
#include "interpreter/lanes.h"
#include "reserve.h"

/* Clocks are reset before the next block once they exceed this value. */
#define MAX_CLOCK (UINT32_MAX / 2)
#define NO_THREAD UINT16_MAX

/* Reads of a word by the lanes of one warp since the last synchronisation of the warp. */
typedef struct read_epoch {
    uint32_t clock, pc, lanes;
    uint32_t warp;
} read_epoch;

/* The last write of a word (an epoch: thread and clock). */
typedef struct write_epoch {
    uint32_t clock, pc;
    uint32_t access; /* sequence number of the access */
    uint16_t thread;
    uint16_t second_thread; /* NO_THREAD, or: of atomics, which do not race with each other, a second
                               unordered thread; of the grouped agent, the thread that issued the copy */
} write_epoch;

/* Shadow memory of one word (or of a smaller unit if the kernel has narrower accesses). Clock 0 is before all
   blocks. The last two reading warps are stored inline, further concurrent readers in an overflow list. */
typedef struct shadow_word {
    write_epoch write, atomic;
    read_epoch read[2];
    uint32_t overflow; /* index + 1 of the overflow list, 0 if none */
} shadow_word;

/* Further warps that have read a word, at most one entry per warp. */
typedef struct read_overflow {
    read_epoch *items;
    size_t count, capacity;
} read_overflow;

static const ptx_hooks hooks;

/* The access of one lane to one word. */
typedef struct lane_access {
    const ptx_instr *in;
    const ptx_access *access; /* NULL for an asynchronous copy */
    ptx_race_state *owner;    /* the block whose shared memory is accessed, any block of the cluster */
    const ptx_warp *warp;
    uint32_t pc;
    ptx_effect effect;
    unsigned lane;
    unsigned writer; /* the writing thread or agent */
    uint16_t issuer; /* the thread that issued the copy of the grouped agent, otherwise NO_THREAD */
    uint64_t address;
} lane_access;

static unsigned thread_of(const ptx_race_state *c, const lane_access *t) {
    return c->first_thread + t->warp->index * PTX_LANES + t->lane;
}

static inline bool happens_before(const ptx_race_state *c, const lane_access *t, unsigned thread,
                                  uint32_t clock) {
    return ptx_happens_before(c, t->warp->index, t->lane, thread, clock);
}

/* ---- reports ---- */

/* Linear index of the block of a thread; an agent belongs to the block that issued its copy. */
static uint64_t block_of(const ptx_race_state *c, unsigned thread) {
    return c->cluster->blocks[thread / c->threads]->block;
}

static void report_as(ptx_race_state *c, const lane_access *t, ptx_hazard hazard, uint32_t first_pc,
                      unsigned first, bool collided) {
    if (first >= c->cluster_threads)
        first = c->cluster->issuer[first - c->cluster_threads];
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

static void report(ptx_race_state *c, const lane_access *t, ptx_hazard hazard, uint32_t first_pc,
                   unsigned first) {
    report_as(c, t, hazard, first_pc, first, false);
}

/* The value that a lane stores to the current word, in its registers. Addresses of the shared::cluster space
   also include the rank of the block. */
static const uint8_t *stored_value(const lane_access *t, unsigned lane) {
    uint64_t offset = (t->address - t->access->address[lane]) % PTX_SHARED_PART;
    unsigned bytes = ptx_type_bytes(t->in->type), element = (unsigned)(offset / bytes);
    unsigned slot = ptx_is_wide(t->in, element) ? 8 : 4;
    return (const uint8_t *)ptx_lanes(t->warp, t->in, element) + lane * slot + offset % bytes;
}

/* Lanes of one store that write the same value to one word do not race. */
static bool same_value(const ptx_race_state *c, const lane_access *t, const write_epoch *by) {
    return by->access == c->cluster->access && t->access && t->in->effect == PTX_EFFECT_STORE &&
           memcmp(stored_value(t, t->lane), stored_value(t, by->thread % PTX_LANES), c->unit) == 0;
}

/* Whether this overwrites another thread's value by the same store instruction: executed by both lanes at
   once, or by an instruction that writes only this word in the block. */
static bool collides(const ptx_race_state *c, const lane_access *t, const write_epoch *by) {
    if (t->effect != PTX_EFFECT_STORE || by->pc != t->pc || !t->access)
        return false;
    const ptx_store_site *site = &c->store_sites[t->pc];
    return by->access == c->cluster->access || site->same_execution || !site->several_words;
}

static void record_store(const ptx_race_state *c, const lane_access *t) {
    ptx_store_site *site = &c->store_sites[t->pc];
    for (uint32_t left = t->access->mask; left; left &= left - 1) {
        const uint64_t address = t->access->address[__builtin_ctz(left)];
        if (site->clock < c->begin_clock)
            *site = (ptx_store_site){.address = address, .clock = c->cluster->now};
        site->several_words = site->several_words || site->address != address;
    }
}

/* ---- shadow words ---- */

static void check_last_write(ptx_race_state *c, const lane_access *t, const write_epoch *by) {
    unsigned thread = by->thread;
    if (by->clock < c->block_clock && thread - c->first_thread < c->threads)
        return;
    if (happens_before(c, t, thread, by->clock)) {
        if (by->second_thread == NO_THREAD || happens_before(c, t, by->second_thread, by->clock))
            return;
        thread = by->second_thread;
    }
    if (thread == c->cluster_threads + PTX_GROUPED_AGENT)
        thread = by->second_thread;
    if (t->effect != PTX_EFFECT_STORE)
        report(c, t, PTX_HAZARD_WRITE_READ, by->pc, thread);
    else if (!same_value(c, t, by))
        report_as(c, t, PTX_HAZARD_WRITE_WRITE, by->pc, thread, collides(c, t, by));
}

/* Whether a barrier of all warps of the block separates the read from the current access. */
static inline bool ordered_by_barrier(const ptx_race_state *c, const read_epoch *r) {
    return r->clock < c->begin_clock ||
           (r->clock < c->block_clock && r->warp * PTX_LANES - c->first_thread < c->threads);
}

static void check_reads(ptx_race_state *c, const lane_access *t, const read_epoch *r) {
    unsigned first = r->warp * PTX_LANES;
    if (!r->lanes || ordered_by_barrier(c, r))
        return;
    uint32_t lanes = r->lanes;
    if (first == c->first_thread + t->warp->index * PTX_LANES)
        lanes &= ~(1u << t->lane);
    while (lanes && happens_before(c, t, first + (unsigned)__builtin_ctz(lanes), r->clock))
        lanes &= lanes - 1;
    if (lanes)
        report(c, t, PTX_HAZARD_READ_WRITE, r->pc, first + (unsigned)__builtin_ctz(lanes));
}

static void check_overflow(ptx_race_state *c, const lane_access *t, const shadow_word *at) {
    const read_overflow *all = &t->owner->overflows[at->overflow - 1];
    for (size_t i = 0; i < all->count; i++)
        check_reads(c, t, &all->items[i]);
}

/* The overflow list of a word without the reads that a barrier has ordered; NULL if memory ran out. */
static read_overflow *overflow_of(const ptx_race_state *c, ptx_race_state *owner, shadow_word *at) {
    if (!at->overflow) {
        if (!ptx_reserve(&owner->overflows, &owner->overflow_capacity, owner->overflow_count,
                         sizeof *owner->overflows))
            return NULL;
        owner->overflows[owner->overflow_count] = (read_overflow){0};
        at->overflow = (uint32_t)++owner->overflow_count;
    }
    read_overflow *all = &owner->overflows[at->overflow - 1];
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (!ordered_by_barrier(c, &all->items[i]))
            all->items[kept++] = all->items[i];
    all->count = kept;
    return ptx_reserve(&all->items, &all->capacity, all->count, sizeof *all->items) ? all : NULL;
}

/* Moves the read of `one` to the overflow list; returns the entry that the list had for `warp`. */
static read_epoch evict_to_overflow(const ptx_race_state *c, const lane_access *t, shadow_word *at,
                                    const read_epoch *one, unsigned warp) {
    read_epoch found = {.warp = warp};
    if (!one->lanes || (!at->overflow && ordered_by_barrier(c, one)))
        return found;
    read_overflow *all = overflow_of(c, t->owner, at);
    if (!all)
        return found; /* out of memory: rather miss a race than report a false one */
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

/* Keeps those previous reads of the warp that do not happen before this one. */
static void record_read(const ptx_race_state *c, const lane_access *t, shadow_word *at) {
    unsigned warp = t->warp->index, numbered = c->first_thread / PTX_LANES + warp;
    read_epoch *mine = &at->read[0];
    if (mine->warp != numbered || !mine->lanes) {
        read_epoch before = *mine, *second = &at->read[1];
        *mine = second->warp == numbered ? *second : evict_to_overflow(c, t, at, second, numbered);
        if (before.lanes)
            *second = before;
    }
    if (mine->clock < c->warp_clock[warp])
        mine->lanes = 0;
    else if (mine->clock < c->partial_clock[warp])
        for (uint32_t left = mine->lanes; left; left &= left - 1)
            if (ptx_lane_happens_before(c, warp, t->lane, (unsigned)__builtin_ctz(left), mine->clock))
                mine->lanes &= ~(left & -left);
    mine->lanes |= 1u << t->lane;
    mine->clock = c->cluster->now;
    mine->pc = t->pc;
}

static void record_write(const ptx_race_state *c, const lane_access *t, write_epoch *by, bool joins) {
    by->second_thread = joins ? by->thread : t->issuer;
    by->thread = (uint16_t)t->writer;
    by->clock = c->cluster->now;
    by->pc = t->pc;
    by->access = c->cluster->access;
}

static inline void check_word(ptx_race_state *c, const lane_access *t, shadow_word *at) {
    ptx_effect effect = t->effect;
    if (effect != PTX_EFFECT_STORE && at->write.clock < c->begin_clock && at->atomic.clock < c->begin_clock)
        report(c, t, PTX_HAZARD_UNINITIALISED, PTX_NO_PC, thread_of(c, t));
    check_last_write(c, t, &at->write);
    if (effect != PTX_EFFECT_ATOMIC)
        check_last_write(c, t, &at->atomic);
    if (effect == PTX_EFFECT_LOAD) {
        record_read(c, t, at);
        return;
    }
    check_reads(c, t, &at->read[0]);
    check_reads(c, t, &at->read[1]);
    if (at->overflow)
        check_overflow(c, t, at);
    if (effect == PTX_EFFECT_STORE && t->access && at->write.access == c->cluster->access)
        c->store_sites[t->pc].same_execution = true;
    if (effect == PTX_EFFECT_STORE)
        record_write(c, t, &at->write, false);
    else
        record_write(c, t, &at->atomic, !happens_before(c, t, at->atomic.thread, at->atomic.clock));
}

/* A write to a range that an asynchronous copy may still have to read. */
static void check_async_reads(ptx_race_state *c, lane_access *t, uint64_t address, uint64_t bytes) {
    for (size_t i = 0; i < t->owner->async_read_count; i++) {
        const ptx_async_read *read = &t->owner->async_reads[i];
        if (address >= read->offset + read->bytes || read->offset >= address + bytes)
            continue;
        t->address = address > read->offset ? address : read->offset;
        report(c, t, PTX_HAZARD_READ_WRITE, read->pc, read->thread);
    }
}

static bool in_bounds(const ptx_race_state *owner, uint64_t address, uint64_t bytes) {
    return address <= owner->shared_bytes && bytes <= owner->shared_bytes - address &&
           address % owner->unit == 0;
}

static void check_bytes(ptx_race_state *c, lane_access *t, uint64_t address, uint64_t bytes) {
    ptx_race_state *owner = t->owner;
    if (!in_bounds(owner, address, bytes))
        return; /* out of range or misaligned: the interpreter reports it */
    if (t->effect != PTX_EFFECT_LOAD && owner->async_read_count)
        check_async_reads(c, t, address, bytes);
    for (t->address = address; t->address < address + bytes; t->address += owner->unit)
        check_word(c, t, &owner->shadow[t->address / owner->unit]);
}

/* Completions of copies, which were checked when they were issued. */
static void record_completion(const ptx_race_state *c, lane_access *t) {
    const ptx_access *access = t->access;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        t->lane = (unsigned)__builtin_ctz(left);
        t->writer = thread_of(c, t);
        const uint64_t address = access->address[t->lane];
        if (in_bounds(c, address, access->bytes))
            for (uint64_t at = address; at < address + access->bytes; at += c->unit)
                record_write(c, t, &c->shadow[at / c->unit].write, false);
    }
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    ptx_race_state *c = state;
    bool remote = access->space == PTX_SPACE_CLUSTER;
    if (access->space != PTX_SPACE_SHARED && !remote)
        return;
    c->cluster->access++;
    lane_access t = {.in = in,
                     .access = access,
                     .owner = c,
                     .warp = warp,
                     .pc = (uint32_t)(in - c->code),
                     .effect = access->effect,
                     .issuer = NO_THREAD};
    if (access->async_completion) {
        record_completion(c, &t);
        return;
    }
    if (t.effect == PTX_EFFECT_STORE)
        record_store(c, &t);
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
        check_bytes(c, &t, address, access->bytes);
    }
}

/* The async proxy reads what a thread wrote through the generic proxy: either thread must have executed
   fence.proxy.async. Unordered accesses are reported as a race only, not as a missing fence. */
static void check_fences(ptx_race_state *c, lane_access *t, uint64_t address, uint64_t bytes) {
    if (!in_bounds(t->owner, address, bytes))
        return;
    for (t->address = address; t->address < address + bytes; t->address += t->owner->unit) {
        const write_epoch *by = &t->owner->shadow[t->address / t->owner->unit].write;
        if (by->clock >= c->begin_clock && by->thread < c->cluster_threads &&
            !ptx_proxy_fenced(c, by->thread, by->clock) && !ptx_proxy_fenced(c, t->writer, by->clock) &&
            happens_before(c, t, by->thread, by->clock))
            report(c, t, PTX_HAZARD_UNFENCED, by->pc, by->thread);
    }
}

/* From now on an asynchronous copy reads these bytes. */
static void begin_async_read(const lane_access *t, const ptx_async *copy) {
    ptx_race_state *owner = t->owner;
    if (!ptx_reserve(&owner->async_reads, &owner->async_read_capacity, owner->async_read_count,
                     sizeof *owner->async_reads))
        return; /* out of memory: rather miss a race than report a false one */
    owner->async_reads[owner->async_read_count++] =
        (ptx_async_read){.offset = copy->from.offset, .bytes = copy->bytes, .pc = t->pc, .thread = t->writer};
}

/* The thread has waited for the copy: for other threads this is a read by the thread itself. */
static void end_async_read(ptx_race_state *c, lane_access *t, const ptx_async *copy) {
    ptx_race_state *owner = t->owner;
    size_t i = 0;
    while (i < owner->async_read_count &&
           (owner->async_reads[i].offset != copy->from.offset || owner->async_reads[i].bytes != copy->bytes ||
            owner->async_reads[i].pc != t->pc || owner->async_reads[i].thread != t->writer))
        i++;
    if (i < owner->async_read_count)
        owner->async_reads[i] = owner->async_reads[--owner->async_read_count];
    check_bytes(c, t, copy->from.offset, copy->bytes);
}

/* A copy is performed by an agent of the async proxy; the issuing thread must have ordered all previous
   accesses to its destination. */
static void on_async(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy) {
    ptx_race_state *c = state;
    lane_access t = {
        .in = in, .warp = warp, .pc = (uint32_t)(in - c->code), .lane = copy->lane, .issuer = NO_THREAD};
    c->cluster->access++;
    t.writer = thread_of(c, &t);
    if (copy->from.block) {
        t.effect = PTX_EFFECT_LOAD;
        t.owner = c->cluster->blocks[copy->from.block->rank];
        if (copy->completed) {
            end_async_read(c, &t, copy);
            return;
        }
        check_fences(c, &t, copy->from.offset, copy->bytes);
        check_bytes(c, &t, copy->from.offset, copy->bytes);
        if (copy->grouped)
            begin_async_read(&t, copy);
    }
    if (copy->to.block) {
        t.effect = PTX_EFFECT_STORE;
        t.owner = c->cluster->blocks[copy->to.block->rank];
        if (copy->grouped) {
            t.issuer = (uint16_t)t.writer;
            t.writer = c->cluster_threads + PTX_GROUPED_AGENT;
        } else {
            t.writer = ptx_hb_async_agent(c, copy->barrier, t.writer);
        }
        check_bytes(c, &t, copy->to.offset, copy->bytes);
    }
}

/* ---- synchronisation ---- */

static void on_warp_sync(void *state, const ptx_warp *warp, uint32_t members) {
    ptx_hb_warp_sync(state, warp, members);
}

static void on_async_fence(void *state, const ptx_warp *warp, uint32_t mask) {
    ptx_hb_async_fence(state, warp, mask);
}

static void on_mbarrier(void *state, const ptx_warp *warp, const ptx_mbarrier_event *event) {
    ptx_hb_mbarrier_arrive(state, warp, event);
}

static void on_mbarrier_wait(void *state, const ptx_warp *warp, ptx_shared_address at, uint32_t mask) {
    ptx_hb_mbarrier_wait(state, warp, at, mask);
}

static void on_barrier(void *state, const ptx_block *block, uint32_t mask) {
    ptx_race_check_barrier(state, block, mask);
    ptx_hb_barrier(state, block, mask);
}

static void on_barrier_arrive(void *state, const ptx_warp *warp, uint32_t barrier) {
    ptx_hb_barrier_arrive(state, warp, barrier);
}

static void on_cluster_barrier(void *state, const ptx_block *block) {
    ptx_hb_cluster_barrier(state, block);
}

static void on_fault(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    if (status == PTX_ERR_BARRIER &&
        warp->active) /* an exited warp, without active lanes, may have left a copy pending */
        ptx_race_missed_barrier(state, warp, in);
}

/* ---- lifetime ---- */

/* Size of the narrowest element that the kernel accesses in shared memory, at most 4 bytes. */
static unsigned shadow_unit(const ptx_kernel *kernel) {
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

static void free_overflows(ptx_race_state *c) {
    for (size_t i = 0; i < c->overflow_count; i++)
        free(c->overflows[i].items);
    c->overflow_count = 0;
}

static void release(ptx_race_state *c) {
    ptx_hb_close(c);
    free_overflows(c);
    free(c->overflows);
    free(c->async_reads);
    free(c->store_sites);
    free(c->shadow);
    free(c);
}

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    (void)self;
    ptx_race_state *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->code = worker->kernel->code;
    c->count = worker->kernel->count;
    c->shared_bytes = worker->run->shared_bytes;
    c->unit = shadow_unit(worker->kernel);
    c->threads = worker->warp_count * PTX_LANES;
    c->cluster_threads = c->threads * worker->run->cluster_blocks;
    c->shadow = calloc(c->shared_bytes / c->unit + 1, sizeof(shadow_word));
    c->store_sites = calloc(worker->kernel->count, sizeof *c->store_sites);
    if (c->shadow && c->store_sites && ptx_hb_open(c, has_mbarriers(worker->kernel)))
        return c;
    release(c);
    return NULL;
}

static void detach(ptx_observer *self, void *state) {
    ptx_racecheck *racecheck = (ptx_racecheck *)self;
    ptx_race_state *c = state;
    for (size_t i = 0; i < c->table.count; i++)
        ptx_race_table_add(&racecheck->table, &c->table.races[i]);
    racecheck->table.dropped += c->table.dropped;
    ptx_race_table_sort(&racecheck->table);
    release(c);
}

/* Resets all clocks. */
static void reset(ptx_race_state *c) {
    memset(c->shadow, 0, (c->shared_bytes / c->unit + 1) * sizeof(shadow_word));
    memset(c->store_sites, 0, c->count * sizeof *c->store_sites);
    free_overflows(c);
    ptx_hb_reset(c);
}

static ptx_race_state *state_of(const ptx_block *block) {
    for (unsigned i = 0; i < block->observer_count; i++)
        if (block->observers[i].hooks == &hooks)
            return block->observers[i].state;
    return NULL;
}

/* The blocks of a cluster start in order of their ranks: rank 0 links the states of all. */
static void join_cluster(ptx_race_state *leader, const ptx_block *block) {
    const bool overflowed = leader->own.now > MAX_CLOCK;
    for (unsigned b = 0; b < block->worker->run->cluster_blocks; b++) {
        ptx_race_state *other = state_of(block->cluster->blocks[b]);
        leader->own.blocks[b] = other;
        other->cluster = &leader->own;
        if (overflowed)
            reset(other);
    }
}

static void block_begin(void *state, const ptx_block *block) {
    ptx_race_state *c = state;
    if (block->rank == 0)
        join_cluster(c, block);
    ptx_hb_begin(c, block);
    c->async_read_count = 0;
    c->block = block->number;
}

static void on_absent_source(void *state, const ptx_warp *warp, const ptx_instr *in, unsigned lane,
                             unsigned source) {
    ptx_race_state *c = state;
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

ptx_status ptx_racecheck_create(ptx_racecheck **out, ptx_error *error) {
    ptx_racecheck *racecheck = calloc(1, sizeof *racecheck);
    *out = racecheck;
    if (!racecheck)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a race check");
    racecheck->base.hooks = &hooks;
    return PTX_OK;
}

void ptx_racecheck_free(ptx_racecheck *racecheck) {
    free(racecheck);
}
