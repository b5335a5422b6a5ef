/* What comes before what, for the race check: times, and who knows up to which time of whose accesses. */
#ifndef PTXSIM_HAPPENS_BEFORE_H
#define PTXSIM_HAPPENS_BEFORE_H

#include "instrumentation/race_table.h"
#include "interpreter/hooks.h"

/* The hardware's writes, by bulk copies and the like, count as those of a thread of their own, one for each
   mbarrier that they report to; further mbarriers share them. */
enum { PTX_ASYNC_AGENTS = 64 };

/* A thread of all the copies that have begun and that the threads which began them have yet to wait for:
   nobody ever knows what it has done. */
enum { PTX_GROUPED_AGENT = PTX_ASYNC_AGENTS };

/* An mbarrier: what those know who have arrived, and what those learn who have waited. */
typedef struct ptx_mbarrier_clock {
    uint64_t offset;
    unsigned agent;
    uint32_t *pending_clock, *phase_clock; /* a time for each thread of the cluster and each copier */
} ptx_mbarrier_clock;

/* A stretch of shared memory that a copy out of it reads, until its thread has waited for it. */
typedef struct ptx_async_read {
    uint64_t offset, bytes;
    uint32_t pc;
    unsigned thread;
} ptx_async_read;

typedef struct ptx_race_state ptx_race_state;

/* What the blocks of a cluster share; it belongs to the first one's state. */
typedef struct ptx_race_cluster {
    ptx_race_state *blocks[PTX_MAX_CLUSTER]; /* the states of all, by rank */
    uint32_t now, access;
    unsigned mbarrier_count;
    uint32_t issuer[PTX_ASYNC_AGENTS]; /* the thread that began the last copy */
} ptx_race_cluster;

/* The word that a store of the kernel has written in shared memory, or that it has written several. */
typedef struct ptx_store_site {
    uint64_t address;
    uint32_t clock; /* of the first write, before `begin` where there is none in this block */
    bool several_words, same_execution; /* words; by lanes of one execution */
} ptx_store_site;

/* One block after the other, of those that share a place. Times count orderings; `knows` says up to when
   another's accesses come before. Threads are numbered over the cluster, copiers after them. */
struct ptx_race_state {
    const ptx_instr *code;
    size_t count; /* of instructions */
    struct shadow_word *shadow;
    ptx_store_site *store_sites; /* by the index of the instruction */
    struct read_overflow *overflows;
    size_t overflow_count, overflow_capacity;
    ptx_async_read *async_reads;
    size_t async_read_count, async_read_capacity;
    size_t shared_bytes;
    unsigned unit;            /* bytes of a cell */
    unsigned threads;         /* of a block, whole warps */
    unsigned cluster_threads; /* of the cluster */
    unsigned first_thread;    /* of this block */
    ptx_race_cluster own, *cluster;
    uint32_t begin_clock, block_clock;     /* of the cluster; the last barrier of all warps of the block */
    uint32_t cluster_clock;                /* the last barrier of the cluster */
    uint32_t warp_clock[PTX_MAX_WARPS];    /* the last ordering of all lanes of a warp */
    uint32_t partial_clock[PTX_MAX_WARPS]; /* and of some of its lanes */
    uint32_t initial_lanes[PTX_MAX_WARPS]; /* lanes that there are */
    uint32_t warp_clocks[PTX_MAX_WARPS][PTX_MAX_WARPS];
    uint32_t lane_clocks[PTX_MAX_WARPS][PTX_LANES][PTX_LANES];
    /* From mbarriers, NULL where the kernel has none: a row for each warp, and one for those of its lanes
       that have waited without the rest. */
    uint32_t *mbarrier_clocks, *split_clocks;
    uint32_t split_lanes[PTX_MAX_WARPS];
    ptx_mbarrier_clock *mbarriers;
    size_t mbarrier_count, mbarrier_capacity;
    uint32_t fenced[PTX_MAX_WARPS * PTX_LANES]; /* each thread's last fence.proxy.async */
    /* What warps that have arrived at a barrier and gone on knew then, for those who wait there. */
    uint32_t arrival_clocks[PTX_BARRIERS][PTX_MAX_WARPS];
    bool failed; /* memory ran out: mbarriers are taken to order everything */
    uint64_t block;
    ptx_race_table table;
};

bool ptx_hb_open(ptx_race_state *c, bool mbarriers);
void ptx_hb_close(ptx_race_state *c);
/* Forgets all times. */
void ptx_hb_reset(ptx_race_state *c);
void ptx_hb_begin(ptx_race_state *c, const ptx_block *block);

/* Whether what `thread` did at `time` comes before what a lane of a warp of this block does now. */
bool ptx_happens_before(const ptx_race_state *c, unsigned warp, unsigned lane, unsigned thread,
                        uint32_t clock);
/* The same of another lane of the warp, by barriers of the warp and the block alone. */
static inline bool ptx_lane_happens_before(const ptx_race_state *c, unsigned warp, unsigned lane,
                                           unsigned other, uint32_t clock) {
    return clock < c->warp_clock[warp] ||
           (clock < c->partial_clock[warp] && clock < c->lane_clocks[warp][lane][other]);
}

void ptx_hb_warp_sync(ptx_race_state *c, const ptx_warp *warp, uint32_t members);
void ptx_hb_barrier(ptx_race_state *c, const ptx_block *block, uint32_t mask);
void ptx_hb_barrier_arrive(ptx_race_state *c, const ptx_warp *warp, uint32_t barrier);
void ptx_hb_cluster_barrier(ptx_race_state *c, const ptx_block *block);
void ptx_hb_mbarrier_arrive(ptx_race_state *c, const ptx_warp *warp, const ptx_mbarrier_event *event);
void ptx_hb_mbarrier_wait(ptx_race_state *c, const ptx_warp *warp, ptx_shared_address at, uint32_t mask);
void ptx_hb_async_fence(ptx_race_state *c, const ptx_warp *warp, uint32_t mask);
/* Whether `thread`, of the cluster, has fenced since `time`. */
bool ptx_proxy_fenced(const ptx_race_state *c, unsigned thread, uint32_t clock);
/* The copier that a copy begun by `thread` counts as. */
unsigned ptx_hb_async_agent(ptx_race_state *c, ptx_shared_address barrier, unsigned thread);

#endif
