// Kernels that several dtypes share, as csrc/reduce/ops.c says too (gr_op_kernel_dtype, gr_op_last_dtype).
//
// Operators that look at bits alone have one kernel for all integers of a size: those of the unsigned
// integer. GR_UNLESS_SHARED(shares, dtype)(...) expands to its arguments unless the kernels of the dtype are
// those of another; `shares` are the traits of the operator in ops.def: NONE, LONG, SIGNS or BYTES.
//
// Kernels of pass 2 read States, and are the same for all dtypes whose results have one dtype: SUM, MEAN, B8,
// I64 or SUMS, as in ops.def. GR_OWN_LAST(...) makes the kernel of a dtype if the results are others (SAME),
// GR_LASTS(op, F) those of all dtypes of results. GR_RESULT says which.
#pragma once

#define GR_PASTE_(a, b) a##b
#define GR_PASTE(a, b) GR_PASTE_(a, b)
#define GR_KEEP(...) __VA_ARGS__
#define GR_DROP(...)

#define GR_WORDS_f32 OWN
#define GR_WORDS_f64 OWN
#define GR_WORDS_i32 SIGNED
#define GR_WORDS_i64 WIDEST
#define GR_WORDS_b8 BOOL
#define GR_WORDS_i8 SIGNED
#define GR_WORDS_i16 SIGNED
#define GR_WORDS_u8 OWN
#define GR_WORDS_u16 OWN
#define GR_WORDS_u32 OWN
#define GR_WORDS_u64 OWN
#define GR_WORDS_f16 OWN
#define GR_WORDS_bf16 OWN
#define GR_WORDS_c64 OWN
#define GR_WORDS_c128 OWN

#define GR_NONE_OWN GR_KEEP
#define GR_NONE_WIDEST GR_KEEP
#define GR_NONE_SIGNED GR_KEEP
#define GR_NONE_BOOL GR_KEEP
#define GR_LONG_OWN GR_KEEP
#define GR_LONG_WIDEST GR_DROP
#define GR_LONG_SIGNED GR_KEEP
#define GR_LONG_BOOL GR_KEEP
#define GR_SIGNS_OWN GR_KEEP
#define GR_SIGNS_WIDEST GR_DROP
#define GR_SIGNS_SIGNED GR_DROP
#define GR_SIGNS_BOOL GR_KEEP
#define GR_BYTES_OWN GR_KEEP
#define GR_BYTES_WIDEST GR_DROP
#define GR_BYTES_SIGNED GR_DROP
#define GR_BYTES_BOOL GR_DROP
#define GR_UNLESS_SHARED(shares, dtype) GR_PASTE(GR_PASTE(GR_, shares), GR_PASTE(_, GR_WORDS_##dtype))
