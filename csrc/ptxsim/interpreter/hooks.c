/* Dispatches events to the observers of a block. */
#include "interpreter/hooks.h"

#include "diagnostic.h"
#include "interpreter/lanes.h"

/* Calls a hook of every observer that implements it. */
#define NOTIFY(block, hook, ...)                                                                             \
    for (unsigned o = 0; o < (block)->observer_count; o++)                                                   \
        if ((block)->observers[o].hooks->hook)                                                               \
    (block)->observers[o].hooks->hook((block)->observers[o].state, __VA_ARGS__)

ptx_status ptx_hooks_attach(ptx_block *block, ptx_error *error) {
    const ptx_launch_config *config = block->worker->run->config;
    if (config->observer_count > PTX_MAX_OBSERVERS)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "%zu observers; a launch takes up to %d",
                        config->observer_count, PTX_MAX_OBSERVERS);
    for (size_t i = 0; i < config->observer_count; i++) {
        ptx_observer *observer = config->observers[i];
        void *state = observer->hooks->attach ? observer->hooks->attach(observer, block->worker) : observer;
        if (!state)
            return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for the observers of a launch");
        block->observers[block->observer_count].hooks = observer->hooks;
        block->observers[block->observer_count++].state = state;
    }
    return PTX_OK;
}

void ptx_hooks_detach(ptx_block *block) {
    for (unsigned i = 0; i < block->observer_count; i++) {
        ptx_observer *observer = block->worker->run->config->observers[i];
        if (observer->hooks->detach)
            observer->hooks->detach(observer, block->observers[i].state);
    }
    block->observer_count = 0;
}

void ptx_hooks_block(const ptx_block *block, bool begins) {
    if (begins) {
        NOTIFY(block, block_begin, block);
    } else {
        NOTIFY(block, block_end, block);
    }
}

void ptx_hooks_access(const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    NOTIFY(warp->block, access, warp, in, access);
}

void ptx_hooks_warp_sync(const ptx_warp *warp) {
    NOTIFY(warp->block, warp_sync, warp, PTX_ALL_LANES);
}

void ptx_hooks_barrier(const ptx_block *block, uint32_t mask) {
    NOTIFY(block, barrier, block, mask);
}

void ptx_hooks_barrier_arrive(const ptx_warp *warp, uint32_t barrier) {
    NOTIFY(warp->block, barrier_arrive, warp, barrier);
}

void ptx_hooks_absent_source(const ptx_warp *warp, const ptx_instr *in, unsigned lane, unsigned source) {
    NOTIFY(warp->block, absent_source, warp, in, lane, source);
}

void ptx_hooks_cluster_barrier(const ptx_block *block) {
    NOTIFY(block, cluster_barrier, block);
}

void ptx_hooks_async(const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy) {
    NOTIFY(warp->block, async, warp, in, copy);
}

void ptx_hooks_async_fence(const ptx_warp *warp, uint32_t mask) {
    NOTIFY(warp->block, async_fence, warp, mask);
}

void ptx_hooks_mbarrier(const ptx_warp *warp, const ptx_mbarrier_event *arrival) {
    NOTIFY(warp->block, mbarrier, warp, arrival);
}

void ptx_hooks_mbarrier_wait(const ptx_warp *warp, ptx_shared_address at, uint32_t mask) {
    NOTIFY(warp->block, mbarrier_wait, warp, at, mask);
}

void ptx_hooks_fault(const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    NOTIFY(warp->block, fault, warp, in, status);
}

static void notify_access(const ptx_warp *warp, const ptx_instr *in, ptx_access *access, ptx_space space,
                          uint32_t mask) {
    if (!mask)
        return;
    access->space = space;
    access->mask = mask;
    NOTIFY(warp->block, access, warp, in, access);
}

static void observe_access(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    ptx_access access;
    access.effect = (ptx_effect)in->effect;
    access.bytes = ptx_type_bytes(in->type) * in->vector;
    access.packed = access.async_completion = false;
    if (in->address == PTX_ADDRESS_UNIFORM) {
        const ptx_u64 *a = ptx_base_lanes(warp, in);
        for (unsigned i = 0; i < PTX_LANES; i++)
            access.address[i] = a[0];
    } else {
        access.packed = ptx_read_addresses(warp, in, access.bytes, access.address);
    }
    if (in->space == PTX_SPACE_LOCAL)
        return;
    if (in->space != PTX_SPACE_GENERIC && in->space != PTX_SPACE_CLUSTER) {
        notify_access(warp, in, &access, (ptx_space)in->space, mask);
        return;
    }
    u64 window = in->space == PTX_SPACE_GENERIC ? PTX_SHARED_WINDOW : 0;
    uint32_t own_block = 0, other_blocks = 0, private = 0;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        u64 offset = access.address[i] - window;
        own_block |= (uint32_t)(offset < PTX_SHARED_PART) << i;
        private |= (uint32_t)(window &&
                              access.address[i] - PTX_LOCAL_WINDOW < PTX_VARIABLES_WINDOW - PTX_LOCAL_WINDOW)
                   << i;
        other_blocks |= (uint32_t)(offset >= PTX_SHARED_PART && offset < PTX_SHARED_WINDOW_BYTES) << i;
    }
    notify_access(warp, in, &access, PTX_SPACE_GLOBAL, mask & ~own_block & ~other_blocks & ~private);
    for (unsigned i = 0; i < PTX_LANES; i++)
        access.address[i] -= window;
    notify_access(warp, in, &access, PTX_SPACE_SHARED, mask & own_block);
    notify_access(warp, in, &access, PTX_SPACE_CLUSTER, mask & other_blocks);
}

/* Lanes may have different membermasks; each group is reported once. */
static void observe_warp_sync(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    const ptx_u32 *members = ptx_lanes(warp, in, 0);
    while (mask) {
        uint32_t group = members[__builtin_ctz(mask)];
        NOTIFY(warp->block, warp_sync, warp, group);
        mask &= mask - 1;
        mask &= ~group;
    }
}

void ptx_hooks_issue(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    NOTIFY(warp->block, issue, warp, in, mask);
    if (!mask || in->effect == PTX_EFFECT_NONE)
        return;
    if (in->effect == PTX_EFFECT_WARP_SYNC)
        observe_warp_sync(warp, in, mask);
    else if (in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST)
        observe_access(warp, in, mask);
}
