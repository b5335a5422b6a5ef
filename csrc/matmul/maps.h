/* Products whose tiles the copy engine brings by tensor maps. */
#ifndef GR_MATMUL_MAPS_H
#define GR_MATMUL_MAPS_H

#include "matmul/common.h"

/* Whether tensor maps can describe a side as it lies, or the kernels that part float32 can read it, how far
   apart the rows of a copy must be for that, and the product of sides that they can. */
bool gr_matmul_maps_take(const gr_matmul_side *side, uint64_t columns, size_t item_bytes);
bool gr_matmul_parts_take(const gr_matmul_side *side, uint64_t columns);
uint64_t gr_matmul_maps_pitch(uint64_t columns, size_t item_bytes);
gr_status gr_matmul_maps_multiply(const gr_matmul *self, const gr_matmul_side *a, const gr_matmul_side *b,
                                  const gr_matmul_variant *variant, const gr_matmul_ends *ends,
                                  gr_program *program, gr_error *error);

#endif
