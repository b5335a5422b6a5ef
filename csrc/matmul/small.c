/* Products with few columns, few rows or a short k on tensor cores: chooses their kernels, and plans
   matmul_small, which reads operands of any strides without copies. The order of the sums depends on n, k and
   the dtype alone: k is divided into parts, each part is added up in the order of k, and then the parts in
   their order. The kernels matmul_direct, matmul_small and matmul_short keep this order as t1, t3 and t5 do,
   so that the choice between them may depend on the number of rows and on the strides. */
#include "base/limits.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

enum {
    SHORTEST_K = 16,        /* k of halves up to which the kernel of dtypes without a rung takes less time */
    FEW_COLUMNS = 8,        /* columns of TF32 up to which matmul_columns takes less time, in float32 */
    SHORTEST_SINGLE_K = 32, /* k of TF32 up to which the kernels of float32 take less time */
    LONGEST_SINGLE_K = 1 << 14, /* k of TF32 from which on kernels of float32 split up to NARROW columns into
                                   enough parts */
    NARROW = 64,
};

static bool is_half(const gr_matmul *self) {
    return self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
}

static bool is_tf32(const gr_matmul *self) {
    return self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_TF32;
}

bool gr_matmul_prefers_ieee(const gr_matmul *self) {
    return is_tf32(self) && self->variant == NULL &&
           (self->k <= SHORTEST_SINGLE_K || self->n <= FEW_COLUMNS ||
            (self->n <= NARROW && self->k >= LONGEST_SINGLE_K));
}

bool gr_matmul_is_shortest(const gr_matmul *self) {
    return is_half(self) && self->variant == NULL && self->k <= SHORTEST_K;
}

/* The kernels that keep the order of the rungs with few rows are those of a Hopper GPU and of the simulator.
 */
gr_matmul_order gr_matmul_order_of(const gr_matmul *self, const gr_device_info *info) {
    gr_matmul plain = *self;
    if (gr_matmul_prefers_ieee(self))
        plain.precision = GR_PRECISION_IEEE;
    if (self->n == 1 || self->k == 0 || info->caps.capability != GR_HOPPER ||
        gr_matmul_prefers_columns(&plain, info))
        return GR_MATMUL_ORDER_OTHER;
    if (is_half(self) || is_tf32(&plain))
        return !gr_matmul_is_shortest(self) && gr_matmul_k_parts(&plain) == 1 ? GR_MATMUL_ORDER_K_STEPS
                                                                              : GR_MATMUL_ORDER_OTHER;
    if (self->dtype == GR_DTYPE_f32 && plain.precision == GR_PRECISION_IEEE)
        return gr_matmul_invariant_parts(self) == 1 ? GR_MATMUL_ORDER_FMA : GR_MATMUL_ORDER_OTHER;
    return GR_MATMUL_ORDER_OTHER;
}

typedef enum kernel { RUNG, SMALL, DIRECT, FRAGMENTS } kernel;

/* The kernel with the least estimated time, in microseconds. */
typedef struct choice {
    kernel kernel;
    bool shares; /* each block takes a part of k, and not all of them */
    gr_matmul_direct_choice direct;
    double time;
} choice;

static void consider_small(const gr_matmul *self, uint32_t parts, choice *best) {
    const bool doubles = self->dtype == GR_DTYPE_f64;
    for (int shared = doubles && parts > 1 ? 1 : 0; shared < (parts > 1 ? 2 : 1); ++shared) {
        const double time = gr_matmul_small_time(self, parts, shared);
        if (time < best->time)
            *best = (choice){.kernel = SMALL, .shares = shared, .time = time};
    }
}

