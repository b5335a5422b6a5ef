/* The table of rungs of the ladder of matrix multiplications, from rungs.def, and the names of precisions. */
#include <string.h>

#include "matmul/matmul.h"

const gr_matmul_variant gr_matmul_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, dtypes_,            \
                precision_, rows_, columns_, threads_, shared_, blocks_, cluster_, a_box_, b_box_, c_box_)   \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("matmul", name, file, after, role, backends, capability, launch, title,      \
                                technique),                                                                  \
        .dtypes = GR_MATMUL_##dtypes_,                                                                       \
        .precision = GR_PRECISION_##precision_,                                                              \
        .rows = rows_,                                                                                       \
        .columns = columns_,                                                                                 \
        .threads = threads_,                                                                                 \
        .shared = shared_,                                                                                   \
        .blocks = GR_MATMUL_##blocks_,                                                                       \
        .cluster = cluster_,                                                                                 \
        .a_box = a_box_,                                                                                     \
        .b_box = b_box_,                                                                                     \
        .c_box = c_box_,                                                                                     \
    },
#include "matmul/rungs.def"
#undef GR_RUNG
};

const char *const gr_precisions[GR_PRECISIONS] = {"ieee", "tf32", "tf32x3", "f16x3"};

bool gr_precision_find(const char *name, gr_precision *out) {
    for (int i = 0; i < GR_PRECISIONS; ++i) {
        if (strcmp(gr_precisions[i], name) != 0)
            continue;
        *out = (gr_precision)i;
        return true;
    }
    return false;
}

const gr_ladder gr_matmul_ladder = GR_LADDER(gr_matmul_variants, " of matmul");

bool gr_matmul_supports_dtype(const gr_matmul_variant *variant, gr_dtype dtype) {
    static const bool sets[GR_MATMUL_SETS][GR_DTYPE_COUNT] = {
        [GR_MATMUL_FOUR] =
            {[GR_DTYPE_f32] = true, [GR_DTYPE_f64] = true, [GR_DTYPE_i32] = true, [GR_DTYPE_i64] = true},
        [GR_MATMUL_F32] = {[GR_DTYPE_f32] = true},
        [GR_MATMUL_SINGLES] = {[GR_DTYPE_f32] = true, [GR_DTYPE_c64] = true},
        [GR_MATMUL_DOUBLES] = {[GR_DTYPE_f64] = true, [GR_DTYPE_c128] = true},
        [GR_MATMUL_TENSOR_CORES] = {[GR_DTYPE_f32] = true, [GR_DTYPE_f16] = true, [GR_DTYPE_bf16] = true},
        [GR_MATMUL_HALVES] = {[GR_DTYPE_f16] = true, [GR_DTYPE_bf16] = true},
        [GR_MATMUL_LIBRARY] = {[GR_DTYPE_f16] = true,
                               [GR_DTYPE_bf16] = true,
                               [GR_DTYPE_f32] = true,
                               [GR_DTYPE_f64] = true,
                               [GR_DTYPE_c64] = true,
                               [GR_DTYPE_c128] = true},
    };
    return sets[variant->dtypes][dtype];
}

bool gr_matmul_supports_precision(const gr_matmul_variant *variant, gr_precision precision) {
    return precision == variant->precision ||
           (variant->rung.entry == GR_ENTRY_LIBRARY && precision == GR_PRECISION_TF32);
}
