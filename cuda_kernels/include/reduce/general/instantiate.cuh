// The general kernels of one operator, general_<kernel>_<op>_<dtype>, for each dtype that it takes. The file
// that includes this one defines GR_GENERAL_OP(dtype, In, kind, bytes) with one of the macros below, or uses
// them for some dtypes by itself.
#include <type_traits>

#include "common/entry.cuh"
#include "reduce/accumulate.cuh"
#include "reduce/general/axis.cuh"
#include "reduce/general/columns.cuh"
#include "reduce/general/lane_columns.cuh"
#include "reduce/general/last.cuh"
#include "reduce/general/map.cuh"
#include "reduce/general/masked_pieces.cuh"
#include "reduce/general/ordered_sums.cuh"
#include "reduce/general/ordered_tiles.cuh"
#include "reduce/general/pair_pieces.cuh"
#include "reduce/general/pieces.cuh"
#include "reduce/general/rows.cuh"
#include "reduce/general/small_integers.cuh"
#include "reduce/general/spread.cuh"
#include "reduce/general/tiles.cuh"
#include "reduce/shared_kernels.cuh"

using namespace gr::reduce;

// The accumulator of `rows`: its State must be the State of F, with which `last` and the other kernels
// continue.
template <class F, class In, class A = VectorAccumulator<F, In>>
using RowAccumulator = typename std::conditional<std::is_same<typename F::State, typename A::State>::value, A,
                                                 ByElement<F, In>>::type;

// 128-bit sums of integers need no more registers than the doubles of other means.
template <class In> constexpr bool has_long_finish<Mean<In>> = std::is_integral<Wide<In>>::value;
template <> constexpr unsigned occupancy_bytes<Mean<int32_t>> = 8;
template <> constexpr unsigned occupancy_bytes<Mean<uint32_t>> = 8;
template <> constexpr unsigned occupancy_bytes<Mean<int64_t>> = 8;
template <> constexpr unsigned occupancy_bytes<Mean<uint64_t>> = 8;

// Elements are kept in registers until their sum is known to be finite.
template <> constexpr unsigned rows_occupancy<Mean<float>, float> = 3;
// `pieces` may need more registers.
template <class F, class In> constexpr unsigned pieces_occupancy = rows_occupancy<F, In>;
// Products of floats wait for each other, so that more threads have loads in flight.
template <class F>
constexpr unsigned masked_occupancy = sizeof(typename F::State) <= 4 ? 5 : pair_occupancy<F>;