static void consider_direct(const gr_matmul *self, uint32_t parts, choice *best) {
    /* Estimates of less than a step along k are too low by this factor in some cases. */
    const double SHORT = 1.25, LONG = 1.05;
    const bool is_short = self->k * gr_dtypes[self->dtype].item_bytes < GR_MATMUL_DIRECT_BYTES;
    const gr_matmul_direct_choice direct = gr_matmul_choose_direct(self, parts);
    const double time = (is_short ? SHORT : LONG) * direct.time;
    if (time < best->time)
        *best = (choice){.kernel = DIRECT, .shares = direct.shares, .direct = direct, .time = time};
}

static choice choose(const gr_matmul *self, uint32_t parts) {
    choice best = {.kernel = RUNG, .time = gr_matmul_rung_time(self, parts)};
    if (!is_tf32(self))
        consider_small(self, parts, &best);
    if (gr_matmul_direct_supports(self))
        consider_direct(self, parts, &best);
    if (gr_matmul_has_fragments(self)) {
        const double time = gr_matmul_fragments_time(self);
        if (time < best.time)
            best = (choice){.kernel = FRAGMENTS, .time = time};
    }
    return best;
}

/* Returns the estimated microseconds of float32 by m10. The estimate of a tile leaves out that blocks which
   take all parts of many products take longer (H200: 32 products of 512 x 1024 x 196, 8 parts, 250 us instead
   of 214 us), and that a long undivided k takes less time (171 us instead of 187 us). */
static double time_of_float32(const gr_matmul *self) {
    static const double UNDIVIDED = 0.92, UNDIVIDED_US = 2,
                        ROUND_US = 0.2e-3; /* per element of C, part and SM */
    const gr_matmul_tiling tiling = gr_matmul_choose_tiling(self, NULL);
    if (self->has_one_part)
        return UNDIVIDED_US + UNDIVIDED * tiling.us;
    const double elements = (double)gr_matmul_output_count(self) / gr_reference_device.multiprocessors;
    return tiling.us +
           (gr_matmul_stack_count(self->stack) > 1 ? ROUND_US * elements * (tiling.rounds - 1) : 0);
}

double gr_matmul_estimate_time(const gr_matmul *self) {
    enum { SHORT_K = 64 };
    if (self->k == 0 || self->n <= FEW_COLUMNS)
        return 0;
    if (self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_IEEE)
        return self->k > SHORT_K ? time_of_float32(self) : 0;
    const bool is_estimated =
        (is_half(self) && !gr_matmul_is_shortest(self)) || (is_tf32(self) && !gr_matmul_prefers_ieee(self));
    return is_estimated ? choose(self, gr_matmul_k_parts(self)).time : 0;
}

bool gr_matmul_try_small(const gr_matmul *self, gr_matmul_job job) {
    if (self->variant != NULL || self->k == 0 || job.info->caps.capability < GR_HOPPER ||
        !(self->dtype == GR_DTYPE_f64 || is_tf32(self) || (is_half(self) && self->k > SHORTEST_K)))
        return false;
    const uint32_t parts = gr_matmul_k_parts(self);
    const choice best = choose(self, parts);
    switch (best.kernel) {
    case SMALL:
        gr_matmul_small(self, parts, best.shares, job);
        break;
    case DIRECT:
        gr_matmul_direct(self, &best.direct, parts, job);
        break;
    case FRAGMENTS:
        gr_matmul_short(self, GR_MATMUL_SHORT_FRAGMENTS, job);
        break;
    default:
        break;
    }
    return best.kernel != RUNG;
}

void gr_matmul_small(const gr_matmul *self, uint32_t parts, bool shares, gr_matmul_job job) {
    enum { COLUMNS = 64, DOUBLE_COLUMNS = 32 };
    const uint32_t columns = self->dtype == GR_DTYPE_f64 ? DOUBLE_COLUMNS : COLUMNS;
    gr_step *step =
        gr_matmul_append_parts(self, &job, GR_MATMUL_SMALL_ROWS, columns, GR_MATMUL_THREADS, parts, shares);
    step->kernel.owner = "matmul";
    GR_KERNEL_NAME(step->kernel.file, "matmul_small");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_small_", gr_dtypes[self->dtype].name);
}
