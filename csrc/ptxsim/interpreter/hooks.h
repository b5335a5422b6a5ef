/* Observers: what an executor tells those who watch a launch. With none attached it tells nobody and loses no
   time. An observer keeps a state for each place that a block can run in, which sees one block after the
   other, so that its hooks need no lock. */
#ifndef PTXSIM_HOOKS_H
#define PTXSIM_HOOKS_H

#include "interpreter/state.h"

/* One memory instruction of a warp, before it is executed. An instruction with generic addresses is told
   apart by where its lanes point, so that it may be two of these. */
typedef struct ptx_access {
    ptx_effect effect; /* load, store or atomic */
    ptx_space space;   /* PTX_SPACE_SHARED, PTX_SPACE_GLOBAL, or _CLUSTER: another block's shared memory */
    uint32_t mask;     /* never empty */
    unsigned bytes;    /* a lane, the elements of a vector together */
    bool packed;       /* lane i's address is address[0] + i * bytes, in every lane */
    bool async_completion; /* the end of a copy that `async` told of when it began, see ptx_async */
    uint64_t address[PTX_LANES];
} ptx_access;

/* A place in the shared memory of a block of the cluster. */
typedef struct ptx_shared_address {
    const ptx_block *block; /* NULL: none */
    uint64_t offset;
} ptx_shared_address;

/* A copy by the hardware, or a store that reports to an mbarrier: when it is done nobody knows but those who
   wait there, or, where it is one of a group, the thread that began it and waits for the group. */
typedef struct ptx_async {
    unsigned lane;
    bool grouped; /* its end is told of: of one into shared memory as an access, else by `over` */
    bool completed;
    bool multicast_repeat; /* what this instruction copied has gone to another block before, and goes to this
                              one, too */
    uint64_t bytes;
    ptx_shared_address to, from, barrier; /* without block where that is not shared memory */
} ptx_async;

/* What happens to an mbarrier. */
typedef struct ptx_mbarrier_event {
    unsigned lane;
    ptx_shared_address at;
    bool arrives;      /* the lane, else only bytes are counted */
    bool completes_tx; /* bytes have come */
    bool ends_phase;   /* the phase */
} ptx_mbarrier_event;

typedef struct ptx_hooks {
    /* The state for one place; NULL when memory ran out. The rest may be NULL where nothing is wanted.
     */
    void *(*attach)(ptx_observer *self, const ptx_worker *worker);
    /* Adds the state to the observer's results and frees it. Called by the launching thread alone. */
    void (*detach)(ptx_observer *self, void *state);
    void (*block_begin)(void *state, const ptx_block *block);
    void (*block_end)(void *state, const ptx_block *block);
    /* An instruction reached by warp->active; `mask` are the lanes whose guard lets them: of a branch, those
       that take it. */
    void (*issue)(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask);
    void (*access)(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access);
    /* bar.warp.sync of the lanes that `members` names, or something else that orders what they do. */
    void (*warp_sync)(void *state, const ptx_warp *warp, uint32_t members);
    /* A shuffle of a lane reads from one that does not execute it. */
    void (*absent_source)(void *state, const ptx_warp *warp, const ptx_instr *in, unsigned lane,
                          unsigned source);
    /* A barrier of the block lets the warps of `mask` go on. */
    void (*barrier)(void *state, const ptx_block *block, uint32_t mask);
    /* A warp has arrived at a barrier and goes on. */
    void (*barrier_arrive)(void *state, const ptx_warp *warp, uint32_t barrier);
    /* All threads of the block's cluster have arrived at the barrier of the cluster. */
    void (*cluster_barrier)(void *state, const ptx_block *block);
    void (*async)(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy);
    /* fence.proxy.async of shared memory: copies by the hardware see what these lanes have written. */
    void (*async_fence)(void *state, const ptx_warp *warp, uint32_t mask);
    void (*mbarrier)(void *state, const ptx_warp *warp, const ptx_mbarrier_event *arrival);
    /* The lanes of `mask` have seen that a phase is over. */
    void (*mbarrier_wait)(void *state, const ptx_warp *warp, ptx_shared_address at, uint32_t mask);
    /* The launch is about to fail at this instruction. */
    void (*fault)(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status);
} ptx_hooks;

struct ptx_observer {
    const ptx_hooks *hooks;
};

/* For the executor, which calls them only with observers attached. */
ptx_status ptx_hooks_attach(ptx_block *block, ptx_error *error);
void ptx_hooks_detach(ptx_block *block);
void ptx_hooks_block(const ptx_block *block, bool begins);
void ptx_hooks_issue(const ptx_warp *warp, const ptx_instr *in, uint32_t mask);
/* An access that is not told of by its instruction's being issued. */
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
