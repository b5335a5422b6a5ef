/* Handlers of ldmatrix and of mma (16 x 8 results per warp). */
#include "interpreter/address.h"
#include "interpreter/collective.h"
#include "interpreter/exec.h"
#include "interpreter/hooks.h"
#include "interpreter/matrix.h"

enum { ROWS = 8, ROW_BYTES = 16, MATRICES = 4 };

/* Lane 8 i + k supplies the address of row k of matrix i. */
static ptx_status locate_rows(ptx_warp *w, const ptx_instr *in, unsigned matrices, const uint8_t **row,
                              ptx_access *access) {
    const unsigned count = matrices * ROWS;
    *access = (ptx_access){.effect = PTX_EFFECT_LOAD,
                           .space = PTX_SPACE_SHARED,
                           .mask = PTX_ALL_LANES >> (PTX_LANES - count),
                           .bytes = ROW_BYTES};
    for (unsigned i = 0; i < count; i++) {
        uint8_t *host;
        access->address[i] = ptx_address_of(w, in, i);
        ptx_status status =
            ptx_locate(w, in, i, PTX_SPACE_SHARED, access->address[i], ROW_BYTES, ROW_BYTES, &host);
        if (status != PTX_OK)
            return status;
        row[i] = host;
    }
    return PTX_OK;
}

static u32 element(const uint8_t *row, unsigned column) {
    uint16_t bits;
    memcpy(&bits, row + column * sizeof bits, sizeof bits);
    return bits;
}

/* Each lane receives two consecutive elements of a row, or of a column if transposed. */
static ptx_status load(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool transposed) {
    const uint8_t *rows[ROWS * MATRICES];
    ptx_access access;
    const unsigned matrices = in->operand_count;
    ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status == PTX_OK)
        status = locate_rows(w, in, matrices, rows, &access);
    if (status != PTX_OK)
        return status;
    if (w->block->observer_count)
        ptx_hooks_access(w, in, &access);
    for (unsigned k = 0; k < matrices; k++) {
        const uint8_t **row = rows + k * ROWS;
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
