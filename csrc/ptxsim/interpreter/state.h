/* What a launch consists of while it runs: its workers, their clusters, blocks and warps. */
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

/* What a handler returns when its warp should let others go on: the instruction is done. */
#define PTX_YIELD ((ptx_status)0x100)

/* What a handler returns where lanes that it needs are elsewhere, before it is sure that they won't come. */
#define PTX_DIVERGED_RETRY ((ptx_status)0x101)

/* What a handler returns where its warp waits for memory that nothing running will change: the instruction is
   done. */
#define PTX_NO_PROGRESS ((ptx_status)0x103)

/* What a warp returns that has come to an access for which it is not its cluster's turn. */
#define PTX_AWAIT_TICKET ((ptx_status)0x102)

/* Lanes that wait for others: they go on at `pc` until they reach `meeting`. */
typedef struct ptx_stack_entry {
    uint32_t pc, reconvergence_pc, mask;
    bool blocked; /* by an instruction that needs lanes that are elsewhere */
} ptx_stack_entry;

/* What an instruction that waits for others saw the last time. */
typedef struct ptx_poll {
    const ptx_instr *in;
    uint32_t mask;
    uint64_t seen;
} ptx_poll;

/* Each level of divergence splits the active lanes, so 31 levels of two entries are the most there can be. */
enum {
    PTX_STACK_DEPTH = 64,
    PTX_MAX_WARPS = 32,
    PTX_BARRIERS = 16,
    PTX_POLLS = 4,
    PTX_MAX_OBSERVERS = 4,
    PTX_RECENT = 16
};

/* Lanes of a warp that run by themselves; see splits.h. */
typedef struct ptx_split {
    uint32_t pc, reconvergence_pc, active, depth;
    bool blocked; /* by an instruction that needs lanes of other splits */
    ptx_stack_entry stack[PTX_STACK_DEPTH];
} ptx_split;

/* A copy by cp.async, which is done when its lane waits for it. What the source held when it began is kept:
   bytes that are others by then came to nobody knows what. */
typedef struct ptx_pending_copy {
    const ptx_instr *in;
    unsigned lane, bytes, source_bytes; /* `given` bytes are copied, zeros follow */
    uint32_t group;
    uint64_t address; /* in shared memory */
    uint8_t *to;
    const uint8_t *from;
    uint8_t at_issue[16];
} ptx_pending_copy;

/* A tile of a tensor: which one its map and the coordinates of its first element say. */
typedef struct ptx_tile {
    ptx_tensor tensor; /* of rank 0: none */
    int32_t at[5];
} ptx_tile;

/* A bulk copy out of shared memory, which is done when its lane waits for it. */
typedef struct ptx_pending_store {
    const ptx_instr *in;
    unsigned lane;
    uint32_t bytes, group;
    ptx_tile tile; /* that it goes to, else to `to` */
    uint8_t *to;
    const uint8_t *from;
} ptx_pending_store;

typedef enum ptx_warp_state {
    PTX_WARP_READY,
    PTX_WARP_WAITING,    /* at a barrier of its block */
    PTX_WARP_AT_CLUSTER, /* at the barrier of its cluster */
    PTX_WARP_DONE
} ptx_warp_state;

typedef struct ptx_warp {
    uint8_t *registers;
    uint32_t *predicates;
    ptx_worker *worker;
    ptx_block *block;
    uint32_t pc, reconvergence_pc, active;
    uint32_t live; /* lanes that have not exited */
    uint32_t index;
    ptx_warp_state state;
    uint32_t barrier; /* while waiting: which one, and for how many warps, 0 for all */
    uint32_t expected;
    uint32_t cluster_arrived;  /* lanes that arrived at the cluster's barrier, which is not complete */
    uint32_t cluster_released; /* lanes that arrived at one that is, and have not waited for it yet */
    ptx_poll polls[PTX_POLLS];
    uint32_t next_poll;
    bool progressed; /* in this turn it found something new */
    bool stalled;    /* its last turn ended because it found nothing new */
    uint64_t digest;
    uint32_t quantum_left; /* steps of its quantum, when it came early to an access */
    uint64_t clock;
    ptx_pending_copy *pending_copies;
    size_t pending_copy_count, pending_copy_capacity;
    uint32_t copy_groups[PTX_LANES]; /* of late copies that each lane has closed */
    ptx_pending_store *pending_stores;
    size_t pending_store_count, pending_store_capacity;
    uint32_t store_groups[PTX_LANES]; /* of outgoing copies, likewise */
    bool no_more_lanes;               /* lanes that an instruction misses will not come */
    ptx_wgmma_state *wgmma;           /* of wgmma, NULL before the first */
    uint64_t warpgroup_digest;        /* a digest of what setmaxnreg has been told, and the last one */
    const ptx_instr *warpgroup_last;
    uint32_t depth;
    ptx_stack_entry stack[PTX_STACK_DEPTH];
    ptx_split *splits; /* those that do not run now; NULL before the first */
    uint32_t split_count;
} ptx_warp;

/* A stretch of simulated memory and where its bytes are. */
typedef struct ptx_window {
    uint64_t address;
    uint64_t bytes;
    uint8_t *host;
    uint64_t last; /* the offset of the access before, where lanes follow each other */
} ptx_window;

