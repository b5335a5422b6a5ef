// general_var: the variance of elements of any dtype and layout.
#include "reduce/ops/variance.cuh" // before the others: it has large States

#include "reduce/general/lane_columns.cuh"
#include "reduce/general/vector_tiles.cuh"

// Variances of integers of up to four bytes are exact in any order.
#define GR_PIECES_OF_BITS(bytes) GR_PIECES_OF_BITS_##bytes
#define GR_PIECES_OF_BITS_1 GR_DROP
#define GR_PIECES_OF_BITS_2 GR_DROP
#define GR_PIECES_OF_BITS_4 GR_DROP
#define GR_PIECES_OF_BITS_8 GR_ALL_IN_ORDER
#define GR_PIECES_OF_REAL(bytes) GR_ALL_IN_ORDER
#define GR_PIECES_OF_COMPLEX(bytes) GR_ALL_IN_ORDER
#define GR_ALL_IN_ORDER(op, F, dtype, In)                                                                    \
    GR_IN_FIXED_ORDER(op, F, dtype, In)                                                                      \
    GR_MASKED_PIECES(op, F, dtype, In)

// GR_TAKES_ALL of instantiate.cuh, with a kernel `tiles` of its own.
#define GR_TAKES_VARIANCE(op, F, dtype, In, kind, bytes)                                                     \
    GR_ROWS(op, F, dtype, In)                                                                                \
    GR_COLUMNS(op, F, dtype, In)                                                                             \
    GR_GENERAL(tiles, 1, op, dtype, reduce_tiles_of<F<In>, VectorAccumulator<F<In>, In>, In>)                \
    GR_GENERAL(map, 1, op, dtype, map_elements<F<In>, In>)                                                   \
    GR_SPREAD_##bytes(op, F, dtype, In)                                                                      \
        GR_GENERAL(axis, axis_occupancy<F<In>>, op, dtype, reduce_axis<F<In>, FromElement<F<In>, In>>)       \
            GR_GENERAL(whole, whole_blocks<F<In>>, op, dtype, reduce_whole<F<In>, FromElement<F<In>, In>>)   \
                GR_OWN_LAST(op, F, dtype, In) GR_PIECES_OF_##kind(bytes)(op, F, dtype, In)

namespace gr::reduce {
template <class In> constexpr bool takes_sets<Var<In>> = false;
template <class In> constexpr bool is_ordered<Var<In>> = var_kind<In> == 0 || var_kind<In> == 2;
template <class In> constexpr bool has_long_finish<Var<In>> = var_kind<In> == 1 || var_kind<In> == 3;
} // namespace gr::reduce

#define GR_GENERAL_OP(...) GR_TAKES_VARIANCE(var, Var, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
