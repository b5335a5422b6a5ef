// The dtypes of operators that take no integers: GR_REALS(ROW) and GR_COMPLEXES(ROW) expand ROW(dtype, In)
// for each.
#pragma once

#define GR_REALS(ROW) ROW(f32, float) ROW(f64, double) ROW(f16, gr_f16) ROW(bf16, gr_bf16)
#define GR_COMPLEXES(ROW) ROW(c64, gr_c64) ROW(c128, gr_c128)

// Of the general kernels those that take any layout, and those for rows and columns, too.
#define GR_TAKES_AXIS(op, F, dtype, In)                                                                      \
    GR_ENTRY(general_axis_##op##_, dtype, reduce_axis<F<In>, FromElement<F<In>, In>>)                        \
    GR_ENTRY(general_last_##op##_, dtype, reduce_last<F<In>>)
#define GR_TAKES_ROWS(op, F, dtype, In)                                                                      \
    GR_TAKES_AXIS(op, F, dtype, In)                                                                          \
    GR_BOUND_ENTRY((rows_occupancy<F<In>, In>), general_rows_##op##_, dtype,                                 \
                   reduce_rows<F<In>, Accumulator<F<In>, Flat##F<In>, In>, In>)                              \
    GR_BOUND_ENTRY((columns_occupancy<F<In>, In>), general_columns_##op##_, dtype, reduce_columns<F<In>, In>)
#define GR_TAKES_TWO(op, F, dtype, In)                                                                       \
    GR_ENTRY(general_axis_##op##_, dtype, reduce_axis<F<In>, FromPair<F<In>, In>>)                           \
    GR_ENTRY(general_last_##op##_, dtype, reduce_last<F<In>>)
