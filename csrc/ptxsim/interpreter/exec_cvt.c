/* Handlers of cvt. Frequent conversions have vectorised loops; the others convert each lane through a 64-bit
   value. */
#include <fenv.h>
#include <math.h>

#include "interpreter/exec.h"
#include "interpreter/half.h"

/* Clamps to the range of s64; a NaN becomes the minimum. */
static inline s64 clamp_s64(f64 x) {
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (s64)x : INT64_MIN;
}

/* The bits of a slot, which may be wider than the type. */
static u64 read_bits(const ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane) {
    if (ptx_is_wide(in, operand))
        return ((const ptx_u64 *)ptx_lanes(w, in, operand))[lane];
    return ((const ptx_u32 *)ptx_lanes(w, in, operand))[lane];
}

static void write_bits(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 bits) {
    if (ptx_is_wide(in, 0))
        ((ptx_u64 *)ptx_lanes(w, in, 0))[lane] = bits;
    else
        ((ptx_u32 *)ptx_lanes(w, in, 0))[lane] = (u32)bits;
}

/* An integer of the type, widened to 64 bits. */
static u64 read_integer(const ptx_warp *w, const ptx_instr *in, unsigned operand, ptx_type type,
                        unsigned lane) {
    const u64 raw = read_bits(w, in, operand, lane);
    unsigned unused = 64 - 8 * ptx_type_bytes(type);
    bool is_signed = ptx_type_class(type) == PTX_CLASS_S;
    return is_signed ? (u64)((s64)(raw << unused) >> unused) : raw << unused >> unused;
}

/* Stores an integer, widened to the slot with zeros or the sign of the type. */
static void write_integer(ptx_warp *w, const ptx_instr *in, ptx_type type, unsigned lane, u64 value) {
    unsigned unused = 64 - 8 * ptx_type_bytes(type);
    bool is_signed = ptx_type_class(type) == PTX_CLASS_S;
    value = is_signed ? (u64)((s64)(value << unused) >> unused) : value << unused >> unused;
    write_bits(w, in, lane, value);
}

static s64 lowest(ptx_type type) {
    return ptx_type_class(type) == PTX_CLASS_S ? (s64)(UINT64_MAX << (8 * ptx_type_bytes(type) - 1)) : 0;
}

static u64 highest(ptx_type type) {
    unsigned bits = 8 * ptx_type_bytes(type) - (ptx_type_class(type) == PTX_CLASS_S ? 1 : 0);
    return UINT64_MAX >> (64 - bits);
}

static u64 saturate(u64 value, bool value_signed, ptx_type to) {
    if (value_signed && (s64)value < lowest(to))
        return (u64)lowest(to);
    bool negative = value_signed && (s64)value < 0;
    return !negative && value > highest(to) ? highest(to) : value;
}

PTX_HANDLER(cvt_integer) {
    bool from_signed = ptx_type_class(in->type) == PTX_CLASS_S;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        u64 value = read_integer(w, in, 1, in->type, lane);
        write_integer(w, in, in->type2, lane, in->sat ? saturate(value, from_signed, in->type2) : value);
    }
    return PTX_OK;
}

/* Conversions between f64 and 16-bit types make a NaN quiet and keep its sign and the upper part of its
   payload. */
static f32 half_with_payload(u32 half) {
    const f32 value = ptx_f32_of_half(half);
    return value != value ? ptx_f32_of((half & 0x8000u) << 16 | 0x7fc00000u | (half & 0x3ffu) << 13) : value;
}

static u32 half_of_nan(u32 single) {
    return (single >> 16 & 0x8000u) | 0x7c00u | (single >> 13 & 0x3ffu);
}

static f64 read_float(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    const u64 bits = read_bits(w, in, 1, lane);
    if (in->type == PTX_TYPE_F64)
        return ptx_f64_of(bits);
    if (in->type == PTX_TYPE_F16)
        return half_with_payload((u32)bits);
    if (in->type == PTX_TYPE_BF16)
        return ptx_f32_of_bfloat((u32)bits);
    const f32 value = ptx_f32_of((u32)bits);
    return in->ftz ? ptx_flush(value) : value;
}

