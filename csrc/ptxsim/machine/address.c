/* Addresses and the host's bytes that they stand for; every access is checked here. */
#include "machine/address.h"

#include "machine/fault.h"

static const char *space_name(unsigned space) {
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER ? "shared"
           : space == PTX_SPACE_PARAM                              ? "param"
                                                                   : "global";
}

/* An address as written, and what it comes to. */
typedef struct target {
    unsigned lane, space;
    u64 address, offset; /* offset: in the window of the space */
    u64 size;
} target;

/* Whether an address can be one of a block of the cluster; a generic one is if it lies in the window. */
static bool in_cluster(const target *t) {
    return t->space == PTX_SPACE_CLUSTER ||
           (t->space == PTX_SPACE_GENERIC && t->address - PTX_SHARED_WINDOW < PTX_SHARED_WINDOW_BYTES);
}

/* The block whose shared memory the address lies in, NULL if the cluster has none there; its own part of the
   window is given in *offset. */
static const ptx_block *find_block(const ptx_warp *w, const target *t, u64 *offset) {
    u64 part = t->offset / PTX_SHARED_PART;
    *offset = t->offset % PTX_SHARED_PART;
    if (part == 0)
        return w->block;
    return part <= PTX_MAX_CLUSTER ? w->block->cluster->blocks[part - 1] : NULL;
}

static ptx_status outside_shared(ptx_warp *w, const ptx_instr *in, const target *t) {
    u64 offset = t->offset;
    const ptx_block *block = in_cluster(t) ? find_block(w, t, &offset) : w->block;
    if (!block)
        return ptx_fault(w, in, (int)t->lane, PTX_ERR_ADDRESS,
                         "the shared address 0x%llx is that of a block %llu, which the cluster does not have",
                         (unsigned long long)t->offset,
                         (unsigned long long)(t->offset / PTX_SHARED_PART - 1));
    if (block->live_warps == 0)
        return ptx_fault(w, in, (int)t->lane, PTX_ERR_ADDRESS,
                         "the shared memory is that of block %u of the cluster, which has ended",
                         block->rank);
    return ptx_fault(w, in, (int)t->lane, PTX_ERR_ADDRESS,
                     "%llu bytes at the shared address 0x%llx are outside the block's %llu bytes",
                     (unsigned long long)t->size, (unsigned long long)offset,
                     (unsigned long long)block->shared.bytes);
}

static ptx_status outside(ptx_warp *w, const ptx_instr *in, const target *t) {
    if (t->space == PTX_SPACE_SHARED || in_cluster(t))
        return outside_shared(w, in, t);
    if (t->space == PTX_SPACE_PARAM)
        return ptx_fault(w, in, (int)t->lane, PTX_ERR_ADDRESS,
                         "%llu bytes at offset %llu are outside the %llu bytes of parameters",
                         (unsigned long long)t->size, (unsigned long long)t->address,
                         (unsigned long long)w->worker->params.bytes);
    return ptx_fault_address(w, in, (int)t->lane, t->address, t->size);
}

static inline bool inside(const ptx_window *window, u64 address, u64 size) {
    u64 offset = address - window->address;
    return size <= window->bytes && offset <= window->bytes - size;
}

/* The window that holds an address, NULL if none does. */
static const ptx_window *find_window(ptx_warp *w, unsigned space, u64 address, u64 size) {
    ptx_worker *worker = w->worker;
    const ptx_window *window = space == PTX_SPACE_SHARED  ? &w->block->shared
                               : space == PTX_SPACE_PARAM ? &worker->params
                                                          : &worker->recent;
    if (inside(window, address, size))
        return window;
    if (window != &worker->recent)
        return NULL;
    const ptx_allocation *found = ptx_view_find(worker->view, address);
    if (!found)
        return NULL;
    worker->recent = (ptx_window){.address = found->address, .bytes = found->bytes, .host = found->host};
    return inside(window, address, size) ? window : NULL;
}

/* In shared memory of the own block or of another one of the cluster. */
static uint8_t *find_in_cluster(const ptx_warp *w, target *t) {
    t->offset = t->space == PTX_SPACE_GENERIC ? t->address - PTX_SHARED_WINDOW : t->address;
    u64 offset;
    const ptx_block *block = find_block(w, t, &offset);
    bool good = block && block->live_warps && inside(&block->shared, offset, t->size);
    return good ? block->shared.host + offset : NULL;
}

ptx_status ptx_locate(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned space, u64 address, u64 size,
                      unsigned alignment, uint8_t **place) {
    target t = {.lane = lane, .space = space, .address = address, .offset = address, .size = size};
    if (address & (alignment - 1))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "the %s address 0x%llx is not aligned to the %u bytes of the access",
                         space_name(space), (unsigned long long)address, alignment);
    if (in_cluster(&t)) {
        *place = find_in_cluster(w, &t);
        return *place ? PTX_OK : outside(w, in, &t);
    }
    const ptx_window *window = find_window(w, space, address, size);
    if (!window)
        return outside(w, in, &t);
    *place = window->host + (address - window->address);
    return PTX_OK;
}

static ptx_status locate_each(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size,
                              const u64 address[PTX_LANES], ptx_places *at) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        status = ptx_locate(w, in, i, in->space, address[i], size, size, &at->lane[i]);
    }
    return status;
}

ptx_status ptx_locate_lanes(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size, ptx_places *at) {
    at->packed = at->same = false;
    if (in->address == PTX_ADDRESS_UNIFORM) {
        const ptx_u64 *a = ptx_base_lanes(w, in);
        at->same = true;
        return ptx_locate(w, in, (unsigned)__builtin_ctz(mask), in->space, a[0], size, size, &at->lane[0]);
    }
    u64 address[PTX_LANES];
    bool follows = ptx_read_addresses(w, in, size, address);
    bool spread = in->space == PTX_SPACE_GENERIC || in->space == PTX_SPACE_CLUSTER;
    if (!follows || mask != PTX_ALL_LANES || spread || (address[0] & (size - 1)))
        return locate_each(w, in, mask, size, address, at);
    const ptx_window *window = find_window(w, in->space, address[0], (u64)size * PTX_LANES);
    if (!window)
        return locate_each(w, in, mask, size, address, at);
    at->packed = true;
    at->lane[0] = window->host + (address[0] - window->address);
    return PTX_OK;
}
