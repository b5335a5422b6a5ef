/* Loads, stores and atomics. Every access goes through `locate`, which checks it. */
#include "machine/exec.h"

/* Where the active lanes' accesses are on the host. */
typedef struct places {
    bool packed;              /* all lanes are active and each follows the one before */
    bool same;                /* one address for every lane */
    uint8_t *lane[PTX_LANES]; /* lane[0] alone when packed or same */
} places;

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

PTX_CLONES bool ptx_read_addresses(const ptx_warp *w, const ptx_instr *in, unsigned size,
                                   u64 address[PTX_LANES]) {
    u64 differs = 0;
    if (in->address == PTX_ADDRESS_64) {
        const ptx_u64 *a = ptx_lanes(w, in, PTX_ADDRESS_OPERAND);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            address[i] = a[i] + (u64)in->imm;
            differs |= a[i] - a[0] - (u64)i * size;
        }
    } else {
        const ptx_u32 *a = ptx_lanes(w, in, PTX_ADDRESS_OPERAND);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            address[i] = (u32)(a[i] + (u32)in->imm);
            differs |= (u32)(a[i] - a[0] - i * size);
        }
    }
    return differs == 0;
}

static ptx_status locate_lanes(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size,
                               const u64 address[PTX_LANES], places *at) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        status = ptx_locate(w, in, i, in->space, address[i], size, size, &at->lane[i]);
    }
    return status;
}

/* Checks the accesses of all lanes of the mask, `size` bytes each. */
static ptx_status locate(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned size, places *at) {
    at->packed = at->same = false;
    if (in->address == PTX_ADDRESS_UNIFORM) {
        const ptx_u64 *a = ptx_lanes(w, in, PTX_ADDRESS_OPERAND);
        at->same = true;
        return ptx_locate(w, in, (unsigned)__builtin_ctz(mask), in->space, a[0], size, size, &at->lane[0]);
    }
    u64 address[PTX_LANES];
    bool follows = ptx_read_addresses(w, in, size, address);
    bool spread = in->space == PTX_SPACE_GENERIC || in->space == PTX_SPACE_CLUSTER;
    if (!follows || mask != PTX_ALL_LANES || spread || (address[0] & (size - 1)))
        return locate_lanes(w, in, mask, size, address, at);
    const ptx_window *window = find_window(w, in->space, address[0], (u64)size * PTX_LANES);
    if (!window)
        return locate_lanes(w, in, mask, size, address, at);
    at->packed = true;
    at->lane[0] = window->host + (address[0] - window->address);
    return PTX_OK;
}

/* ---- waiting for memory to change ---- */

static inline u64 mix(u64 sum, u64 value) {
    return (sum ^ value) * 0x9e3779b97f4a7c15u;
}

static inline uint8_t *place_of(const places *at, unsigned lane, size_t size) {
    return at->packed ? at->lane[0] + lane * size : at->lane[at->same ? 0 : lane];
}

/* A load that other threads' stores may concern: the same bytes from the same places as the last time mean
   that it waits for one of them. */
static ptx_status watch(ptx_warp *w, const ptx_instr *in, uint32_t mask, const places *at, unsigned size) {
    u64 seen = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint8_t *place = place_of(at, (unsigned)__builtin_ctz(left), size);
        seen = mix(seen, (uintptr_t)place);
        for (unsigned done = 0; done < size; done += 8) {
            u64 bytes = 0;
            memcpy(&bytes, place + done, size - done < 8 ? size - done : 8);
            seen = mix(seen, bytes);
        }
    }
    return ptx_poll_watch(w, in, mask, seen);
}

/* ---- loads ---- */

