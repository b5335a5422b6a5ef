/* Products whose tiles the copy engine brings by tensor maps. */
#ifndef GR_MATMUL_TENSOR_MAPS_H
#define GR_MATMUL_TENSOR_MAPS_H

#include "matmul/common.h"

/* Whether tensor maps can describe a side as it lies, or the kernels that part float32 can read it, how far
   apart the rows of a copy must be for that, and the product of sides that they can. */
bool gr_matmul_tma_supports(const gr_matmul_view *side, uint64_t columns, size_t item_bytes);
bool gr_matmul_f16x3_supports(const gr_matmul_view *side, uint64_t columns);
uint64_t gr_matmul_padded_row(uint64_t columns, size_t item_bytes);
gr_status gr_matmul_tma(const gr_matmul *self, const gr_matmul_view *a, const gr_matmul_view *b,
                        const gr_matmul_variant *variant, const gr_matmul_operands *operands,
                        gr_program *program, gr_error *error);

#endif