static f64 clamp_to_unit(f64 value) {
    return value > 0 ? fmin(value, 1.0) : 0.0;
}

PTX_HANDLER(cvt_from_integer) {
    bool from_signed = ptx_type_class(in->type) == PTX_CLASS_S;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        u64 value = read_integer(w, in, 1, in->type, lane);
        if (in->type2 == PTX_TYPE_F64) {
            f64 result = from_signed ? (f64)(s64)value : (f64)value;
            write_bits(w, in, lane, ptx_bits_f64(in->sat ? clamp_to_unit(result) : result));
        } else {
            f32 result = from_signed ? (f32)(s64)value : (f32)value;
            write_bits(w, in, lane, ptx_bits_f32(in->sat ? (f32)clamp_to_unit(result) : result));
        }
    }
    return PTX_OK;
}

static f64 round_as(f64 value, ptx_rounding rounding) {
    switch (rounding) {
    case PTX_ROUND_NEAREST:
        return nearbyint(value);
    case PTX_ROUND_ZERO:
        return trunc(value);
    case PTX_ROUND_DOWN:
        return floor(value);
    case PTX_ROUND_UP:
        return ceil(value);
    default:
        return value;
    }
}

/* Saturates to the range of the type. A NaN becomes 0, or only the top bit if either type has 64 bits. */
static u64 to_integer(f64 value, const ptx_instr *in) {
    ptx_type to = in->type2;
    if (value != value)
        return in->type == PTX_TYPE_F64 || ptx_type_bytes(to) == 8 ? 1ull << (8 * ptx_type_bytes(to) - 1) : 0;
    value = round_as(value, in->rounding);
    if (value <= (f64)lowest(to))
        return (u64)lowest(to);
    f64 beyond = ldexp(1.0, 8 * (int)ptx_type_bytes(to) - (ptx_type_class(to) == PTX_CLASS_S ? 1 : 0));
    if (value >= beyond)
        return highest(to);
    return value < 0 ? (u64)(s64)value : (u64)value;
}

PTX_HANDLER(cvt_to_integer) {
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        write_integer(w, in, in->type2, lane, to_integer(read_float(w, in, lane), in));
    }
    return PTX_OK;
}

/* Conversions from f64 keep the sign and the upper part of the payload of a NaN. */
static f32 narrow(f64 value, const ptx_instr *in) {
    f32 result = in->type == PTX_TYPE_F64 ? (f32)value : ptx_result_f32((f32)value);
    return in->ftz ? ptx_flush(result) : result;
}

PTX_HANDLER(cvt_float) {
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        f64 source = read_float(w, in, lane);
        f64 value = round_as(source, in->rounding);
        if (in->sat)
            value = clamp_to_unit(value);
        if (in->type2 == PTX_TYPE_F32)
            write_bits(w, in, lane, ptx_bits_f32(narrow(value, in)));
        else if (in->type2 == PTX_TYPE_F16)
            write_bits(w, in, lane, ptx_half_of_f32((f32)value));
        else if (in->type2 == PTX_TYPE_BF16)
            write_bits(w, in, lane, ptx_bfloat_of_f32((f32)value));
        else
            write_bits(w, in, lane, ptx_bits_f64(ptx_result_f64(value, source, source, source)));
    }
    return PTX_OK;
}

/* ---- all rounding modes, to all floating-point types ---- */

/* Rounds to odd: an inexact f64 gets its last bit set, so that a second rounding is correct. */
static f64 to_odd(u64 value, bool is_signed) {
    const bool negative = is_signed && (s64)value < 0;
    const u64 magnitude = negative ? 0 - value : value;
    const int spare = magnitude ? 11 - __builtin_clzll(magnitude) : 0;
    u64 kept = magnitude;
    if (spare > 0)
        kept = (magnitude >> spare | ((magnitude & ((1ull << spare) - 1)) != 0)) << spare;
    return negative ? -(f64)kept : (f64)kept;
}

/* Overflow: infinity, or the largest finite number, depending on the rounding mode. */
static f64 overflow_result(f64 value, f64 largest, int mode) {
    if (!isfinite(value) || fabs(value) <= largest || mode == FE_TONEAREST)
        return value;
    const bool inwards = mode == FE_TOWARDZERO || (mode == FE_UPWARD) == (value < 0);
    return inwards ? copysign(largest, value) : value;
}