/* Memory holds M, the slot takes T. Element e of a vector goes to operand e. */
#define LOAD(name, M, T)                                                                                     \
    static inline T load_##name(const uint8_t *from) {                                                       \
        M value;                                                                                             \
        memcpy(&value, from, sizeof value);                                                                  \
        return (T)value;                                                                                     \
    }                                                                                                        \
    PTX_CLONES static void load_packed_##name(const ptx_warp *w, const ptx_instr *in, const uint8_t *from) { \
        ptx_##T *d0 = ptx_lanes(w, in, 0), *d1 = ptx_lanes(w, in, 1);                                        \
        ptx_##T *d2 = ptx_lanes(w, in, 2), *d3 = ptx_lanes(w, in, 3);                                        \
        const size_t size = sizeof(M);                                                                       \
        if (in->vector == 1) {                                                                               \
            PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) d0[i] = load_##name(from + i * size);         \
        } else if (in->vector == 2) {                                                                        \
            PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                             \
                d0[i] = load_##name(from + 2 * i * size);                                                    \
                d1[i] = load_##name(from + 2 * i * size + size);                                             \
            }                                                                                                \
        } else {                                                                                             \
            PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                             \
                d0[i] = load_##name(from + 4 * i * size);                                                    \
                d1[i] = load_##name(from + 4 * i * size + size);                                             \
                d2[i] = load_##name(from + 4 * i * size + 2 * size);                                         \
                d3[i] = load_##name(from + 4 * i * size + 3 * size);                                         \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    PTX_HANDLER(ld_##name) {                                                                                 \
        places at;                                                                                           \
        unsigned size = (unsigned)sizeof(M) * in->vector;                                                    \
        ptx_status status = locate(w, in, mask, size, &at);                                                  \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        if (at.packed) {                                                                                     \
            load_packed_##name(w, in, at.lane[0]);                                                           \
            return in->strong ? watch(w, in, mask, &at, size) : PTX_OK;                                      \
        }                                                                                                    \
        for (unsigned e = 0; e < in->vector; e++) {                                                          \
            ptx_##T *d = ptx_lanes(w, in, e);                                                                \
            const size_t offset = e * sizeof(M);                                                             \
            if (at.same) {                                                                                   \
                T value = load_##name(at.lane[0] + offset);                                                  \
                PTX_STORE_LANES(T, d, value)                                                                 \
            } else {                                                                                         \
                PTX_STORE_EACH_LANE(T, d, load_##name(at.lane[i] + offset))                                  \
            }                                                                                                \
        }                                                                                                    \
        return in->strong ? watch(w, in, mask, &at, size) : PTX_OK;                                          \
    }

LOAD(u8, uint8_t, u32)
LOAD(s8, int8_t, u32)
LOAD(u16, uint16_t, u32)
LOAD(s16, int16_t, u32)
LOAD(b32, uint32_t, u32)
LOAD(b64, uint64_t, u64)
LOAD(u8_wide, uint8_t, u64)
LOAD(s8_wide, int8_t, u64)
LOAD(u16_wide, uint16_t, u64)
LOAD(s16_wide, int16_t, u64)
LOAD(u32_wide, uint32_t, u64)
LOAD(s32_wide, int32_t, u64)

/* ---- stores ---- */

/* The slot holds T, memory takes its low bits as M. Lanes store in order, so of several at one address the
   last one's value stays. */
#define STORE(name, M, T)                                                                                    \
    static inline void store_##name(uint8_t *to, T value) {                                                  \
        M low = (M)value;                                                                                    \
        memcpy(to, &low, sizeof low);                                                                        \
    }                                                                                                        \
    PTX_HANDLER(st_##name) {                                                                                 \
        places at;                                                                                           \
        unsigned size = (unsigned)sizeof(M) * in->vector;                                                    \
        ptx_status status = locate(w, in, mask, size, &at);                                                  \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        for (unsigned e = 0; e < in->vector; e++) {                                                          \
            const ptx_##T *s = ptx_lanes(w, in, e);                                                          \
            const size_t offset = e * sizeof(M);                                                             \
            if (at.packed && size == sizeof(M)) {                                                            \
                for (unsigned i = 0; i < PTX_LANES; i++)                                                     \
                    store_##name(at.lane[0] + i * sizeof(M), s[i]);                                          \
            } else if (at.packed) {                                                                          \
                for (unsigned i = 0; i < PTX_LANES; i++)                                                     \
                    store_##name(at.lane[0] + (size_t)i * size + offset, s[i]);                              \
            } else if (at.same) {                                                                            \
                store_##name(at.lane[0] + offset, s[31 - __builtin_clz(mask)]);                              \
            } else {                                                                                         \
                for (uint32_t left = mask; left; left &= left - 1) {                                         \
                    unsigned i = (unsigned)__builtin_ctz(left);                                              \
                    store_##name(at.lane[i] + offset, s[i]);                                                 \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

STORE(b8, uint8_t, u32)
STORE(b16, uint16_t, u32)
STORE(b32, uint32_t, u32)
STORE(b64, uint64_t, u64)
STORE(b8_wide, uint8_t, u64)
STORE(b16_wide, uint16_t, u64)
STORE(b32_wide, uint32_t, u64)

/* ---- atomics: lane after lane, in order; no other host thread runs then ---- */

/* atom and red from an expression of the old value x and the operands y and z. One that changes nothing, such
   as a failing compare-and-swap, may be waiting for others. */
#define ATOMIC_HANDLER(prefix, name, T, returns, first)                                                      \
    PTX_HANDLER(prefix##_##name) {                                                                           \
        places at;                                                                                           \
        ptx_status status = locate(w, in, mask, sizeof(T), &at);                                             \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *b = ptx_lanes(w, in, first);                                                          \
        const ptx_##T *c = ptx_lanes(w, in, (first) + 1);                                                    \
        u64 seen = 0;                                                                                        \
        bool changed = !(returns) || in->space == PTX_SPACE_SHARED;                                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            uint8_t *place = place_of(&at, i, sizeof(T));                                                    \
            T old, fresh;                                                                                    \
            memcpy(&old, place, sizeof old);                                                                 \
            fresh = atomic_value_##name(in, old, b[i], c[i]);                                                \
            memcpy(place, &fresh, sizeof fresh);                                                             \
            seen = mix(mix(mix(seen, (uintptr_t)place), old), b[i]);                                         \
            changed = changed || fresh != old;                                                               \
            if (returns)                                                                                     \
                d[i] = old;                                                                                  \
        }                                                                                                    \
        return changed ? PTX_OK : ptx_poll_watch(w, in, mask, seen);                                         \
    }

#define ATOM(name, T, value)                                                                                 \
    static inline T atomic_value_##name(const ptx_instr *in, T x, T y, T z) {                                \
        (void)in;                                                                                            \
        (void)x;                                                                                             \
        (void)y;                                                                                             \
        (void)z;                                                                                             \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    ATOMIC_HANDLER(atom, name, T, true, 1)

#define ATOMIC(name, T, value)                                                                               \
    ATOM(name, T, value)                                                                                     \
    ATOMIC_HANDLER(red, name, T, false, 0)

ATOMIC(add_u32, u32, x + y)
ATOMIC(add_u64, u64, x + y)
/* Float addition in global memory, but not in shared memory, flushes subnormals (seen on an H200). */
static inline f32 atomic_sum_f32(const ptx_instr *in, f32 x, f32 y) {
    if (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_CLUSTER)
        return ptx_result_f32(x + y);
    return ptx_flush(ptx_result_f32(ptx_flush(x) + ptx_flush(y)));
}

ATOMIC(add_f32, u32, ptx_bits_f32(atomic_sum_f32(in, ptx_f32_of(x), ptx_f32_of(y))))
ATOMIC(add_f64, u64,
       ptx_bits_f64(ptx_result_f64(ptx_f64_of(x) + ptx_f64_of(y), ptx_f64_of(y), ptx_f64_of(x),
                                   ptx_f64_of(x))))
ATOMIC(min_u32, u32, x < y ? x : y)
ATOMIC(min_s32, u32, (s32)x < (s32)y ? x : y)
ATOMIC(min_u64, u64, x < y ? x : y)
ATOMIC(min_s64, u64, (s64)x < (s64)y ? x : y)
ATOMIC(max_u32, u32, x > y ? x : y)
ATOMIC(max_s32, u32, (s32)x > (s32)y ? x : y)
ATOMIC(max_u64, u64, x > y ? x : y)
ATOMIC(max_s64, u64, (s64)x > (s64)y ? x : y)
ATOMIC(inc_u32, u32, x >= y ? 0 : x + 1)
ATOMIC(dec_u32, u32, x == 0 || x > y ? y : x - 1)
ATOMIC(and_b32, u32, x &y)
ATOMIC(and_b64, u64, x &y)
ATOMIC(or_b32, u32, x | y)
ATOMIC(or_b64, u64, x | y)
ATOMIC(xor_b32, u32, x ^ y)
ATOMIC(xor_b64, u64, x ^ y)
ATOM(exch_b32, u32, y)
ATOM(exch_b64, u64, y)
ATOM(cas_b32, u32, x == y ? z : x)
ATOM(cas_b64, u64, x == y ? z : x)
