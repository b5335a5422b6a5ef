// The kernels of a function for each dtype and number of vectors per thread.
#pragma once

#include "normalize/rows.cuh"
#include "normalize/staged.cuh"

using namespace gr::normalize;

#define GR_ROW_ENTRY(op, Op, dtype, In, vectors)                                                             \
    GR_ENTRY((GR_NORMALIZE_MAX_THREADS, 2), row_##op##_##dtype##_v##vectors, gr_normalize_params,            \
             rows<Op, In, vectors>)
// The numbers of vectors per thread are GR_NORMALIZE_VECTORS and GR_NORMALIZE_MAX_VECTORS, as the planner
// names them; rows of one tile of 16-bit elements have GR_NORMALIZE_VECTORS alone.
#define GR_TILES_ENTRY(prefix, cluster, op, Op, dtype, In, vectors)                                          \
    GR_ENTRY((GR_NORMALIZE_MAX_THREADS, 2), prefix##_##op##_##dtype##_v##vectors, gr_normalize_params,       \
             row_tiles<Op, In, vectors, cluster>)
#define GR_TILES_ENTRIES(prefix, cluster, op, Op)                                                            \
    GR_TILES_ENTRY(prefix, cluster, op, Op, f32, float, 8)                                                   \
    GR_TILES_ENTRY(prefix, cluster, op, Op, f64, double, 8)                                                  \
    GR_TILES_ENTRY(prefix, cluster, op, Op, f16, gr_f16, 4)                                                  \
    GR_TILES_ENTRY(prefix, cluster, op, Op, f16, gr_f16, 8)                                                  \
    GR_TILES_ENTRY(prefix, cluster, op, Op, bf16, gr_bf16, 4)                                                \
    GR_TILES_ENTRY(prefix, cluster, op, Op, bf16, gr_bf16, 8)

#define GR_STAGED_ENTRY(prefix, op, Op, dtype, In, vectors)                                                  \
    GR_ENTRY((GR_NORMALIZE_MAX_THREADS, 2), prefix##_##op##_##dtype##_v##vectors, gr_normalize_params,       \
             prefix##_rows<Op, In, vectors>)
#define GR_STAGED_ENTRIES(op, Op)                                                                            \
    GR_STAGED_ENTRY(pipelined, op, Op, f32, float, 4)                                                        \
    GR_STAGED_ENTRY(pipelined, op, Op, f32, float, 8)                                                        \
    GR_STAGED_ENTRY(pipelined, op, Op, f64, double, 4)                                                       \
    GR_STAGED_ENTRY(pipelined, op, Op, f64, double, 8)                                                       \
    GR_STAGED_ENTRY(pipelined, op, Op, f16, gr_f16, 4)                                                       \
    GR_STAGED_ENTRY(pipelined, op, Op, bf16, gr_bf16, 4)                                                     \
    GR_STAGED_ENTRY(resident, op, Op, f32, float, 8)                                                         \
    GR_STAGED_ENTRY(resident, op, Op, f64, double, 8)                                                        \
    GR_STAGED_ENTRY(resident, op, Op, f16, gr_f16, 4)                                                        \
    GR_STAGED_ENTRY(resident, op, Op, bf16, gr_bf16, 4)

#define GR_NORMALIZE_ENTRIES(op, Op)                                                                         \
    GR_ROW_ENTRY(op, Op, f32, float, 4)                                                                      \
    GR_ROW_ENTRY(op, Op, f32, float, 8)                                                                      \
    GR_ROW_ENTRY(op, Op, f64, double, 4)                                                                     \
    GR_ROW_ENTRY(op, Op, f64, double, 8)                                                                     \
    GR_ROW_ENTRY(op, Op, f16, gr_f16, 4)                                                                     \
    GR_ROW_ENTRY(op, Op, bf16, gr_bf16, 4)                                                                   \
    GR_TILES_ENTRIES(tiles, false, op, Op)
