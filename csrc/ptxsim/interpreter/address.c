/* Address translation. The frequent access patterns (one allocation, all lanes aligned) are checked for a
   whole warp at once with vector operations; everything else lane by lane. */
#include "interpreter/address.h"

#include "interpreter/fault.h"

static const char *space_name(unsigned space) {
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER ? "shared"
           : space == PTX_SPACE_PARAM                              ? "param"
           : space == PTX_SPACE_LOCAL                              ? "local"
           : space == PTX_SPACE_CONST                              ? "constant"
                                                                   : "global";
}

/* An access as written, and its decoded form. */
typedef struct target {
    unsigned lane, space;
    u64 address, offset; /* bytes; `offset` is relative to the window of the state space */
    u64 size;
} target;

/* Whether an address is in shared memory of the cluster: any shared::cluster address, or a generic one within
   the window. */
static bool in_cluster(const target *t) {
    return t->space == PTX_SPACE_CLUSTER ||
           (t->space == PTX_SPACE_GENERIC && t->address - PTX_SHARED_WINDOW < PTX_SHARED_WINDOW_BYTES);
}

/* The block whose shared memory contains the address, NULL if the cluster has no such block; *offset is
   relative to the block's shared memory. */
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

/* Whether an address is in the thread's local memory; sets the offset. */
static bool in_local(target *t) {
    const bool generic = t->space == PTX_SPACE_GENERIC && t->address - PTX_LOCAL_WINDOW < PTX_LOCAL_WINDOW;
    t->offset = generic ? t->address - PTX_LOCAL_WINDOW : t->address;
    return generic || t->space == PTX_SPACE_LOCAL;
}

static uint8_t *find_in_local(const ptx_warp *w, const target *t) {
    const ptx_kernel *kernel = w->worker->kernel;
    const u64 thread = w->index * PTX_LANES + t->lane;
    const bool good = t->size <= kernel->local_bytes && t->offset <= kernel->local_bytes - t->size;
    return good ? w->block->local.host + thread * ptx_local_stride(kernel) + t->offset : NULL;
}

static ptx_status outside_local(ptx_warp *w, const ptx_instr *in, const target *t) {
    return ptx_fault(w, in, (int)t->lane, PTX_ERR_ADDRESS,
                     "%llu bytes at the local address 0x%llx are outside the thread's %llu bytes",
                     (unsigned long long)t->size, (unsigned long long)t->offset,
                     (unsigned long long)w->worker->kernel->local_bytes);
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

/* The window to try first. Instructions have mostly separate entries for the allocation that they accessed
   last, since a matrix multiplication alternates between two matrices. */
static ptx_window *first_window(ptx_warp *w, const ptx_instr *in, unsigned space) {
    ptx_worker *worker = w->worker;
    return space == PTX_SPACE_SHARED  ? &w->block->shared
           : space == PTX_SPACE_PARAM ? &worker->params
                                      : &worker->recent[(size_t)(in - worker->kernel->code) % PTX_RECENT];
}

/* Replaces the window by the allocation that contains the address; returns false if no allocation does. */
static bool refill(const ptx_worker *worker, ptx_window *window, u64 address) {
    const ptx_allocation *found = ptx_view_find(worker->view, address);
    if (found)
        *window = (ptx_window){.address = found->address, .bytes = found->bytes, .host = found->host};
    return found != NULL;
}

/* The window that contains an address; NULL if none does. */
static const ptx_window *find_window(ptx_warp *w, const ptx_instr *in, unsigned space, u64 address,
                                     u64 size) {
    ptx_window *window = first_window(w, in, space);
    if (inside(window, address, size))
        return window;
    if (space == PTX_SPACE_SHARED || space == PTX_SPACE_PARAM || !refill(w->worker, window, address))
        return NULL;
    return inside(window, address, size) ? window : NULL;
}

/* The host pointer for an address in shared memory of any block of the cluster. */
static uint8_t *find_in_cluster(const ptx_warp *w, target *t) {
    t->offset = t->space == PTX_SPACE_GENERIC ? t->address - PTX_SHARED_WINDOW : t->address;
    u64 offset;
    const ptx_block *block = find_block(w, t, &offset);
    bool good = block && block->live_warps && inside(&block->shared, offset, t->size);
    return good ? block->shared.host + offset : NULL;
}

ptx_status ptx_locate(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned space, u64 address, u64 size,
                      unsigned alignment, uint8_t **host) {
    target t = {.lane = lane, .space = space, .address = address, .offset = address, .size = size};
    if (address & (alignment - 1))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "the %s address 0x%llx is not aligned to the %u bytes of the access",
                         space_name(space), (unsigned long long)address, alignment);
    if (in_cluster(&t)) {
        *host = find_in_cluster(w, &t);
        return *host ? PTX_OK : outside(w, in, &t);
    }
    if (in_local(&t)) {
        *host = find_in_local(w, &t);
        return *host ? PTX_OK : outside_local(w, in, &t);
    }
    const ptx_window *window = find_window(w, in, space, address, size);
    if (!window)
        return outside(w, in, &t);
    *host = window->host + (address - window->address);
    return PTX_OK;
}

