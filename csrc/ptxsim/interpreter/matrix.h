/* Fragment layouts of mma and wgmma: how matrices are distributed over the registers and lanes of a warp. */
#ifndef PTXSIM_MATRIX_H
#define PTXSIM_MATRIX_H

#include "interpreter/lanes.h"
#include "interpreter/tensor_core.h"

/* Collects 16 rows of A, row-major, from the registers of the operands that start at `first`. */
void ptx_matrix_gather_a(const ptx_warp *warp, const ptx_instr *in, unsigned first, ptx_core_step step,
                         uint32_t *bits);

/* Collects 16 rows and 8 columns of C or D from 4 register operands (2 for f16); scatter_d stores them. */
void ptx_matrix_gather_c(const ptx_warp *warp, const ptx_instr *in, unsigned first, bool half,
                         uint32_t *bits);
void ptx_matrix_scatter_d(ptx_warp *warp, const ptx_instr *in, unsigned first, bool half,
                          const uint32_t *bits);

/* Elements per 32-bit register. */
unsigned ptx_matrix_packed(ptx_core_type type);

#endif
