/* What comes before what, for the race check: times, and who knows up to which time of whose accesses. */
#ifndef PTXSIM_RACE_ORDER_H
#define PTXSIM_RACE_ORDER_H

#include "instrumentation/race_table.h"
#include "interpreter/hooks.h"

/* The hardware's writes, by bulk copies and the like, count as those of a thread of their own, one for each
   mbarrier that they report to; further mbarriers share them. */
enum { PTX_COPIERS = 64 };

/* A thread of all the copies that have begun and that the threads which began them have yet to wait for:
   nobody ever knows what it has done. */
enum { PTX_LATE_COPIER = PTX_COPIERS };

/* An mbarrier: what those know who have arrived, and what those learn who have waited. */
typedef struct ptx_meeting {
    uint64_t offset;
    unsigned copier;
    uint32_t *arrived, *over; /* a time for each thread of the cluster and each copier */
} ptx_meeting;

/* A stretch of shared memory that a copy out of it reads, until its thread has waited for it. */
typedef struct ptx_lent {
    uint64_t offset, bytes;
    uint32_t pc;
    unsigned thread;
} ptx_lent;

typedef struct ptx_checking ptx_checking;

/* What the blocks of a cluster share; it belongs to the first one's state. */
typedef struct ptx_race_cluster {
    ptx_checking *blocks[PTX_MAX_CLUSTER]; /* the states of all, by rank */
    uint32_t now, access;
    unsigned meetings;
    uint32_t issuer[PTX_COPIERS]; /* the thread that began the last copy */
} ptx_race_cluster;

/* The word that a store of the kernel has written in shared memory, or that it has written several. */
typedef struct ptx_stored {
    uint64_t address;
    uint32_t time;        /* of the first write, before `begin` where there is none in this block */
    bool several, shared; /* words; by lanes of one execution */
} ptx_stored;

/* One block after the other, of those that share a place. Times count orderings; `knows` says up to when
   another's accesses come before. Threads are numbered over the cluster, copiers after them. */
struct ptx_checking {
    const ptx_instr *code;
    size_t count; /* of instructions */
    struct cell *cells;
    ptx_stored *stored; /* by the index of the instruction */
    struct crowd *crowds;
    size_t crowd_count, crowd_capacity;
    ptx_lent *lent;
    size_t lent_count, lent_capacity;
    size_t shared_bytes;
    unsigned unit;      /* bytes of a cell */
    unsigned threads;   /* of a block, whole warps */
    unsigned everybody; /* of the cluster */
    unsigned first;     /* of this block */
    ptx_race_cluster own, *cluster;
    uint32_t begin, block_time;        /* of the cluster; the last barrier of all warps of the block */
    uint32_t cluster_time;             /* the last barrier of the cluster */
    uint32_t warp_time[PTX_MAX_WARPS]; /* the last ordering of all lanes of a warp */
    uint32_t part_time[PTX_MAX_WARPS]; /* and of some of its lanes */
    uint32_t started[PTX_MAX_WARPS];   /* lanes that there are */
    uint32_t warp_knows[PTX_MAX_WARPS][PTX_MAX_WARPS];
    uint32_t lane_knows[PTX_MAX_WARPS][PTX_LANES][PTX_LANES];
    /* From mbarriers, NULL where the kernel has none: a row for each warp, and one for those of its lanes
       that have waited without the rest. */
    uint32_t *learnt, *apart;
    uint32_t lanes_apart[PTX_MAX_WARPS];
    ptx_meeting *meetings;
    size_t meeting_count, meeting_capacity;
    uint32_t fenced[PTX_MAX_WARPS * PTX_LANES]; /* each thread's last fence.proxy.async */
    /* What warps that have arrived at a barrier and gone on knew then, for those who wait there. */
    uint32_t passed_know[PTX_BARRIERS][PTX_MAX_WARPS];
    bool failed; /* memory ran out: mbarriers are taken to order everything */
    uint64_t block;
    ptx_race_table table;
};

bool ptx_order_open(ptx_checking *c, bool mbarriers);
void ptx_order_close(ptx_checking *c);
/* Forgets all times. */
void ptx_order_reset(ptx_checking *c);
void ptx_order_begin(ptx_checking *c, const ptx_block *block);

/* Whether what `thread` did at `time` comes before what a lane of a warp of this block does now. */
bool ptx_ordered(const ptx_checking *c, unsigned warp, unsigned lane, unsigned thread, uint32_t time);
/* The same of another lane of the warp, by barriers of the warp and the block alone. */
static inline bool ptx_lanes_ordered(const ptx_checking *c, unsigned warp, unsigned lane, unsigned other,
                                     uint32_t time) {
    return time < c->warp_time[warp] ||
           (time < c->part_time[warp] && time < c->lane_knows[warp][lane][other]);
}

void ptx_order_warp_sync(ptx_checking *c, const ptx_warp *warp, uint32_t members);
void ptx_order_barrier(ptx_checking *c, const ptx_block *block, uint32_t mask);
void ptx_order_barrier_arrive(ptx_checking *c, const ptx_warp *warp, uint32_t barrier);
void ptx_order_cluster_barrier(ptx_checking *c, const ptx_block *block);
void ptx_order_arrive(ptx_checking *c, const ptx_warp *warp, const ptx_arrival *arrival);
void ptx_order_wait(ptx_checking *c, const ptx_warp *warp, ptx_place at, uint32_t mask);
void ptx_order_async_fence(ptx_checking *c, const ptx_warp *warp, uint32_t mask);
/* Whether `thread`, of the cluster, has fenced since `time`. */
bool ptx_fenced(const ptx_checking *c, unsigned thread, uint32_t time);
/* The copier that a copy begun by `thread` counts as. */
unsigned ptx_order_copy(ptx_checking *c, ptx_place barrier, unsigned thread);

#endif
