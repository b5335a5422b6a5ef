// The dtypes of operators that take no integers: GR_REALS(ROW) and GR_COMPLEXES(ROW) expand ROW(dtype, In)
// for each.
#pragma once

#define GR_REALS(ROW) ROW(f32, float) ROW(f64, double) ROW(f16, gr_f16) ROW(bf16, gr_bf16)
#define GR_COMPLEXES(ROW) ROW(c64, gr_c64) ROW(c128, gr_c128)
