/* Plans launches of the kernels for contiguous rows. Each returns false if its kernel does not fit the merged
   dimensions of `launch`. */
#ifndef GR_REDUCE_GENERAL_PIECES_H
#define GR_REDUCE_GENERAL_PIECES_H

#include "reduce/general/layout.h"

/* `rows`: runs of contiguous elements, which may have gaps between them. */
bool gr_plan_rows(const gr_layout *layout, gr_general_launch *launch);

/* `pieces`: rows in an order that follows from their length alone. */
bool gr_plan_pieces(const gr_layout *layout, gr_general_launch *launch);

/* The same for rows of two vectors. */
bool gr_plan_pair_pieces(const gr_layout *layout, gr_general_launch *launch);

#endif
