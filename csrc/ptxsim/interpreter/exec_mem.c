/* Handlers of loads, stores and atomics. */
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/half.h"
#include "interpreter/poll.h"

/* ---- spin-waits ---- */

/* A strong load that reads the same bytes from the same addresses as the last time is polling: it waits for
   another thread's store. */
static ptx_status check_spin(ptx_warp *w, const ptx_instr *in, uint32_t mask, const ptx_lane_pointers *at,
                             unsigned size) {
    u64 addresses = 0, seen = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint8_t *place = ptx_lane_pointer(at, (unsigned)__builtin_ctz(left), size);
        addresses = ptx_mix_digest(addresses, (uintptr_t)place);
        for (unsigned done = 0; done < size; done += 8) {
            u64 bytes = 0;
            memcpy(&bytes, place + done, size - done < 8 ? size - done : 8);
            seen = ptx_mix_digest(seen, bytes);
        }
    }
    return ptx_poll_check(w, in, mask, addresses, seen);
}

/* ---- loads ---- */

/* M is the type in memory, T the type of the register slot. Element e of a vector is stored to operand e. */
#define PTX_LOAD(name, M, T)                                                                                 \
    static inline T load_##name(const uint8_t *from) {                                                       \
        M value;                                                                                             \
        memcpy(&value, from, sizeof value);                                                                  \
        return (T)value;                                                                                     \
    }                                                                                                        \
    static inline void load_packed_##name(const ptx_warp *w, const ptx_instr *in, const uint8_t *from) {     \
        const size_t size = sizeof(M);                                                                       \
        ptx_##T *d0 = ptx_lanes(w, in, 0);                                                                   \
        if (in->vector == 1) {                                                                               \
            PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) d0[i] = load_##name(from + i * size);         \
            return;                                                                                          \
        }                                                                                                    \
        ptx_##T *d1 = ptx_lanes(w, in, 1);                                                                   \
        if (in->vector == 2) {                                                                               \
            PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                             \
                d0[i] = load_##name(from + 2 * i * size);                                                    \
                d1[i] = load_##name(from + 2 * i * size + size);                                             \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        ptx_##T *d2 = ptx_lanes(w, in, 2), *d3 = ptx_lanes(w, in, 3);                                        \
        PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                                 \
            d0[i] = load_##name(from + 4 * i * size);                                                        \
            d1[i] = load_##name(from + 4 * i * size + size);                                                 \
            d2[i] = load_##name(from + 4 * i * size + 2 * size);                                             \
            d3[i] = load_##name(from + 4 * i * size + 3 * size);                                             \
        }                                                                                                    \
    }                                                                                                        \
    /* One element of a vector, from addresses that differ. */                                               \
    static inline void load_lanes_##name(ptx_##T *d, uint32_t mask, const ptx_lane_pointers *at,             \
                                         size_t offset) {                                                    \
        if (at->uniform) {                                                                                   \
            T value = load_##name(at->lane[0] + offset);                                                     \
            PTX_STORE_LANES(T, d, value)                                                                     \
        } else if (at->uniform_rows) {                                                                       \
            for (unsigned row = 0; row < PTX_LANES; row += PTX_ROW) {                                        \
                T value = load_##name(at->lane[row] + offset);                                               \
                for (unsigned i = 0; i < PTX_ROW; i++)                                                       \
                    d[row + i] = value;                                                                      \
            }                                                                                                \
        } else if (mask == PTX_ALL_LANES) {                                                                  \
            for (unsigned i = 0; i < PTX_LANES; i++)                                                         \
                d[i] = load_##name(at->lane[i] + offset);                                                    \
        } else {                                                                                             \
            PTX_STORE_EACH_LANE(T, d, load_##name(at->lane[i] + offset))                                     \
        }                                                                                                    \
    }                                                                                                        \
    static inline void load_rows_##name(ptx_##T *d, const ptx_lane_pointers *at) {                           \
        for (unsigned row = 0; row < PTX_LANES; row += PTX_ROW) {                                            \
            PTX_IVDEP for (unsigned i = 0; i < PTX_ROW; i++) d[row + i] =                                    \
                load_##name(at->lane[row] + i * sizeof(M));                                                  \
        }                                                                                                    \
    }                                                                                                        \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        ptx_lane_pointers at;                                                                                \
        unsigned size = (unsigned)sizeof(M) * in->vector;                                                    \
        ptx_status status = ptx_locate_lanes(w, in, mask, size, &at);                                        \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        if (at.packed)                                                                                       \
            load_packed_##name(w, in, at.lane[0]);                                                           \
        else if (at.packed_rows && in->vector == 1)                                                          \
            load_rows_##name(ptx_lanes(w, in, 0), &at);                                                      \
        else                                                                                                 \
            for (unsigned e = 0; e < in->vector; e++)                                                        \
                load_lanes_##name(ptx_lanes(w, in, e), mask, &at, e * sizeof(M));                            \
        return in->strong ? check_spin(w, in, mask, &at, size) : PTX_OK;                                     \
    }

