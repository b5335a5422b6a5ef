/* Instruction handlers and the macros that generate them: vectorisable loops over the lanes of a warp. */
#ifndef PTXSIM_EXEC_H
#define PTXSIM_EXEC_H

#include <fenv.h>

#include "interpreter/lanes.h"

/* Executes one instruction for the lanes of `mask`, which is not empty. */
typedef ptx_status ptx_handler(ptx_warp *warp, const ptx_instr *in, uint32_t mask);

/* Declares the handlers of all opcodes except control instructions, which executor.c executes. */
#define OP(pattern, signature, name) ptx_handler ptx_op_##name;
#include "opcodes.def"

/* Returns PTX_OK if all 32 lanes execute the instruction, PTX_DIVERGED_RETRY if missing lanes may still
   reconverge here, otherwise a fault. */
ptx_status ptx_require_whole_warp(ptx_warp *warp, const ptx_instr *in, uint32_t mask);

/* Stores `value`, an expression of the lane index i, for all lanes of the mask. It is computed for all lanes
   and inactive lanes keep their old value, so that the loop vectorises. */
#define PTX_STORE_LANES(type, d, value)                                                                      \
    if (mask == PTX_ALL_LANES) {                                                                             \
        PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) d[i] = (type)(value);                             \
    } else {                                                                                                 \
        PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                                 \
            type result = (type)(value);                                                                     \
            d[i] = mask >> i & 1 ? result : d[i];                                                            \
        }                                                                                                    \
    }

/* The same for values that are too expensive to compute for inactive lanes. */
#define PTX_STORE_EACH_LANE(type, d, value)                                                                  \
    for (uint32_t left = mask; left; left &= left - 1) {                                                     \
        unsigned i = (unsigned)__builtin_ctz(left);                                                          \
        d[i] = (type)(value);                                                                                \
    }

/* A handler from what one lane executes; the lanes go in order until one fails. */
typedef ptx_status ptx_lane_handler(ptx_warp *warp, const ptx_instr *in, unsigned lane);

static inline ptx_status ptx_each_lane(ptx_warp *w, const ptx_instr *in, uint32_t mask,
                                       ptx_lane_handler *run) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1)
        status = run(w, in, (unsigned)__builtin_ctz(left));
    return status;
}

#define PTX_LANE_HANDLER(name)                                                                               \
    static ptx_lane_handler lane_##name;                                                                     \
    PTX_HANDLER(name) {                                                                                      \
        return ptx_each_lane(w, in, mask, lane_##name);                                                      \
    }                                                                                                        \
    static ptx_status lane_##name(ptx_warp *w, const ptx_instr *in, unsigned lane)

/* Handlers from an expression of the sources x, y, z, u. T is the type of the result, A to E those of the
   sources. */
#define PTX_HANDLER(name) ptx_status ptx_op_##name(ptx_warp *w, const ptx_instr *in, uint32_t mask)

#define PTX_UNARY_AS(clones, store, name, T, A, value)                                                       \
    static inline T value_##name(A x) {                                                                      \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        store(T, d, value_##name(a[i])) return PTX_OK;                                                       \
    }

#define PTX_BINARY_AS(clones, store, name, T, A, B, value)                                                   \
    static inline T value_##name(A x, B y) {                                                                 \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##B *b = ptx_lanes(w, in, 2);                                                              \
        store(T, d, value_##name(a[i], b[i])) return PTX_OK;                                                 \
    }

#define PTX_TERNARY_AS(clones, store, name, T, A, B, C, value)                                               \
    static inline T value_##name(A x, B y, C z) {                                                            \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##B *b = ptx_lanes(w, in, 2);                                                              \
        const ptx_##C *c = ptx_lanes(w, in, 3);                                                              \
        store(T, d, value_##name(a[i], b[i], c[i])) return PTX_OK;                                           \
    }

#define PTX_UNARY(...) PTX_UNARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)
#define PTX_BINARY(...) PTX_BINARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)
#define PTX_TERNARY_EACH(...) PTX_TERNARY_AS(, PTX_STORE_EACH_LANE, __VA_ARGS__)
#define PTX_TERNARY(...) PTX_TERNARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)

static inline f32 ptx_f32_of(u32 bits) {
    f32 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline u32 ptx_bits_f32(f32 value) {
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline f64 ptx_f64_of(u64 bits) {
    f64 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline u64 ptx_bits_f64(f64 value) {
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The canonical NaN of f32 arithmetic. */
#define PTX_NAN_F32 0x7fffffffu

static inline f32 ptx_result_f32(f32 value) {
    return value != value ? ptx_f32_of(PTX_NAN_F32) : value;
}

/* .ftz: flushes a subnormal to a zero of the same sign. */
static inline f32 ptx_flush(f32 value) {
    u32 bits = ptx_bits_f32(value);
    return ptx_f32_of(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

static inline f32 ptx_min_f32(f32 x, f32 y) {
    f32 smaller = x < y || (x == y && ptx_bits_f32(x) >> 31) ? x : y;
    return ptx_result_f32(x != x ? y : y != y ? x : smaller);
}

static inline f32 ptx_max_f32(f32 x, f32 y) {
    f32 larger = x > y || (x == y && ptx_bits_f32(y) >> 31) ? x : y;
    return ptx_result_f32(x != x ? y : y != y ? x : larger);
}

/* A NaN result of f64 arithmetic is the first NaN operand, made quiet, in the given order, or the default NaN
   of an invalid operation. The order per instruction was measured on an H200. (ptxas may swap the operands of
   an addition or multiplication, so tests should not depend on NaN payloads of whole kernels.) */
static inline f64 ptx_result_f64(f64 value, f64 first, f64 second, f64 third) {
    const u64 quiet = 1ull << 51;
    u64 nan = first != first     ? ptx_bits_f64(first) | quiet
              : second != second ? ptx_bits_f64(second) | quiet
              : third != third   ? ptx_bits_f64(third) | quiet
                                 : 0xfff8000000000000ull;
    return value != value ? ptx_f64_of(nan) : value;
}

/* The host's rounding mode for an instruction; the simulator otherwise runs in round-to-nearest. */
static inline int ptx_host_rounding(ptx_rounding rounding) {
    return rounding == PTX_ROUND_DOWN   ? FE_DOWNWARD
           : rounding == PTX_ROUND_UP   ? FE_UPWARD
           : rounding == PTX_ROUND_ZERO ? FE_TOWARDZERO
                                        : FE_TONEAREST;
}

#endif
