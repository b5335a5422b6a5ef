/* Handlers of mma for f64. An H200 accumulates the products one after the other in the order of k, each with
   a fused multiply-add. */
#include <math.h>

#include "interpreter/exec.h"

enum { ROWS = 16, K = 16, COLUMNS = 8, LANES_OF_ROW = 4 };

typedef struct factors {
    f64 a[ROWS][K], b[K][COLUMNS];
} factors;

/* Accumulates the products of a row of A into a row of results. */
PTX_CLONES_FMA static void add_row(const f64 *a, f64 (*b)[COLUMNS], unsigned k, f64 *sums) {
    for (unsigned j = 0; j < k; j++)
        for (unsigned n = 0; n < COLUMNS; n++)
            sums[n] = fma(a[j], b[j][n], sums[n]);
}

/* Accumulates like add_row, with the NaN payloads of an H200. */
static void add_row_with_nan(const f64 *a, f64 (*b)[COLUMNS], unsigned k, f64 *sums) {
    for (unsigned j = 0; j < k; j++)
        for (unsigned n = 0; n < COLUMNS; n++)
            sums[n] = ptx_result_f64(fma(a[j], b[j][n], sums[n]), b[j][n], sums[n], a[j]);
}

static bool has_nan(const f64 *sums) {
    bool found = false;
    for (unsigned n = 0; n < COLUMNS; n++)
        found |= sums[n] != sums[n];
    return found;
}

/* Operands: D, A, B, C. Consecutive registers of A hold the upper and lower 8 rows, then the next values of
   k. */
static ptx_status multiply(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned rows, unsigned k) {
    const unsigned halves = rows / 8, of_d = 2 * halves, of_b = k / 4, of_a = of_b * halves;
    factors f;
    f64 d[ROWS][COLUMNS];
    const ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status != PTX_OK)
        return status;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        const unsigned group = i / LANES_OF_ROW, member = i % LANES_OF_ROW;
        for (unsigned r = 0; r < of_a; r++)
            f.a[group + r % halves * 8][member + r / halves * 4] =
                ((const ptx_f64 *)ptx_lanes(w, in, of_d + r))[i];
        for (unsigned r = 0; r < of_b; r++)
            f.b[member + r * 4][group] = ((const ptx_f64 *)ptx_lanes(w, in, of_d + of_a + r))[i];
        for (unsigned r = 0; r < of_d; r++)
            d[group + r / 2 * 8][member * 2 + r % 2] =
                ((const ptx_f64 *)ptx_lanes(w, in, of_d + of_a + of_b + r))[i];
    }
    for (unsigned m = 0; m < rows; m++) {
        f64 sums[COLUMNS];
        memcpy(sums, d[m], sizeof sums);
        add_row(f.a[m], f.b, k, sums);
        if (has_nan(sums))
            add_row_with_nan(f.a[m], f.b, k, d[m]);
        else
            memcpy(d[m], sums, sizeof sums);
    }
    for (unsigned r = 0; r < of_d; r++) {
        ptx_f64 *lanes = ptx_lanes(w, in, r);
        for (unsigned i = 0; i < PTX_LANES; i++)
            lanes[i] = d[i / LANES_OF_ROW + r / 2 * 8][i % LANES_OF_ROW * 2 + r % 2];
    }
    return PTX_OK;
}

#define MMA(name, rows, k)                                                                                   \
    PTX_HANDLER(mma_f64_##name) {                                                                            \
        return multiply(w, in, mask, rows, k);                                                               \
    }

MMA(m8k4, 8, 4)
MMA(m16k4, 16, 4)
MMA(m16k8, 16, 8)
MMA(m16k16, 16, 16)
