/* The run-time state of a launch: run, workers, clusters, blocks, warps, and their pending asynchronous
   operations. */
#ifndef PTXSIM_STATE_H
#define PTXSIM_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "environment.h"
#include "interpreter/memory.h"
#include "ir.h"

typedef struct ptx_run ptx_run;
typedef struct ptx_worker ptx_worker;
typedef struct ptx_block ptx_block;
typedef struct ptx_cluster ptx_cluster;
typedef struct ptx_wgmma_state ptx_wgmma_state;
typedef struct ptx_printed ptx_printed;

/* Status of a handler: the instruction is done, and the warp should yield to others. */
#define PTX_YIELD ((ptx_status)0x100)

/* Status of a handler: some lanes that the instruction needs have diverged and may still reconverge here;
   retry. */
#define PTX_DIVERGED_RETRY ((ptx_status)0x101)

/* Status of a handler: the instruction is done, but the warp polls memory that no running warp will
   change. */
#define PTX_NO_PROGRESS ((ptx_status)0x103)

/* Status of a warp: its next access needs the ticket of its cluster; see tickets.h. */
#define PTX_AWAIT_TICKET ((ptx_status)0x102)

/* An entry of the divergence stack: its lanes continue at `pc` until they reach `reconvergence_pc`. */
typedef struct ptx_stack_entry {
    uint32_t pc, reconvergence_pc, mask;
    bool blocked; /* its instruction needs lanes that have diverged */
} ptx_stack_entry;

/* The last values that a polling instruction read from the addresses of its lanes. */
typedef struct ptx_poll {
    uint64_t place; /* digest of the instruction, the lanes and the addresses; 0: an empty entry */
    uint64_t seen;  /* digest of the values that were read */
    uint32_t round; /* poll_round of the warp at that time */
} ptx_poll;

/* Each level of divergence splits the active lanes, so that 31 levels of two entries suffice. */
enum { PTX_STACK_DEPTH = 64, PTX_MAX_WARPS = 32, PTX_BARRIERS = 16, PTX_MAX_OBSERVERS = 5, PTX_RECENT = 16 };

/* A warp split; see splits.h. */
typedef struct ptx_split {
    uint32_t pc, reconvergence_pc, active, depth;
    bool blocked; /* its instruction needs lanes of other splits */
    ptx_stack_entry stack[PTX_STACK_DEPTH];
} ptx_split;

/* A cp.async that is not complete. It is performed when its lane waits for the group. The source bytes at
   issue are kept: a byte that has changed since is poisoned, as its value is undefined. */
typedef struct ptx_pending_copy {
    const ptx_instr *in;
    unsigned lane, bytes, source_bytes; /* source_bytes are copied, zeros follow */
    uint32_t group;
    uint64_t address; /* bytes, in shared memory */
    uint8_t *to;
    const uint8_t *from;
    uint8_t at_issue[16];
} ptx_pending_copy;

/* A tile of a tensor: the tensor map and the coordinates of the first element. */
typedef struct ptx_tile {
    ptx_tensor tensor; /* rank 0: no tile */
    int32_t at[5];
} ptx_tile;

/* A bulk copy out of shared memory, performed when its lane waits for the group
   (cp.async.bulk.wait_group). */
typedef struct ptx_pending_store {
    const ptx_instr *in;
    unsigned lane;
    uint32_t bytes, group;
    ptx_tile tile; /* the destination, unless its rank is 0: then `to` */
    uint8_t *to;
    const uint8_t *from;
} ptx_pending_store;

typedef enum ptx_warp_state {
    PTX_WARP_READY,
    PTX_WARP_WAITING,    /* at a barrier of the block */
    PTX_WARP_AT_CLUSTER, /* at the barrier of the cluster */
    PTX_WARP_DONE
} ptx_warp_state;

