/* Handlers of f32 and f64 arithmetic: round to nearest even, subnormals are kept unless .ftz flushes them. */
#include <fenv.h>
#include <math.h>

#include "interpreter/exec.h"

#define PTX_UNARY_F32(name, value) PTX_UNARY(name, f32, f32, value)
#define PTX_UNARY_F64(name, value) PTX_UNARY(name, f64, f64, value)
#define PTX_BINARY_F32(name, value) PTX_BINARY(name, f32, f32, f32, value)
#define PTX_BINARY_F64(name, value) PTX_BINARY(name, f64, f64, f64, value)
#define PTX_FMA(...) PTX_TERNARY_AS(PTX_CLONES_FMA, PTX_STORE_LANES, __VA_ARGS__)
#define PTX_FMA_F32(name, value) PTX_FMA(name, f32, f32, f32, f32, value)
#define PTX_FMA_F64(name, value) PTX_FMA(name, f64, f64, f64, f64, value)

/* .ftz: the value of the instruction without it, of flushed sources, is flushed. */
#define PTX_UNARY_F32_FTZ(name, plain) PTX_UNARY_F32(name, ptx_flush(value_##plain(ptx_flush(x))))
#define PTX_BINARY_F32_FTZ(name, plain)                                                                      \
    PTX_BINARY_F32(name, ptx_flush(value_##plain(ptx_flush(x), ptx_flush(y))))
#define PTX_FMA_F32_FTZ(name, plain)                                                                         \
    PTX_FMA_F32(name, ptx_flush(value_##plain(ptx_flush(x), ptx_flush(y), ptx_flush(z))))

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write only the upper 32 bits; subnormals count as
   zeros. */
static inline f64 upper_half(f64 value) {
    const u64 bits = value != value ? 0x7fffffff00000000u : ptx_bits_f64(value);
    return ptx_f64_of(bits & 0x7ff0000000000000u ? bits & ~0xffffffffull : bits & 1ull << 63);
}

/* Directed rounding (.rz, .rm, .rp) in the host's rounding mode. Lanes are in memory, which for the compiler
   the calls of fesetround may read and write, so that it moves no arithmetic across them. */
#define PTX_DIRECTED(name, T, value)                                                                         \
    PTX_HANDLER(name) {                                                                                      \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##T *b = in->operand_count > 2 ? ptx_lanes(w, in, 2) : a;                                  \
        const ptx_##T *c = in->operand_count > 3 ? ptx_lanes(w, in, 3) : a;                                  \
        fesetround(ptx_host_rounding((ptx_rounding)in->rounding));                                           \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            const T x = source_##T(a[i], in), y = source_##T(b[i], in), z = source_##T(c[i], in);            \
            (void)y;                                                                                         \
            (void)z;                                                                                         \
            d[i] = result_##T(value, in);                                                                    \
        }                                                                                                    \
        fesetround(FE_TONEAREST);                                                                            \
        return PTX_OK;                                                                                       \
    }

/* .ftz of sources and .ftz, .sat of results. */
static inline f32 source_f32(f32 x, const ptx_instr *in) {
    return in->ftz ? ptx_flush(x) : x;
}

static inline f32 result_f32(f32 x, const ptx_instr *in) {
    if (in->sat)
        x = x > 0 ? fminf(x, 1) : 0;
    return in->ftz ? ptx_flush(x) : x;
}

static inline f64 source_f64(f64 x, const ptx_instr *in) {
    (void)in;
    return x;
}

#define result_f64 source_f64

static inline f32 canonical_bits(u32 bits) {
    return ptx_result_f32(ptx_f32_of(bits));
}

static inline f64 smaller(f64 x, f64 y) {
    f64 result = x < y || (x == y && ptx_bits_f64(x) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

static inline f64 larger(f64 x, f64 y) {
    f64 result = x > y || (x == y && ptx_bits_f64(y) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

#include "interpreter/values.h"
#include "opcodes_float.def"
