/* Handlers of stmatrix: 8 x 8 matrices in the registers of a warp are stored to shared memory row by row. */
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"

enum { ROWS = 8, ROW_BYTES = 16 };

/* A lane holds two consecutive elements of a row of each matrix, or of a column if transposed. */
static void store_row(const ptx_u32 *fragment, unsigned row, bool transposed, uint8_t *to) {
    for (unsigned column = 0; column < ROWS; column++) {
        const unsigned outer = transposed ? column : row, inner = transposed ? row : column;
        const uint16_t element = (uint16_t)(fragment[4 * outer + inner / 2] >> inner % 2 * 16);
        memcpy(to + column * sizeof element, &element, sizeof element);
    }
}

/* Lane 8 k + i supplies the address of row i of matrix k. */
static ptx_status store(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool transposed) {
    const unsigned count = in->operand_count * ROWS;
    ptx_access access = {.effect = PTX_EFFECT_STORE,
                         .space = PTX_SPACE_SHARED,
                         .mask = PTX_ALL_LANES >> (PTX_LANES - count),
                         .bytes = ROW_BYTES};
    uint8_t *host[PTX_LANES];
    if (mask != PTX_ALL_LANES)
        return w->no_more_lanes
                   ? ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                               "only lanes 0x%08x are here; the whole warp stores together", mask)
                   : PTX_DIVERGED_RETRY;
    for (unsigned i = 0; i < count; i++) {
        access.address[i] = ptx_address_of(w, in, i);
        ptx_status status =
            ptx_locate(w, in, i, PTX_SPACE_SHARED, access.address[i], ROW_BYTES, ROW_BYTES, &host[i]);
        if (status != PTX_OK)
            return status;
    }
    if (w->block->observer_count)
        ptx_hooks_access(w, in, &access);
    for (unsigned i = 0; i < count; i++)
        store_row(ptx_lanes(w, in, i / ROWS), i % ROWS, transposed, host[i]);
    return PTX_OK;
}

PTX_HANDLER(stmatrix) {
    return store(w, in, mask, false);
}

PTX_HANDLER(stmatrix_trans) {
    return store(w, in, mask, true);
}