static ptx_status locate_each(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size,
                              ptx_lane_pointers *at) {
    ptx_window window = {.bytes = 0}; /* local memory is separate per lane */
    if (in->space != PTX_SPACE_LOCAL)
        window = *first_window(w, in, in->space);
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        const u64 address = ptx_address_of(w, in, i);
        if (address & (size - 1) || !inside(&window, address, size))
            status = ptx_locate(w, in, i, in->space, address, size, size, &at->lane[i]);
        else
            at->lane[i] = window.host + (address - window.address);
    }
    return status;
}

/* Up to four lanes are faster one by one. The loop avoids a population count, which the baseline instruction
   set may lack. */
static inline bool exceeds_four(uint32_t mask) {
    for (unsigned i = 0; i < 4; i++)
        mask &= mask - 1;
    return mask != 0;
}

/* 32 bytes of offsets. Explicit vectors, since GCC 12 compiles the equivalent loops to three times as many
   instructions. */
typedef u32 part_32 __attribute__((vector_size(32)));
typedef u64 part_64 __attribute__((vector_size(32)));
#define COUNT_32                                                                                             \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#define COUNT_64                                                                                             \
    { 0, 1, 2, 3 }

static inline bool any(const part_64 *part) {
    return ((*part)[0] | (*part)[1] | (*part)[2] | (*part)[3]) != 0;
}

/* Locates all lanes at once; returns false unless all are inside the window and aligned. A check per lane
   took 83 % of the time of a matrix multiplication. An offset is too large if the highest bit of it, or of
   its distance to the last valid offset, is set; inactive lanes use the offset of an active one. */
