/* Gathers and scatters matrix fragments. */
#include "interpreter/matrix.h"

enum { N = PTX_CORE_COLUMNS, HALF_OF_ROWS = 8, LANES_OF_ROW = 4 };

unsigned ptx_matrix_packed(ptx_core_type type) {
    return type == PTX_CORE_TF32 ? 1 : type == PTX_CORE_F16 || type == PTX_CORE_BF16 ? 2 : 4;
}

/* Consecutive registers hold the upper and lower 8 rows, then the next columns. */
void ptx_matrix_gather_a(const ptx_warp *w, const ptx_instr *in, unsigned first, ptx_core_step step,
                         uint32_t *bits) {
    const unsigned packed = ptx_matrix_packed(step.type), width = 32 / packed;
    for (unsigned r = 0; r < step.k / packed / 2; r++) {
        const ptx_u32 *lanes = ptx_lanes(w, in, first + r);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            const unsigned row = i / LANES_OF_ROW + r % 2 * HALF_OF_ROWS;
            const unsigned column = (i % LANES_OF_ROW + r / 2 * LANES_OF_ROW) * packed;
            for (unsigned e = 0; e < packed; e++)
                bits[row * step.k + column + e] = lanes[i] >> e * width & UINT32_MAX >> (32 - width);
        }
    }
}

/* Index of the first element of a lane's register (or register pair). */
static inline unsigned element_index(unsigned lane, unsigned half_of_rows) {
    return (lane / LANES_OF_ROW + half_of_rows * HALF_OF_ROWS) * N + lane % LANES_OF_ROW * 2;
}

void ptx_matrix_gather_c(const ptx_warp *w, const ptx_instr *in, unsigned first, bool half, uint32_t *bits) {
    for (unsigned r = 0; r < (half ? 2 : 4); r++) {
        const ptx_u32 *lanes = ptx_lanes(w, in, first + r);
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (half) {
                bits[element_index(i, r)] = lanes[i] & 0xffff;
                bits[element_index(i, r) + 1] = lanes[i] >> 16;
            } else {
                bits[element_index(i, r / 2) + r % 2] = lanes[i];
            }
    }
}

void ptx_matrix_scatter_d(ptx_warp *w, const ptx_instr *in, unsigned first, bool half, const uint32_t *bits) {
    for (unsigned r = 0; r < (half ? 2 : 4); r++) {
        ptx_u32 *lanes = ptx_lanes(w, in, first + r);
        for (unsigned i = 0; i < PTX_LANES; i++)
            lanes[i] = half ? bits[element_index(i, r)] | bits[element_index(i, r) + 1] << 16
                            : bits[element_index(i, r / 2) + r % 2];
    }
}