/* An observer and its state for a block's place, which holds one block at a time; see hooks.h. */
typedef struct ptx_attached {
    const struct ptx_hooks *hooks;
    void *state;
} ptx_attached;

/* The threads that have come to a barrier that counts or combines predicates, and how many said yes. */
typedef struct ptx_votes {
    uint32_t threads, yes;
} ptx_votes;

/* Text that grows. */
typedef struct ptx_text {
    char *bytes;
    size_t length, capacity;
} ptx_text;

/* A thread block under way. */
struct ptx_block {
    ptx_worker *worker;
    ptx_cluster *cluster;
    uint32_t rank; /* in its cluster */
    uint32_t index[3];
    ptx_window shared, local; /* `local`: of all threads, one behind the other */
    unsigned live_warps;
    unsigned waiting[PTX_BARRIERS];
    uint32_t barrier_arrivals[PTX_BARRIERS]; /* warps that have arrived there and gone on */
    ptx_votes votes[PTX_BARRIERS];
    uint8_t *registers;
    uint32_t *predicates;
    unsigned observer_count;
    ptx_attached observers[PTX_MAX_OBSERVERS];
    ptx_text text; /* that it printed */
    ptx_warp warps[PTX_MAX_WARPS];
};

/* A bulk copy that has begun and will report to an mbarrier; the warp and the instruction that issued it. */
typedef struct ptx_bulk_copy {
    ptx_warp *warp;
    const ptx_instr *in;
    unsigned lane;
    uint32_t bytes;
    uint8_t *to, *barrier;
    const uint8_t *from; /* else a tile */
    ptx_tile tile;
} ptx_bulk_copy;

/* Blocks that run at the same time; one alone where the kernel is launched without clusters. */
struct ptx_cluster {
    ptx_cluster *next;
    uint64_t index;        /* in the order in which clusters begin */
    bool has_ticket;       /* it may do what others can see; see tickets.h */
    uint64_t sweeps_ahead; /* that it has had before it was its turn */
    unsigned block, warp;  /* where its turn under way goes on */
    unsigned live_blocks;  /* blocks, and threads, that have not exited */
    uint32_t live_threads, arrived_threads;
    ptx_bulk_copy *bulk_copies;
    size_t bulk_copy_count, bulk_copy_capacity;
    ptx_block *blocks[PTX_MAX_CLUSTER];
};

/* What becomes of warps that wait for memory in vain. */
typedef enum ptx_stall_action {
    PTX_STALL_WAIT,    /* they wait */
    PTX_STALL_SPLIT,   /* the first one whose lanes wait at reconvergence points lets these run */
    PTX_STALL_DEADLOCK /* no warp had such lanes: it is a deadlock */
} ptx_stall_action;

/* One host thread's share of a launch: a cluster at a time, or several where they wait for each other. */
struct ptx_worker {
    ptx_run *run;
    const ptx_kernel *kernel;
    ptx_window params, recent[PTX_RECENT]; /* `recent` are allocations accessed of late */
    const ptx_view *view;
    unsigned warp_count; /* of a block */
    ptx_cluster *running, *idle;
    unsigned resident; /* blocks of the running clusters */
    ptx_stall_action stall_action;
    uint64_t steps; /* not yet reported to the run */
    bool caller;    /* this is the thread that called ptx_launch */
    ptx_environment environment;
    uint64_t last_poll; /* when it last asked whether to stop, in nanoseconds */
    ptx_error error;
};

/* The turns of clusters, under the run's lock; see tickets.h. */
typedef struct ptx_tickets {
    struct ptx_ticket_slot *slots;
    size_t capacity; /* of `ahead`: as many clusters may have begun and not come to their turn */
    uint64_t next_ticket,
        now_serving; /* the next one to begin, the next one whose turn it is when it is not taken */
    bool held;
    bool adopting;                 /* who has the turn waits for the next cluster */
    unsigned waiting_for_capacity; /* workers that wait for room */
    pthread_cond_t changed;
} ptx_tickets;

/* One launch, shared by its workers. */
struct ptx_run {
    const ptx_kernel *kernel;
    ptx_memory *memory;
    ptx_view view;
    const ptx_launch_config *config;
    unsigned block_threads;
    uint32_t cluster[3], clusters[3]; /* blocks of a cluster, clusters of the grid */
    unsigned cluster_blocks;
    bool explicit_cluster;
    size_t dynamic_base, shared_bytes; /* of a block: where the dynamic part starts, and all of it */
    uint64_t cluster_count;
    _Atomic uint64_t next_cluster;
    _Atomic uint64_t steps;
    _Atomic uint64_t printed_bytes;
    _Atomic uint64_t failed_cluster; /* the lowest that failed, UINT64_MAX while none has */
    _Atomic bool stop;               /* budget or interrupt: nobody goes on */
    pthread_mutex_t lock;            /* guards what follows */
    pthread_cond_t finished;
    ptx_tickets tickets;
    bool forked;          /* in the middle of the launch: the process has none of the helper threads */
    bool uses_tickets;    /* by it: blocks may watch each other, and there are several threads */
    unsigned running;     /* helper threads still at work */
    ptx_printed *printed; /* the text of blocks that have ended */
    size_t printed_count, printed_capacity;
    ptx_status status;
    ptx_error error;
};

#endif
