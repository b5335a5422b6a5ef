/* Instrumentation interface: the interpreter reports events of a launch (instructions, memory accesses,
   synchronisation) to observers. Without observers it costs no time.

   An observer has one state per resident block. A worker reuses it for consecutive blocks, so hooks need no
   lock. */
#ifndef PTXSIM_HOOKS_H
#define PTXSIM_HOOKS_H

#include "interpreter/state.h"

/* One memory instruction of a warp, reported before it executes. Accesses with generic addresses are reported
   per state space, so that one instruction may cause two events. */
typedef struct ptx_access {
    ptx_effect effect; /* load, store or atomic */
    ptx_space space; /* PTX_SPACE_SHARED, PTX_SPACE_GLOBAL, or _CLUSTER: the shared memory of another block */
    uint32_t mask;   /* lanes, not empty */
    unsigned bytes;  /* per lane, all elements of a vector together */
    bool packed;     /* the address of lane i is address[0] + i * bytes, for all lanes */
    bool async_completion; /* the completion of a copy whose issue was reported by `async` */
    uint64_t address[PTX_LANES];
} ptx_access;

/* An address in the shared memory of a block of the cluster. */
typedef struct ptx_shared_address {
    const ptx_block *block; /* NULL: not in shared memory */
    uint64_t offset;
} ptx_shared_address;

/* An asynchronous copy, or a st.async. It completes on an mbarrier, or, if `grouped`, when the issuing thread
   waits for its commit group. */
typedef struct ptx_async {
    unsigned lane;
    bool grouped; /* the completion is reported, too: into shared memory as an access, otherwise with
                     `completed` */
    bool completed;
    bool multicast_repeat; /* a further destination of a multicast copy */
    uint64_t bytes;
    ptx_shared_address to, from, barrier; /* bytes; `block` is NULL outside shared memory */
} ptx_async;

/* A state change of an mbarrier. */
typedef struct ptx_mbarrier_event {
    unsigned lane;
    ptx_shared_address at;
    bool arrives;      /* the lane arrives; otherwise only the tx-count changes */
    bool completes_tx; /* bytes have completed */
    bool ends_phase;   /* the phase completes */
} ptx_mbarrier_event;

typedef struct ptx_hooks {
    bool one_thread; /* the blocks run on one host thread */
    /* Creates the state for one resident block; NULL if memory ran out. Every hook may be NULL; without
       attach and detach the observer itself is the state of all blocks, which several threads may run at
       once. */
    void *(*attach)(ptx_observer *self, const ptx_worker *worker);
    /* Merges the state into the observer's results and frees it. Only the launching thread calls it. */
    void (*detach)(ptx_observer *self, void *state);
    void (*block_begin)(void *state, const ptx_block *block);
    void (*block_end)(void *state, const ptx_block *block);
    /* An instruction for the lanes warp->active; `mask` are the lanes whose guard is true, of a branch those
       that take it. */
    void (*issue)(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask);
    void (*access)(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access);
    /* bar.warp.sync of the lanes in `members`, or another instruction that orders their accesses. */
    void (*warp_sync)(void *state, const ptx_warp *warp, uint32_t members);
    /* A shuffle reads from an inactive lane. */
    void (*absent_source)(void *state, const ptx_warp *warp, const ptx_instr *in, unsigned lane,
                          unsigned source);
    /* A barrier of the block releases the warps of `mask`. */
    void (*barrier)(void *state, const ptx_block *block, uint32_t mask);
    /* A warp arrives at a barrier without waiting (barrier.arrive). */
    void (*barrier_arrive)(void *state, const ptx_warp *warp, uint32_t barrier);
    /* The barrier of the cluster completes. */
    void (*cluster_barrier)(void *state, const ptx_block *block);
    void (*async)(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy);
    /* fence.proxy.async for shared memory: the async proxy sees the writes of these lanes. */
    void (*async_fence)(void *state, const ptx_warp *warp, uint32_t mask);
    void (*mbarrier)(void *state, const ptx_warp *warp, const ptx_mbarrier_event *arrival);
    /* The lanes of `mask` have observed the end of a phase. */
    void (*mbarrier_wait)(void *state, const ptx_warp *warp, ptx_shared_address at, uint32_t mask);
    /* The launch fails at this instruction. */
    void (*fault)(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status);
} ptx_hooks;

struct ptx_observer {
    const ptx_hooks *hooks;
};

/* Notifications by the interpreter, called only if observers are attached. */
ptx_status ptx_hooks_attach(ptx_block *block, ptx_error *error);
void ptx_hooks_detach(ptx_block *block);
void ptx_hooks_block(const ptx_block *block, bool begins);
void ptx_hooks_issue(const ptx_warp *warp, const ptx_instr *in, uint32_t mask);
/* An access that ptx_hooks_issue does not report. */
void ptx_hooks_access(const ptx_warp *warp, const ptx_instr *in, const ptx_access *access);
void ptx_hooks_warp_sync(const ptx_warp *warp);
void ptx_hooks_absent_source(const ptx_warp *warp, const ptx_instr *in, unsigned lane, unsigned source);
void ptx_hooks_barrier(const ptx_block *block, uint32_t mask);
void ptx_hooks_barrier_arrive(const ptx_warp *warp, uint32_t barrier);
void ptx_hooks_cluster_barrier(const ptx_block *block);
void ptx_hooks_async(const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy);
void ptx_hooks_async_fence(const ptx_warp *warp, uint32_t mask);
void ptx_hooks_mbarrier(const ptx_warp *warp, const ptx_mbarrier_event *arrival);
void ptx_hooks_mbarrier_wait(const ptx_warp *warp, ptx_shared_address at, uint32_t mask);
void ptx_hooks_fault(const ptx_warp *warp, const ptx_instr *in, ptx_status status);

#endif
