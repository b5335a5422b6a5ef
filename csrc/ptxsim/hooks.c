#include "hooks.h"

#include "diagnostic.h"
#include "executor.h"

/* Calls one hook of every observer that has it. */
#define TELL(worker, hook, ...)                                                                              \
    for (unsigned o = 0; o < (worker)->observer_count; o++)                                                  \
        if ((worker)->observers[o].hooks->hook)                                                              \
    (worker)->observers[o].hooks->hook((worker)->observers[o].state, __VA_ARGS__)

ptx_status ptx_hooks_attach(ptx_worker *worker, ptx_error *error) {
    const ptx_launch_config *config = worker->run->config;
    if (config->observer_count > PTX_OBSERVERS)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "%zu observers; a launch takes up to %d",
                        config->observer_count, PTX_OBSERVERS);
    for (size_t i = 0; i < config->observer_count; i++) {
        ptx_observer *observer = config->observers[i];
        void *state = observer->hooks->attach(observer, worker);
        if (!state)
            return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for the observers of a launch");
        worker->observers[worker->observer_count].hooks = observer->hooks;
        worker->observers[worker->observer_count++].state = state;
    }
    return PTX_OK;
}

void ptx_hooks_detach(ptx_worker *worker) {
    for (unsigned i = 0; i < worker->observer_count; i++) {
        ptx_observer *observer = worker->run->config->observers[i];
        observer->hooks->detach(observer, worker->observers[i].state);
    }
    worker->observer_count = 0;
}

void ptx_hooks_block(const ptx_worker *worker, bool begins) {
    if (begins) {
        TELL(worker, block_begin, worker);
    } else {
        TELL(worker, block_end, worker);
    }
}

void ptx_hooks_barrier(const ptx_worker *worker, uint32_t mask) {
    TELL(worker, barrier, worker, mask);
}

void ptx_hooks_fault(const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    TELL(warp->worker, fault, warp, in, status);
}

static void tell_access(const ptx_warp *warp, const ptx_instr *in, ptx_access *access, ptx_space space,
                        uint32_t mask) {
    if (!mask)
        return;
    access->space = space;
    access->mask = mask;
    TELL(warp->worker, access, warp, in, access);
}

static void observe_access(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    ptx_access access;
    access.effect = (ptx_effect)in->effect;
    access.bytes = ptx_type_bytes(in->type) * in->vector;
    access.packed = false;
    if (in->address == PTX_ADDRESS_UNIFORM) {
        const ptx_u64 *a = ptx_lanes(warp, in, PTX_ADDRESS_OPERAND);
        for (unsigned i = 0; i < PTX_LANES; i++)
            access.address[i] = a[0];
    } else {
        access.packed = ptx_read_addresses(warp, in, access.bytes, access.address);
    }
    if (in->space != PTX_SPACE_GENERIC) {
        tell_access(warp, in, &access, (ptx_space)in->space, mask);
        return;
    }
    uint32_t shared = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        shared |= (uint32_t)(access.address[i] - PTX_SHARED_WINDOW < PTX_SHARED_WINDOW_BYTES) << i;
    tell_access(warp, in, &access, PTX_SPACE_GLOBAL, mask & ~shared);
    for (unsigned i = 0; i < PTX_LANES; i++)
        access.address[i] -= PTX_SHARED_WINDOW;
    tell_access(warp, in, &access, PTX_SPACE_SHARED, mask & shared);
}

/* Lanes may name different members; each group is told once. */
static void observe_warp_sync(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    const ptx_u32 *members = ptx_lanes(warp, in, 0);
    while (mask) {
        uint32_t group = members[__builtin_ctz(mask)];
        TELL(warp->worker, warp_sync, warp, group);
        mask &= mask - 1;
        mask &= ~group;
    }
}

void ptx_hooks_issue(const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    TELL(warp->worker, issue, warp, in, mask);
    if (!mask || in->effect == PTX_EFFECT_NONE)
        return;
    if (in->effect == PTX_EFFECT_WARP_SYNC)
        observe_warp_sync(warp, in, mask);
    else if (in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST)
        observe_access(warp, in, mask);
}