#define LOCATE(bits)                                                                                         \
    static inline __attribute__((always_inline)) bool locate_##bits(                                         \
        const ptx_window *window, const ptx_u##bits *address, u##bits shift, uint32_t mask, u##bits size,    \
        ptx_lane_pointers *at) {                                                                             \
        enum { LENGTH = 256 / bits };                                                                        \
        u##bits offset[PTX_LANES], head = 0, last = (u##bits)window->bytes - size;                           \
        u##bits first = address[__builtin_ctz(mask)] + shift;                                                \
        const part_##bits count = COUNT_##bits, ramp = count * size, bit = (u##bits)1 << count;              \
        part_##bits invalid = {0}, row_difference = {0}, ramp_difference = {0};                              \
        const bool all = mask == PTX_ALL_LANES;                                                              \
        for (unsigned i = 0; i < PTX_LANES; i += LENGTH) {                                                   \
            part_##bits here;                                                                                \
            memcpy(&here, address + i, sizeof here);                                                         \
            here += shift;                                                                                   \
            if (!all) {                                                                                      \
                part_##bits active = (part_##bits)((bit & (u##bits)(mask >> i)) != 0);                       \
                here = (here & active) | (first & ~active);                                                  \
            }                                                                                                \
            memcpy(offset + i, &here, sizeof here);                                                          \
            head = i % PTX_ROW ? head : here[0];                                                             \
            part_##bits step = here - head;                                                                  \
            invalid |= ((here | (last - here)) >> (bits - 1)) | (here & (size - 1));                         \
            row_difference |= step;                                                                          \
            ramp_difference |= step - ramp - i % PTX_ROW * size;                                             \
        }                                                                                                    \
        const part_64 bad = (part_64)invalid, row_differences = (part_64)row_difference,                     \
                      ramp_differences = (part_64)ramp_difference;                                           \
        if (any(&bad))                                                                                       \
            return false;                                                                                    \
        const bool rows_differ = any(&row_differences);                                                      \
        at->uniform_rows = all && !rows_differ;                                                              \
        at->packed_rows = all && !any(&ramp_differences);                                                    \
        at->uniform = !rows_differ;                                                                          \
        at->packed = at->packed_rows;                                                                        \
        for (unsigned row = PTX_ROW; row < PTX_LANES; row += PTX_ROW) {                                      \
            at->uniform = at->uniform && offset[row] == offset[0];                                           \
            at->packed = at->packed && offset[row] - offset[0] == row * size;                                \
        }                                                                                                    \
        if (at->uniform || at->packed)                                                                       \
            at->lane[0] = window->host + offset[0];                                                          \
        else                                                                                                 \
            for (unsigned i = 0; i < PTX_LANES; i++)                                                         \
                at->lane[i] = window->host + offset[i];                                                      \
        return true;                                                                                         \
    }

LOCATE(32)
LOCATE(64)

static inline __attribute__((always_inline)) bool locate_vector(const ptx_warp *w, const ptx_instr *in,
                                                                const ptx_window *window, uint32_t mask,
                                                                unsigned size, ptx_lane_pointers *at) {
    const void *address = ptx_base_lanes(w, in);
    u64 shift = (u64)in->imm - window->address;
    bool wide = in->address == PTX_ADDRESS_64;
    if (window->bytes < size || window->bytes > (wide ? INT64_MAX : INT32_MAX))
        return false;
    return wide ? locate_64(window, address, shift, mask, size, at)
                : locate_32(window, address, (u32)shift, mask, size, at);
}

/* A warp that runs alone for a quantum accesses memory with a constant stride: the next address is
   predictable, but the host's prefetcher does not cross pages. */
static void prefetch_next(ptx_window *window, const uint8_t *here, u64 bytes) {
    const u64 offset = (u64)(here - window->host), next = 2 * offset - window->last;
    window->last = offset;
    if (next < window->bytes && bytes <= window->bytes - next)
        for (u64 line = 0; line < bytes; line += 64)
            __builtin_prefetch(window->host + next + line);
}

PTX_CLONES ptx_status ptx_locate_lanes(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size,
                                       ptx_lane_pointers *at) {
    at->packed = at->uniform = at->packed_rows = at->uniform_rows = false;
    unsigned first = (unsigned)__builtin_ctz(mask);
    if (in->space == PTX_SPACE_LOCAL)
        return locate_each(w, in, mask, size, at);
    if (in->address == PTX_ADDRESS_UNIFORM) {
        const ptx_u64 *a = ptx_base_lanes(w, in);
        at->uniform = true;
        return ptx_locate(w, in, first, in->space, a[0], size, size, &at->lane[0]);
    }
    const bool global = in->space != PTX_SPACE_SHARED && in->space != PTX_SPACE_PARAM;
    if (!exceeds_four(mask) || in->space == PTX_SPACE_CLUSTER || (global && in->address != PTX_ADDRESS_64))
        return locate_each(w, in, mask, size, at);
    ptx_window *window = first_window(w, in, in->space);
    const u64 address = ptx_address_of(w, in, first);
    if (global && !inside(window, address, size))
        (void)refill(w->worker, window, address);
    if (!locate_vector(w, in, window, mask, size, at))
        return locate_each(w, in, mask, size, at);
    if (global && at->packed)
        prefetch_next(window, at->lane[0], (u64)size * PTX_LANES);
    return PTX_OK;
}