/* ---- stores ---- */

/* T is the type of the register slot, whose low bits are stored as M. Lanes store in order, so that the last
   lane's value remains if addresses are equal. */
#define PTX_STORE(name, M, T)                                                                                \
    static inline void store_##name(uint8_t *to, T value) {                                                  \
        M low = (M)value;                                                                                    \
        memcpy(to, &low, sizeof low);                                                                        \
    }                                                                                                        \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        ptx_lane_pointers at;                                                                                \
        unsigned size = (unsigned)sizeof(M) * in->vector;                                                    \
        ptx_status status = ptx_locate_lanes(w, in, mask, size, &at);                                        \
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
            } else if (at.uniform) {                                                                         \
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

/* ---- atomics: lane by lane, in order; tickets order those on global memory between host threads ---- */

/* atom and red from an expression of the old value x and the operands y and z. An atomic that changes
   nothing, such as a failed compare-and-swap, may be polling. */
#define ATOMIC(name, M, T, returns, first, value_of)                                                         \
    PTX_HANDLER(name) {                                                                                      \
        ptx_lane_pointers at;                                                                                \
        ptx_status status = ptx_locate_lanes(w, in, mask, sizeof(M), &at);                                   \
        if (status != PTX_OK)                                                                                \
            return status;                                                                                   \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *b = ptx_lanes(w, in, first);                                                          \
        const ptx_##T *c = in->operand_count > (first) + 1 ? ptx_lanes(w, in, (first) + 1) : b;              \
        u64 addresses = 0, seen = 0;                                                                         \
        bool changed = !(returns) || in->space == PTX_SPACE_SHARED;                                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            uint8_t *place = ptx_lane_pointer(&at, i, sizeof(M));                                            \
            M old, fresh;                                                                                    \
            memcpy(&old, place, sizeof old);                                                                 \
            fresh = value_of(in, old, b[i], c[i]);                                                           \
            memcpy(place, &fresh, sizeof fresh);                                                             \
            addresses = ptx_mix_digest(addresses, (uintptr_t)place);                                         \
            seen = ptx_mix_digest(ptx_mix_digest(seen, old), b[i]);                                          \
            changed = changed || fresh != old;                                                               \
            if (returns)                                                                                     \
                d[i] = old;                                                                                  \
        }                                                                                                    \
        return changed ? PTX_OK : ptx_poll_check(w, in, mask, addresses, seen);                              \
    }

#define PTX_ATOM(name, M, T, value)                                                                          \
    static inline M value_##name(const ptx_instr *in, M x, T y, T z) {                                       \
        (void)in;                                                                                            \
        (void)x;                                                                                             \
        (void)y;                                                                                             \
        (void)z;                                                                                             \
        return (M)(value);                                                                                   \
    }                                                                                                        \
    ATOMIC(name, M, T, true, 1, value_##name)
#define PTX_RED(name, M, T, atom) ATOMIC(name, M, T, false, 0, value_##atom)

/* f32 atomic addition flushes subnormals in global memory, but not in shared memory (measured on an H200). */
static inline f32 atomic_sum_f32(const ptx_instr *in, f32 x, f32 y) {
    if (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_CLUSTER)
        return ptx_result_f32(x + y);
    return ptx_flush(ptx_result_f32(ptx_flush(x) + ptx_flush(y)));
}

/* Sums of 16-bit floats, scalar and packed. */
static inline u32 half_sum(u32 x, u32 y) {
    return ptx_half_of_f32(ptx_f32_of_half(x & 0xffff) + ptx_f32_of_half(y & 0xffff));
}

static inline u32 bfloat_sum(u32 x, u32 y) {
    return ptx_bfloat_of_f32(ptx_f32_of_bfloat(x & 0xffff) + ptx_f32_of_bfloat(y & 0xffff));
}

#include "interpreter/values.h"
#include "opcodes_memory.def"