// A kernel of an operator; registers must allow `blocks` blocks per multiprocessor.
#define GR_GENERAL(kernel, blocks, op, dtype, ...)                                                           \
    GR_ENTRY((GR_GENERAL_THREADS, blocks), general_##kernel##_##op##_##dtype, gr_general_params, __VA_ARGS__)
#define GR_ROWS(op, F, dtype, In)                                                                            \
    GR_GENERAL(rows, (rows_occupancy<F<In>, In>), op, dtype,                                                 \
               reduce_rows<F<In>, RowAccumulator<F<In>, In>, In>)
#define GR_PIECES(op, F, dtype, In)                                                                          \
    GR_GENERAL(pieces, (pieces_occupancy<F<In>, In>), op, dtype,                                             \
               reduce_pieces<F<In>, RowAccumulator<F<In>, In>, In>)
#define GR_PAIR_PIECES(op, F, dtype, In, is_average)                                                         \
    GR_GENERAL(pieces, (pair_occupancy<F<In>>), op, dtype,                                                   \
               reduce_pair_pieces<F<In>, StripOfPairs<F<In>, In, GR_PAIR_ELEMENTS(sizeof(In), is_average)>>)
#define GR_PAIR_AXIS(op, F, dtype, In)                                                                       \
    GR_GENERAL(axis, (pair_axis_occupancy<In>), op, dtype, reduce_axis<F<In>, FromPair<F<In>, In>>)
#define GR_MASKED_PIECES(op, F, dtype, In)                                                                   \
    GR_GENERAL(masked_pieces, (masked_occupancy<F<In>>), op, dtype,                                          \
               reduce_pair_pieces<F<In>, StripUnderMask<F<In>, In, GR_MASKED_ELEMENTS(sizeof(In))>>)
#define GR_TILES(op, F, dtype, In) GR_GENERAL(tiles, 1, op, dtype, reduce_ordered_tiles<F<In>, In>)
#define GR_COLUMNS(op, F, dtype, In)                                                                         \
    GR_GENERAL(columns, (columns_occupancy<F<In>, In>), op, dtype, reduce_columns<F<In>, In>)
// For operators whose order counts: contiguous rows, and others.
#define GR_IN_FIXED_ORDER(op, F, dtype, In)                                                                  \
    GR_PIECES(op, F, dtype, In)                                                                              \
    GR_GENERAL(lanes, 2, op, dtype, reduce_lanes<F<In>, In>)

// Pass 2: see shared_kernels.cuh.
#ifndef GR_RESULT
#define GR_RESULT SAME
#endif
#define GR_LAST(op, F, dtype, ...) GR_GENERAL(last, 1, op, dtype, reduce_last<F<__VA_ARGS__>>)
#define GR_OWN_LAST GR_PASTE(GR_OWN_LAST_, GR_RESULT)
#define GR_OWN_LAST_SAME GR_LAST
#define GR_OWN_LAST_SUM GR_DROP
#define GR_OWN_LAST_MEAN GR_DROP
#define GR_OWN_LAST_B8 GR_DROP
#define GR_OWN_LAST_I64 GR_DROP
#define GR_LASTS GR_PASTE(GR_LASTS_, GR_RESULT)
#define GR_LASTS_SAME GR_DROP
#define GR_LASTS_B8(op, F) GR_LAST(op, F, u8, uint8_t)
#define GR_LASTS_I64(op, F) GR_LAST(op, F, u64, uint64_t)
#define GR_LASTS_SUM(op, F)                                                                                  \
    GR_LASTS_I64(op, F)                                                                                      \
    GR_LASTS_FLOATS(op, F)
#define GR_LASTS_MEAN(op, F)                                                                                 \
    GR_LAST(op, F, i16, int16_t)                                                                             \
    GR_LAST(op, F, i64, int64_t)                                                                             \
    GR_LASTS_FLOATS(op, F)
#define GR_LASTS_FLOATS(op, F)                                                                               \
    GR_LAST(op, F, f32, float)                                                                               \
    GR_LAST(op, F, f64, double)                                                                              \
    GR_LAST(op, F, f16, gr_f16)                                                                              \
    GR_LAST(op, F, bf16, gr_bf16)                                                                            \
    GR_LAST(op, F, c64, gr_c64)                                                                              \
    GR_LAST(op, F, c128, gr_c128)

// For any layout; the last argument is the type that loads elements.
#define GR_AXIS(op, F, dtype, ...)                                                                           \
    GR_GENERAL(axis, 2, op, dtype, reduce_axis<F, __VA_ARGS__>)                                              \
    GR_GENERAL(last, 1, op, dtype, reduce_last<F>)
#define GR_TAKES_AXIS(op, F, dtype, In) GR_AXIS(op, F<In>, dtype, FromElement<F<In>, In>)
#define GR_TAKES_TWO(op, F, dtype, In, is_average)                                                           \
    GR_PAIR_AXIS(op, F, dtype, In)                                                                           \
    GR_GENERAL(last, 1, op, dtype, reduce_last<F<In>>)                                                       \
    GR_PAIR_PIECES(op, F, dtype, In, is_average)
#define GR_TAKES_ROWS(op, F, dtype, In)                                                                      \
    GR_TAKES_AXIS(op, F, dtype, In)                                                                          \
    GR_ROWS(op, F, dtype, In)                                                                                \
    GR_COLUMNS(op, F, dtype, In)

// For elements of eight bytes and more general_axis has enough bytes in flight.
#define GR_SPREAD(op, F, dtype, In)                                                                          \
    GR_GENERAL(spread, (columns_occupancy<F<In>, In>), op, dtype, reduce_spread<F<In>, In>)
#define GR_SPREAD_1 GR_SPREAD
#define GR_SPREAD_2 GR_SPREAD
#define GR_SPREAD_4 GR_SPREAD
#define GR_SPREAD_8(...)
#define GR_SPREAD_16(...)

// The order of the elements counts in sums, products and means of floating-point numbers.
#define GR_ORDERED GR_PASTE(GR_ORDERED_, GR_RESULT)
#define GR_ORDERED_SUM GR_IN_ORDER
#define GR_ORDERED_MEAN GR_IN_ORDER
#define GR_ORDERED_SAME GR_ANY_ORDER
#define GR_ORDERED_B8 GR_ANY_ORDER
#define GR_ORDERED_I64 GR_ANY_ORDER
#define GR_IN_ORDER(op, F, dtype, In, kind) GR_IN_ORDER_##kind(op, F, dtype, In)
#define GR_IN_ORDER_BITS GR_ANY_ORDER
#define GR_IN_ORDER_REAL(op, F, dtype, In)                                                                   \
    GR_IN_FIXED_ORDER(op, F, dtype, In)                                                                      \
    GR_TILES(op, F, dtype, In)                                                                               \
    GR_MASKED_ROWS_##op(F, dtype, In)
// Sums under a mask have the kernels of means, see csrc/reduce/masked/params.h.
#define GR_MASKED_ROWS_sum(...)
#define GR_MASKED_ROWS_mean(F, dtype, In) GR_MASKED_PIECES(mean, MaskedSum, dtype, In)
#define GR_MASKED_ROWS_prod(F, dtype, In) GR_MASKED_PIECES(prod, F, dtype, In)
#define GR_IN_ORDER_COMPLEX GR_IN_ORDER_REAL
#define GR_ANY_ORDER(op, F, dtype, In, ...) GR_GENERAL(tiles, 1, op, dtype, reduce_tiles<F<In>, In>)

#define GR_TAKES_ALL(op, F, dtype, In, kind, bytes)                                                          \
    GR_ROWS(op, F, dtype, In)                                                                                \
    GR_COLUMNS(op, F, dtype, In)                                                                             \
    GR_ORDERED(op, F, dtype, In, kind)                                                                       \
    GR_GENERAL(map, 1, op, dtype, map_elements<F<In>, In>)                                                   \
    GR_SPREAD_##bytes(op, F, dtype, In)                                                                      \
        GR_GENERAL(axis, axis_occupancy<F<In>>, op, dtype, reduce_axis<F<In>, FromElement<F<In>, In>>)       \
            GR_GENERAL(whole, whole_blocks<F<In>>, op, dtype, reduce_whole<F<In>, FromElement<F<In>, In>>)   \
                GR_OWN_LAST(op, F, dtype, In)

// Where elements under a mask make a State of another kind.
#define GR_TAKES_MASKED(op, F, dtype, In, ...)                                                               \
    GR_GENERAL(masked_axis, 1, op, dtype, reduce_axis<F<In>, FromMasked<F<In>, In>>)

#define GR_TAKES_PAIR(op, F, dtype, In, kind, ...)                                                           \
    GR_TAKES_PAIR_##kind(op, F, dtype, In) GR_PAIR_AXIS(op, F, dtype, In)                                    \
        GR_GENERAL(whole, 2, op, dtype, reduce_whole<F<In>, FromPair<F<In>, In>>)                            \
            GR_GENERAL(last, 1, op, dtype, reduce_last<F<In>>)

#define GR_TAKES_PAIR_BITS(...)
#define GR_TAKES_PAIR_REAL(op, F, dtype, In) GR_PAIR_PIECES(op, F, dtype, In, false)
#define GR_TAKES_PAIR_COMPLEX GR_TAKES_PAIR_REAL

#define GR_TAKES_BITS(op, F, dtype, In, kind, bytes) GR_TAKES_BITS_##kind(op, F, dtype, In, kind, bytes)
#define GR_TAKES_BITS_BITS GR_TAKES_ALL
#define GR_TAKES_BITS_REAL(...)
#define GR_TAKES_BITS_COMPLEX(...)

#ifdef GR_GENERAL_OP
#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                  \
    GR_GENERAL_OP(dtype, In, kind, bytes)
#include "base/dtypes.def"
#undef GR_DTYPE
#endif