static u64 round_into(f64 value, ptx_type type, int mode) {
    if (type == PTX_TYPE_F16)
        value = overflow_result(ptx_round_to(value, 11, -14), 65504, mode);
    else if (type == PTX_TYPE_BF16)
        value = overflow_result(ptx_round_to(value, 8, -126), 0x1.fep127, mode);
    volatile f32 narrow = (f32)value; /* the conversion must run in this rounding mode */
    return ptx_bits_f32(narrow);
}

/* The value of a source before rounding; conversions of 64-bit integers to f64 round here. */
static f64 source_value(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    const unsigned class = ptx_type_class(in->type);
    if (class != PTX_CLASS_U && class != PTX_CLASS_S)
        return read_float(w, in, lane);
    const u64 value = read_integer(w, in, 1, in->type, lane);
    if (in->type2 == PTX_TYPE_F64)
        return class == PTX_CLASS_S ? (f64)(s64)value : (f64)value;
    return to_odd(value, class == PTX_CLASS_S);
}

static u64 cvt_rounded(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    const int mode = ptx_host_rounding((ptx_rounding)in->rounding);
    fesetround(mode);
    volatile f64 value = source_value(w, in, lane);
    if (in->sat)
        value = clamp_to_unit(value);
    if (in->relu && value <= 0)
        value = 0;
    const u64 bits = in->type2 == PTX_TYPE_F64 ? ptx_bits_f64(value) : round_into(value, in->type2, mode);
    fesetround(FE_TONEAREST);
    const f32 narrow = ptx_f32_of((u32)bits);
    const bool payload = in->type == PTX_TYPE_F64 && narrow != narrow;
    if (in->type2 == PTX_TYPE_F16)
        return payload ? half_of_nan((u32)bits) : ptx_half_of_f32(narrow);
    if (in->type2 == PTX_TYPE_BF16)
        return payload ? (u32)bits >> 16 : ptx_bfloat_of_f32(narrow);
    if (in->type2 == PTX_TYPE_F32 && in->ftz)
        return ptx_bits_f32(ptx_flush(narrow));
    return bits;
}

PTX_HANDLER(cvt_rounded) {
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        write_bits(w, in, lane, cvt_rounded(w, in, lane));
    }
    return PTX_OK;
}

/* Converts two floats to a pair of 16-bit floats; the second one is the lower half. */
static u32 rounded_half(f32 value, const ptx_instr *in, ptx_type type) {
    const int mode = ptx_host_rounding((ptx_rounding)in->rounding);
    fesetround(mode);
    const f32 narrow = ptx_f32_of((u32)round_into(in->relu && value <= 0 ? 0 : value, type, mode));
    fesetround(FE_TONEAREST);
    return type == PTX_TYPE_F16 ? ptx_half_of_f32(narrow) : ptx_bfloat_of_f32(narrow);
}

#define PAIR(name, type)                                                                                     \
    PTX_HANDLER(cvt_##name##_rounded) {                                                                      \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_f32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        PTX_STORE_EACH_LANE(u32, d, rounded_half(a[i], in, type) << 16 | rounded_half(b[i], in, type))       \
        return PTX_OK;                                                                                       \
    }

PAIR(f16x2, PTX_TYPE_F16)
PAIR(bf16x2, PTX_TYPE_BF16)

/* TF32 is f32 with the lower 13 bits zero. cvt.rna rounds to nearest, ties away from zero; of a NaN the
   remaining bits are kept. */

static u32 tf32_rounded(f32 value, const ptx_instr *in) {
    enum { NAN_TF32 = 0x7fffe000 };
    const u32 bits = in->relu && value <= 0 ? 0 : ptx_bits_f32(value);
    if (value != value)
        return NAN_TF32;
    return (in->rounding == PTX_ROUND_ZERO ? bits : bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

PTX_HANDLER(cvt_tf32) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_f32 *a = ptx_lanes(w, in, 1);
    PTX_STORE_EACH_LANE(u32, d, tf32_rounded(a[i], in))
    return PTX_OK;
}

#include "interpreter/values.h"
#include "opcodes_convert.def"
