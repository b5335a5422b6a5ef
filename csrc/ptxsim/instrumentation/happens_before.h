/* The happens-before relation of the race detector: vector clocks of warps and lanes, joined at barriers,
   mbarriers and fences, as in FastTrack (Flanagan and Freund, PLDI 2009).

   The scalar clock of a cluster advances with each synchronisation. Entry t of a vector clock is a value of
   that clock: all accesses of thread t before it happen before the owner's next access. Warps and blocks that
   synchronise as a whole have one scalar clock instead of a vector per thread. */
#ifndef PTXSIM_HAPPENS_BEFORE_H
#define PTXSIM_HAPPENS_BEFORE_H

#include "instrumentation/race_table.h"
#include "interpreter/hooks.h"

/* Agents of the async proxy: writes by bulk copies, TMA and st.async count as accesses of an additional
   thread, one per mbarrier on which they complete. Mbarriers beyond the limit share agents. */
enum { PTX_ASYNC_AGENTS = 64 };

/* The agent of copies that complete by commit group (cp.async): none of its writes happens before any access
   until the issuing thread waits for the group. */
enum { PTX_GROUPED_AGENT = PTX_ASYNC_AGENTS };

/* Vector clocks of an mbarrier: an arrival joins the arriving thread's clock into pending_clock (release); a
   wait joins phase_clock, the clock of the last completed phase, into the waiting warp's (acquire). */
typedef struct ptx_mbarrier_clock {
    uint64_t offset;
    unsigned agent;
    uint32_t *pending_clock, *phase_clock; /* one entry per thread of the cluster and per agent */
} ptx_mbarrier_clock;

/* A range of shared memory that a bulk store or a wgmma reads asynchronously until its thread waits for the
   group. */
typedef struct ptx_async_read {
    uint64_t offset, bytes;
    uint32_t pc;
    unsigned thread;
} ptx_async_read;

typedef struct ptx_race_state ptx_race_state;

/* State shared by the blocks of a cluster; the block of rank 0 owns it. */
typedef struct ptx_race_cluster {
    ptx_race_state *blocks[PTX_MAX_CLUSTER]; /* by rank */
    uint32_t now, access;
    unsigned mbarrier_count;
    uint32_t issuer[PTX_ASYNC_AGENTS]; /* the thread that issued the agent's last copy */
} ptx_race_cluster;

/* The words of shared memory that one store instruction has written in the block: a single one, or several.
 */
typedef struct ptx_store_site {
    uint64_t address;
    uint32_t clock; /* of the first write; below begin_clock if the block has not executed the store */
    bool several_words, same_execution; /* several_words: it wrote more than one word; same_execution: two
                                           lanes of one execution wrote the same word */
} ptx_store_site;

/* Race-detection state of one resident block; a worker reuses it for consecutive blocks. Threads are numbered
   across the cluster, the agents of the async proxy behind them. */
struct ptx_race_state {
    const ptx_instr *code;
    size_t count; /* number of instructions */
    struct shadow_word *shadow;
    ptx_store_site *store_sites; /* one per instruction */
    struct read_overflow *overflows;
    size_t overflow_count, overflow_capacity;
    ptx_async_read *async_reads;
    size_t async_read_count, async_read_capacity;
    size_t shared_bytes;
    unsigned unit;            /* bytes per shadow word */
    unsigned threads;         /* per block, rounded up to whole warps */
    unsigned cluster_threads; /* threads of all blocks of the cluster */
    unsigned first_thread;    /* number of this block's first thread in the cluster */
    ptx_race_cluster own, *cluster;
    uint32_t begin_clock, block_clock;     /* begin_clock: start of the cluster's blocks; block_clock: last
                                              barrier of all warps of the block */
    uint32_t cluster_clock;                /* last barrier of the cluster */
    uint32_t warp_clock[PTX_MAX_WARPS];    /* last synchronisation of all lanes of a warp */
    uint32_t partial_clock[PTX_MAX_WARPS]; /* last synchronisation of some lanes of a warp */
    uint32_t initial_lanes[PTX_MAX_WARPS]; /* mask of the existing lanes, per warp */
    uint32_t warp_clocks[PTX_MAX_WARPS][PTX_MAX_WARPS];
    uint32_t lane_clocks[PTX_MAX_WARPS][PTX_LANES][PTX_LANES];
    /* Vector clocks acquired from mbarriers, one row per warp: mbarrier_clocks applies to all lanes,
       split_clocks to the split_lanes, which waited without the rest of the warp. NULL if the kernel has no
       mbarriers. */
    uint32_t *mbarrier_clocks, *split_clocks;
    uint32_t split_lanes[PTX_MAX_WARPS];
    ptx_mbarrier_clock *mbarriers;
    size_t mbarrier_count, mbarrier_capacity;
    uint32_t fenced[PTX_MAX_WARPS * PTX_LANES]; /* clock of each thread's last fence.proxy.async */
    /* Clocks released by warps that executed barrier.arrive, for the warps that wait at the barrier. */
    uint32_t arrival_clocks[PTX_BARRIERS][PTX_MAX_WARPS];
    bool failed; /* out of memory: every access is treated as ordered, so that no false race is reported */
    uint64_t block;
    ptx_race_table table;
};

bool ptx_hb_open(ptx_race_state *c, bool mbarriers);
void ptx_hb_close(ptx_race_state *c);
/* Resets all clocks to 0. */
void ptx_hb_reset(ptx_race_state *c);
void ptx_hb_begin(ptx_race_state *c, const ptx_block *block);

/* Whether the access of `thread` at `clock` happens before the next access of a lane of this block. */
bool ptx_happens_before(const ptx_race_state *c, unsigned warp, unsigned lane, unsigned thread,
                        uint32_t clock);
/* Whether the access of lane `other` of the same warp happens before, considering only barriers of the warp
   and of the block. */
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
/* Whether `thread` (numbered in the cluster) has executed fence.proxy.async since `clock`. */
bool ptx_proxy_fenced(const ptx_race_state *c, unsigned thread, uint32_t clock);
/* The agent that performs a copy which `thread` issues and which completes on the mbarrier. */
unsigned ptx_hb_async_agent(ptx_race_state *c, ptx_shared_address barrier, unsigned thread);

#endif
