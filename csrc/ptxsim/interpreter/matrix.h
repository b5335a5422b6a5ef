/* How matrices are spread over the lanes of a warp, for the instructions that multiply them. */
#ifndef PTXSIM_MATRIX_H
#define PTXSIM_MATRIX_H

#include "interpreter/lanes.h"
#include "interpreter/tensor_core.h"

/* The bits of 16 rows of A, row by row, from the registers of the operands that begin at `first`. */
void ptx_matrix_gather_a(const ptx_warp *warp, const ptx_instr *in, unsigned first, ptx_core_step step,
                         uint32_t *bits);

/* Eight columns of C or D, 16 rows, from the registers of 4 operands (2 of f16), and back. */
void ptx_matrix_gather_c(const ptx_warp *warp, const ptx_instr *in, unsigned first, bool half,
                         uint32_t *bits);
void ptx_matrix_scatter_d(ptx_warp *warp, const ptx_instr *in, unsigned first, bool half,
                          const uint32_t *bits);

/* How many elements of a type a register holds. */
unsigned ptx_matrix_packed(ptx_core_type type);

#endif