typedef struct ptx_warp {
    uint8_t *registers;
    uint32_t *predicates;
    ptx_worker *worker;
    ptx_block *block;
    uint32_t pc, reconvergence_pc, active;
    uint32_t live; /* mask of the lanes that have not exited */
    uint32_t index;
    ptx_warp_state state;
    uint32_t barrier; /* barrier index while waiting; `expected` is its number of warps, 0 for all */
    uint32_t expected;
    uint32_t cluster_arrived;  /* lanes that arrived at the cluster barrier, which is incomplete */
    uint32_t cluster_released; /* lanes that arrived at a completed cluster barrier and have not waited yet */
    ptx_poll *polls;           /* a hash table, see poll.c; NULL before the first poll */
    size_t poll_count, poll_capacity;
    uint32_t poll_round; /* changes when a poll reads something new, and after a round in which none did */
    bool progressed;     /* a poll read something new in this quantum */
    bool stalled;        /* the last quantum ended because polls read nothing new */
    uint64_t digest;
    uint32_t quantum_left; /* instructions left of the quantum that ended at PTX_AWAIT_TICKET, otherwise 0 */
    uint64_t clock;
    ptx_pending_copy *pending_copies;
    size_t pending_copy_count, pending_copy_capacity;
    uint32_t copy_groups[PTX_LANES]; /* committed cp.async groups per lane */
    ptx_pending_store *pending_stores;
    size_t pending_store_count, pending_store_capacity;
    uint32_t store_groups[PTX_LANES]; /* committed bulk groups per lane */
    bool no_more_lanes;               /* diverged lanes will not reconverge at the current instruction */
    ptx_wgmma_state *wgmma;           /* NULL before the first wgmma */
    uint64_t warpgroup_digest; /* digest of the setmaxnreg and wgmma instructions executed; `warpgroup_last`
                                  is the last one */
    const ptx_instr *warpgroup_last;
    uint32_t depth;
    ptx_stack_entry stack[PTX_STACK_DEPTH];
    ptx_split *splits; /* the splits that are not running; NULL before the first */
    uint32_t split_count;
} ptx_warp;

/* A range of simulated memory and its host pointer. */
typedef struct ptx_window {
    uint64_t address;
    uint64_t bytes;
    uint8_t *host;
    uint64_t last; /* offset of the previous access, to predict the next one */
} ptx_window;

/* An observer and its state for a resident block; see hooks.h. */
typedef struct ptx_attached_observer {
    const struct ptx_hooks *hooks;
    void *state;
} ptx_attached_observer;

/* A barrier with a reduction (barrier.red): threads that arrived, and threads whose predicate was true. */
typedef struct ptx_barrier_reduction {
    uint32_t threads, true_threads;
} ptx_barrier_reduction;

/* A growing text. */
typedef struct ptx_text {
    char *bytes;
    size_t length, capacity;
} ptx_text;

/* A resident thread block. */
struct ptx_block {
    ptx_worker *worker;
    ptx_cluster *cluster;
    uint32_t rank; /* in its cluster */
    uint32_t index[3];
    uint64_t number;          /* linear block index in the grid */
    uint32_t round;           /* barriers of all its warps so far */
    ptx_window shared, local; /* `local` has the local memory of all threads, one after the other */
    unsigned live_warps;
    unsigned waiting[PTX_BARRIERS];
    uint32_t barrier_arrivals[PTX_BARRIERS]; /* masks of the warps that executed barrier.arrive since the
                                                barrier last completed */
    ptx_barrier_reduction reductions[PTX_BARRIERS];
    uint8_t *registers;
    uint32_t *predicates;
    unsigned observer_count;
    ptx_attached_observer observers[PTX_MAX_OBSERVERS];
    ptx_text text; /* output of printf */
    ptx_warp warps[PTX_MAX_WARPS];
};

/* A bulk copy into shared memory that completes on an mbarrier, with the warp and the instruction that issued
   it. */
typedef struct ptx_bulk_copy {
    ptx_warp *warp;
    const ptx_instr *in;
    unsigned lane;
    uint32_t bytes;
    uint8_t *to, *barrier;
    const uint8_t *from; /* NULL: the source is `tile` */
    ptx_tile tile;
} ptx_bulk_copy;

