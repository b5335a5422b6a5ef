/* Handlers of ldmatrix and stmatrix (8 x 8 matrices in shared memory), and of mma (16 x 8 results per warp).
 */
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"
#include "interpreter/matrix.h"

enum { ROWS = 8, ROW_BYTES = 16 };

/* Locates and reports the rows of all matrices, one per operand: lane 8 i + k supplies the address of row k
   of matrix i. */
static ptx_status locate_rows(ptx_warp *w, const ptx_instr *in, ptx_effect effect, uint8_t **row) {
    const unsigned count = in->operand_count * ROWS;
    ptx_access access = {.effect = effect,
                         .space = PTX_SPACE_SHARED,
                         .mask = PTX_ALL_LANES >> (PTX_LANES - count),
                         .bytes = ROW_BYTES};
    for (unsigned i = 0; i < count; i++) {
        access.address[i] = ptx_address_of(w, in, i);
        const ptx_status status =
            ptx_locate(w, in, i, PTX_SPACE_SHARED, access.address[i], ROW_BYTES, ROW_BYTES, &row[i]);
        if (status != PTX_OK)
            return status;
    }
    if (w->block->observer_count)
        ptx_hooks_access(w, in, &access);
    return PTX_OK;
}

static u32 element(const uint8_t *row, unsigned column) {
    uint16_t bits;
    memcpy(&bits, row + column * sizeof bits, sizeof bits);
    return bits;
}

/* Each lane receives two consecutive elements of a row, or of a column if transposed. */
static ptx_status load(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool transposed) {
    uint8_t *rows[PTX_LANES];
    ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status == PTX_OK)
        status = locate_rows(w, in, PTX_EFFECT_LOAD, rows);
    if (status != PTX_OK)
        return status;
    for (unsigned k = 0; k < in->operand_count; k++) {
        uint8_t *const *row = rows + k * ROWS;
        ptx_u32 *d = ptx_lanes(w, in, k);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            const unsigned outer = i / 4, inner = i % 4 * 2;
            d[i] = transposed ? element(row[inner], outer) | element(row[inner + 1], outer) << 16
                              : element(row[outer], inner) | element(row[outer], inner + 1) << 16;
        }
    }
    return PTX_OK;
}

PTX_HANDLER(ldmatrix) {
    return load(w, in, mask, false);
}

PTX_HANDLER(ldmatrix_trans) {
    return load(w, in, mask, true);
}

/* A lane holds two consecutive elements of a row of each matrix, or of a column if transposed. */
static void store_row(const ptx_u32 *fragment, unsigned row, bool transposed, uint8_t *to) {
    for (unsigned column = 0; column < ROWS; column++) {
        const unsigned outer = transposed ? column : row, inner = transposed ? row : column;
        const uint16_t bits = (uint16_t)(fragment[4 * outer + inner / 2] >> inner % 2 * 16);
        memcpy(to + column * sizeof bits, &bits, sizeof bits);
    }
}

static ptx_status store(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool transposed) {
    uint8_t *rows[PTX_LANES];
    if (mask != PTX_ALL_LANES)
        return w->no_more_lanes
                   ? ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                               "only lanes 0x%08x are here; the whole warp stores together", mask)
                   : PTX_DIVERGED_RETRY;
    const ptx_status status = locate_rows(w, in, PTX_EFFECT_STORE, rows);
    for (unsigned i = 0; i < in->operand_count * ROWS && status == PTX_OK; i++)
        store_row(ptx_lanes(w, in, i / ROWS), i % ROWS, transposed, rows[i]);
    return status;
}

PTX_HANDLER(stmatrix) {
    return store(w, in, mask, false);
}

PTX_HANDLER(stmatrix_trans) {
    return store(w, in, mask, true);
}

/* ---- mma ---- */

/* A register of B holds consecutive elements of a column. */
static void gather_b(const ptx_warp *w, const ptx_instr *in, unsigned first, ptx_core_step step, u32 *bits) {
    const unsigned packed = ptx_matrix_packed(step.type), width = 32 / packed;
    for (unsigned r = 0; r < step.k / packed / 4; r++) {
        const ptx_u32 *lanes = ptx_lanes(w, in, first + r);
        for (unsigned i = 0; i < PTX_LANES; i++)
            for (unsigned e = 0; e < packed; e++)
                bits[((i % 4 + r * 4) * packed + e) * PTX_CORE_COLUMNS + i / 4] =
                    lanes[i] >> e * width & UINT32_MAX >> (32 - width);
    }
}

/* Operands: D, A, B, C; the number of registers of each depends on the shape. */
static ptx_status multiply(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_core_step step) {
    const unsigned of_d = step.half ? 2 : 4, of_b = step.k / ptx_matrix_packed(step.type) / 4;
    u32 a[PTX_CORE_ELEMENTS], b[PTX_CORE_K * PTX_CORE_COLUMNS], d[PTX_CORE_ROWS * PTX_CORE_COLUMNS];
    ptx_core_parts parts_a, parts_b;
    ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status != PTX_OK)
        return status;
    ptx_matrix_gather_a(w, in, of_d, step, a);
    gather_b(w, in, of_d + 2 * of_b, step, b);
    ptx_matrix_gather_c(w, in, of_d + 3 * of_b, step.half, d);
    ptx_core_split(step.type, a, PTX_CORE_ROWS * step.k, false, &parts_a);
    ptx_core_split(step.type, b, PTX_CORE_COLUMNS * step.k, false, &parts_b);
    ptx_core_multiply(step, PTX_CORE_ROWS, &parts_a, &parts_b, d);
    ptx_matrix_scatter_d(w, in, 0, step.half, d);
    return PTX_OK;
}

#define MMA(name, type, half, k)                                                                             \
    PTX_HANDLER(mma_##name) {                                                                                \
        return multiply(w, in, mask, (ptx_core_step){type, half, k});                                        \
    }

MMA(tf32_k4, PTX_CORE_TF32, false, 4)
MMA(tf32_k8, PTX_CORE_TF32, false, 8)
MMA(bf16_k8, PTX_CORE_BF16, false, 8)
MMA(bf16_k16, PTX_CORE_BF16, false, 16)
MMA(f16_k8, PTX_CORE_F16, false, 8)
MMA(f16_k16, PTX_CORE_F16, false, 16)
MMA(half_k8, PTX_CORE_F16, true, 8)
MMA(half_k16, PTX_CORE_F16, true, 16)
