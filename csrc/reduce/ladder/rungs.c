/* The rows of rungs.def as C data, and which operators, dtypes and block sizes a rung accepts. */
#include "reduce/ladder/ladder.h"

const gr_variant gr_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, ops_, blocks_,      \
                grid_, span_, align_, cluster_, shared_, output_)                                            \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("reduction", name, file, after, role, backends, capability, launch, title,   \
                                technique),                                                                  \
        .ops = GR_SET_##ops_,                                                                                \
        .blocks = GR_BLOCKS_##blocks_,                                                                       \
        .grid = GR_GRID_##grid_,                                                                             \
        .span = span_,                                                                                       \
        .align = align_,                                                                                     \
        .cluster = cluster_,                                                                                 \
        .shared = GR_SHARED_##shared_,                                                                       \
        .output = GR_OUTPUT_##output_,                                                                       \
    },
#include "reduce/rungs.def"
#undef GR_RUNG
};

const gr_ladder gr_reduction_ladder = GR_LADDER(gr_variants, "");

bool gr_variant_covers(const gr_variant *variant, gr_op op, gr_dtype dtype) {
    return gr_ops[op].in_set[variant->ops] && gr_dtypes[dtype].scope == GR_SCOPE_LADDER &&
           gr_op_takes(op, dtype);
}

bool gr_variant_takes_block(const gr_variant *variant, int64_t block) {
    if (variant->blocks == GR_BLOCKS_NONE)
        return block == 0;
    if (block < GR_MIN_BLOCK || block > GR_MAX_BLOCK || block % 32 != 0)
        return false;
    return variant->blocks == GR_BLOCKS_WARPS || (block & (block - 1)) == 0;
}