/* Blocks that run concurrently; a single block if the kernel is launched without clusters. */
struct ptx_cluster {
    ptx_cluster *next;
    uint64_t index;        /* position in the order in which clusters start */
    bool has_ticket;       /* may perform accesses that other blocks can observe; see tickets.h */
    uint64_t sweeps_ahead; /* sweeps that it completed before it got its ticket */
    unsigned block, warp;  /* where the interrupted sweep continues */
    unsigned live_blocks;  /* blocks, and threads, that have not exited */
    uint32_t live_threads, arrived_threads;
    ptx_bulk_copy *bulk_copies;
    size_t bulk_copy_count, bulk_copy_capacity;
    ptx_block *blocks[PTX_MAX_CLUSTER];
};

/* What to do about warps that poll without progress. */
typedef enum ptx_stall_action {
    PTX_STALL_WAIT,    /* keep polling */
    PTX_STALL_SPLIT,   /* the first warp with lanes at reconvergence points runs those as a split */
    PTX_STALL_DEADLOCK /* no warp has such lanes: report a deadlock */
} ptx_stall_action;

/* One host thread's share of a launch: it runs one cluster at a time, or several that wait for each other. */
struct ptx_worker {
    ptx_run *run;
    const ptx_kernel *kernel;
    ptx_window params, recent[PTX_RECENT]; /* `recent`: allocations that were accessed last */
    const ptx_view *view;
    unsigned warp_count; /* per block */
    ptx_cluster *running, *idle;
    unsigned resident; /* blocks of the running clusters */
    ptx_stall_action stall_action;
    uint64_t news;  /* number of polls that read something new */
    uint64_t steps; /* executed, but not yet added to the run's */
    bool caller;    /* runs on the thread that called ptx_launch */
    ptx_environment environment;
    uint64_t last_poll; /* nanoseconds; when the interrupt callback was last called */
    ptx_error error;
};

/* The commit order of clusters, a ticket lock under the run's lock; see tickets.h. */
typedef struct ptx_tickets {
    struct ptx_ticket_slot *slots;
    size_t capacity; /* of `slots`: maximal number of clusters that have started without their ticket */
    uint64_t next_ticket, now_serving; /* next_ticket: the next cluster to start; now_serving: the next
                                          cluster to get the ticket once it is not held */
    bool held;
    bool adopting;                 /* the holder waits for the next cluster */
    unsigned waiting_for_capacity; /* number of workers that wait for a free slot */
    pthread_cond_t changed;
} ptx_tickets;

/* One launch, shared by its workers. */
struct ptx_run {
    const ptx_kernel *kernel;
    ptx_memory *memory;
    ptx_view view;
    const ptx_launch_config *config;
    unsigned block_threads;
    uint32_t cluster[3], clusters[3]; /* blocks per cluster, clusters per grid */
    unsigned cluster_blocks;
    bool explicit_cluster;
    size_t dynamic_base, shared_bytes; /* bytes per block: offset of the dynamic part, and total */
    uint64_t cluster_count;
    uint64_t order_factor; /* of the permutation order_factor * i mod cluster_count; 0: default order */
    unsigned max_resident; /* maximal number of resident blocks per worker */
    _Atomic uint64_t next_cluster;
    _Atomic uint64_t steps;
    _Atomic uint64_t printed_bytes;
    _Atomic uint64_t failed_cluster; /* the lowest failed cluster, UINT64_MAX if none */
    _Atomic bool stop;               /* budget used up or interrupted: all workers stop */
    pthread_mutex_t lock;            /* protects the following fields */
    pthread_cond_t finished;
    ptx_tickets tickets;
    bool forked; /* the process forked during the launch, so that the helper threads do not exist in it */
    bool uses_tickets;    /* blocks may communicate and there are several host threads */
    unsigned running;     /* helper threads that have not finished */
    ptx_printed *printed; /* output of finished blocks */
    size_t printed_count, printed_capacity;
    ptx_status status;
    ptx_error error;
};

#endif
