/* Chooses the kernel of a convolution: the one with the smallest estimated time (cost_model.c), if the caller
   names none. With `batch_invariant` it first chooses the order in which the products of a result are added
   up. That order follows from everything but the number of images, so that these kernels return the same bits
   of an image in any batch; then it chooses the fastest kernel of the order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conv/internal.h"

/* A kernel family that auto may choose, the order of its sums, and an estimate of its time: of measured
   microseconds, multiplied where an estimate is too coarse to compare. */
typedef struct candidate {
    const gr_conv_variant *variant; /* NULL: no rung */
    gr_conv_append *append;         /* of a kernel that is no rung; NULL: a rung */
    gr_conv_order order;
    uint32_t parts;
    double time;
} candidate;

enum { MAX_CANDIDATES = 32 };

typedef struct candidates {
    candidate all[MAX_CANDIDATES];
    size_t count;
    size_t best; /* index of the fastest; of equal ones the last */
} candidates;

static bool is_equal(gr_conv_order a, gr_conv_order b) {
    return a.kind == b.kind && a.number == b.number;
}

static void add(candidates *to, candidate given) {
    if (to->count == MAX_CANDIDATES)
        return;
    to->all[to->count] = given;
    if (given.time <= to->all[to->best].time)
        to->best = to->count;
    ++to->count;
}

/* Returns whether taps of an axis read zeros outside the image. */
static bool has_padding(const gr_conv_axis *axis) {
    return axis->padding > 0 ||
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation >= axis->size;
}

/* Returns whether c0 multiplies in the order of k. It skips the zeros of the padding, whose products with an
   infinity are NaN. */
static bool is_naive_in_order_of_k(const gr_conv *self) {
    return self->dtype != GR_DTYPE_f64 && !has_padding(&self->height) && !has_padding(&self->width) &&
           (self->layout == GR_CONV_NHWC || gr_conv_taps(self) == 1 || self->channels == 1);
}

/* Returns the order of a rung; c8 and c9: with `parts` parts of k; c1: with one part, or those of a product.
 */
static gr_conv_order order_of(const gr_conv *self, const gr_conv_variant *variant, uint32_t parts,
                              const gr_device_info *info) {
    const gr_conv_order fma = {GR_CONV_ORDER_FMA, 0}, k_steps = {GR_CONV_ORDER_K_STEPS, 0},
                        own = {GR_CONV_ORDER_RUNG, (uint32_t)(variant - gr_conv_variants)};
    switch (variant->algorithm) {
    case GR_CONV_NAIVE:
        return is_naive_in_order_of_k(self) ? fma : own;
    case GR_CONV_IMPLICIT_GEMM:
    case GR_CONV_IMPLICIT_GEMM_ASYNC:
        return fma;
    case GR_CONV_IM2COL: {
        const gr_matmul_order order = gr_conv_im2col_order(self, parts == 1, info);
        return order == GR_MATMUL_ORDER_FMA ? fma : order == GR_MATMUL_ORDER_K_STEPS ? k_steps : own;
    }
    case GR_CONV_IMPLICIT_GEMM_TMA:
        return parts == 1 && gr_conv_implicit_gemm_tma_is_in_order_of_k(self)
                   ? k_steps
                   : (gr_conv_order){GR_CONV_ORDER_TMA, parts};
    default:
        return own;
    }
}

/* What kernels are listed for: a convolution and a device; `of`: kernels of this order alone, NULL: all. */
typedef struct listing {
    const gr_conv *self;
    const gr_device_info *info;
    const gr_conv_order *of;
} listing;

static bool is_listed(const listing *by, gr_conv_order order) {
    return by->of == NULL || is_equal(*by->of, order);
}

/* Adds a rung with a number of parts of k. Returns false if there are fewer chunks of channels. */
static bool add_parts(candidates *to, const listing *by, const gr_conv_variant *variant, uint32_t parts,
                      double factor) {
    const gr_conv_order order = by->self->batch_invariant ? order_of(by->self, variant, parts, by->info)
                                                          : (gr_conv_order){GR_CONV_ORDER_ANY, 0};
    if (!is_listed(by, order))
        return true;
    const double time = gr_conv_estimate_time(by->self, variant, parts);
    if (time == HUGE_VAL && parts > 1)
        return false;
    add(to, (candidate){variant, NULL, order, parts, time * factor});
    return true;
}

/* Adds a rung: c8 and c9 with each number of parts of k, c1 with one part and with those of a product. Times
   are multiplied. */
static void add_rung(candidates *to, const listing *by, const gr_conv_variant *variant, double factor) {
    uint32_t first = 1, last = 1;
    if (variant->algorithm == GR_CONV_IMPLICIT_GEMM_TMA && by->self->batch_invariant)
        last = GR_CONV_MAX_PARTS;
    else if (variant->algorithm == GR_CONV_IMPLICIT_GEMM_TMA)
        first = last = 0;
    else if (variant->algorithm == GR_CONV_IM2COL)
        first = is_equal(order_of(by->self, variant, 0, by->info), order_of(by->self, variant, 1, by->info));
    for (uint32_t parts = first; parts <= last; parts = parts == 0 ? 1 : 2 * parts)
        if (!add_parts(to, by, variant, parts, factor))
            break;
}

/* Adds the rungs of two precisions. */
static void add_rungs(candidates *to, const listing *by, gr_precision one, gr_precision other,
                      double factor) {
    for (size_t i = 0; i < gr_conv_ladder.count; ++i) {
        const gr_conv_variant *variant = &gr_conv_variants[i];
        if ((variant->precision == one || variant->precision == other) &&
            gr_conv_is_candidate(by->self, variant, by->info))
            add_rung(to, by, variant, factor);
    }
}

static bool is_on_tensor_cores(const gr_conv_variant *variant) {
    return variant->algorithm == GR_CONV_TENSOR_CORES || variant->algorithm == GR_CONV_SMALL_C ||
           variant->algorithm == GR_CONV_IMPLICIT_GEMM_TMA;
}

/* Adds the kernels of few results. Their times are multiplied. */
static void add_small(candidates *to, const listing *by, double factor) {
    static const gr_conv_order any = {GR_CONV_ORDER_ANY, 0},
                               orders[] = {{GR_CONV_ORDER_FMA, 0}, {GR_CONV_ORDER_SHARED, 0}};
    if (!gr_conv_small_supports(by->self))
        return;
    for (size_t i = 0; by->self->batch_invariant && i < sizeof orders / sizeof orders[0]; ++i)
        if (is_listed(by, orders[i]))
            add(to, (candidate){NULL, gr_conv_small, orders[i], 0,
                                gr_conv_estimate_small_time(by->self, orders[i]) * factor});
    if (by->self->batch_invariant || !gr_conv_small_is_measured(by->self))
        return;
    const double time = gr_conv_estimate_small_time(by->self, any) * factor;
    if (time < to->all[to->best].time)
        add(to, (candidate){NULL, gr_conv_small, any, 0, time});
}

/* Adds the kernel of few filters. */
static void add_few(candidates *to, const listing *by) {
    const bool invariant = by->self->batch_invariant;
    const gr_conv_order order = {invariant ? GR_CONV_ORDER_FEW : GR_CONV_ORDER_ANY, 0};
    const double time = gr_conv_estimate_few_time(by->self);
    if (time < HUGE_VAL && is_listed(by, order) && (invariant || time < to->all[to->best].time))
        add(to, (candidate){NULL, gr_conv_few, order, 0, time});
}

/* Lists the kernels: of the precision; for TF32 also those of IEEE float32, which it takes if they are
   clearly faster; and those of few results and of few filters. */
static candidates list(const listing *by) {
    /* microseconds, between which estimates are too coarse; ratios of times */
    static const double SHORT_US = 10, LONG_US = 20, FASTER_BY = 0.85, TENSOR_CORES_FASTER_BY = 0.7;
    const gr_precision precision = by->self->precision;
    candidates found = {.count = 0};
    add_rungs(&found, by, precision, GR_PRECISION_ANY, 1);
    const double time = found.count == 0 ? HUGE_VAL : found.all[found.best].time * FASTER_BY;
    if (precision == GR_PRECISION_TF32 && (time > LONG_US || time < SHORT_US))
        add_rungs(&found, by, GR_PRECISION_IEEE, GR_PRECISION_IEEE, 1 / FASTER_BY);
    double factor = 1;
    if (found.count > 0) {
        const gr_conv_variant *best = found.all[found.best].variant;
        factor = is_on_tensor_cores(best) ? 1 / TENSOR_CORES_FASTER_BY
                 : precision == GR_PRECISION_TF32 && best->precision == GR_PRECISION_IEEE ? 1 / FASTER_BY
                                                                                          : 1;
    }
    if (found.count > 0 || by->of != NULL) {
        add_small(&found, by, factor);
        add_few(&found, by);
    }
    return found;
}

/* An order, and what it costs: the weighted sum over some numbers of images of its time as a share of the
   shortest, both with FLOOR_US. */
typedef struct cost {
    gr_conv_order order;
    double shares;
    int batches;
} cost;

/* Adds a share of an order, with one number of images. */
static void add_share(cost *costs, size_t *count, const candidate *of, double share) {
    size_t i = 0;
    while (i < *count && !is_equal(costs[i].order, of->order))
        ++i;
    if (i == *count)
        costs[(*count)++] = (cost){.order = of->order};
    costs[i].shares += share;
    ++costs[i].batches;
}

/* Returns whether no other candidate of the order takes less time, and none behind this one as long. */
static bool is_best_of_order(const candidates *of, const candidate *one) {
    for (const candidate *other = of->all; other < of->all + of->count; ++other)
        if (is_equal(other->order, one->order) &&
            (other->time < one->time || (other > one && other->time == one->time)))
            return false;
    return true;
}

/* Returns a convolution that differs in the number of images. The distance between images and the alignment
   of arrays are those of dense arrays. */
static gr_conv with_batch(const gr_conv *self, uint64_t batch) {
    gr_conv it = *self;
    const int64_t extents[] = {it.x.strides.row * (int64_t)it.height.size,
                               it.x.strides.column * (int64_t)it.width.size,
                               it.x.strides.channel * (int64_t)(it.groups * it.channels)};
    it.batch = batch;
    it.x.strides.outer = 0;
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i)
        if (llabs(extents[i]) > llabs(it.x.strides.outer))
            it.x.strides.outer = extents[i];
    it.x.aligned = it.w.aligned = it.out_aligned = true;
    return it;
}

/* Returns whether k is divided though this does not pay even for one image. */
static bool is_needlessly_divided(const gr_conv *self, gr_conv_order order) {
    if (order.kind != GR_CONV_ORDER_TMA || order.number == 1)
        return false;
    const gr_conv one = with_batch(self, 1);
    return gr_conv_implicit_gemm_tma_parts(&one) == 1;
}

/* Returns the order whose kernels take the smallest weighted mean of shares of time over these numbers of
   images. Many images, whose calls are longer, have a larger weight. FLOOR_US is added to each time: a call
   that takes some microseconds takes little more of a program if it takes twice as long (H200: 55 images of 8
   x 82 x 14, 16 filters of 3 x 3, 7.7 us instead of 19 us in float16, as an estimate of 9 us for 1 image
   instead of 3 us counts less). */
static gr_conv_order choose_order(const gr_conv *self, const gr_device_info *info) {
    enum { BATCHES = 4 };
    static const uint64_t batches[BATCHES] = {1, 2, 8, 32};
    static const double weights[BATCHES] = {1, 1, 2, 2}, FLOOR_US = 4;
    cost costs[BATCHES * MAX_CANDIDATES], *best = NULL;
    size_t count = 0;
    for (int i = 0; i < BATCHES; ++i) {
        const gr_conv it = with_batch(self, batches[i]);
        const candidates found = list(&(listing){&it, info, NULL});
        for (size_t k = 0; k < found.count; ++k)
            if (is_best_of_order(&found, &found.all[k]))
                add_share(costs, &count, &found.all[k],
                          weights[i] * (found.all[k].time + FLOOR_US) /
                              (found.all[found.best].time + FLOOR_US));
    }
    for (size_t i = 0; i < count; ++i)
        if (costs[i].batches == BATCHES && !is_needlessly_divided(self, costs[i].order) &&
            (best == NULL || costs[i].shares < best->shares))
            best = &costs[i];
    return best == NULL ? (gr_conv_order){GR_CONV_ORDER_ANY, 0} : best->order;
}

/* Orders of recent convolutions, as choosing one takes ten times as long as choosing a kernel. */
enum { KEY_WORDS = 32, REMEMBERED = 64 };

typedef struct remembered {
    uint64_t key[KEY_WORDS];
    gr_conv_order order; /* GR_CONV_ORDER_ANY: the entry is empty */
} remembered;

/* Writes what the order follows from, and returns its hash. */
static uint64_t make_key(const gr_conv *self, const gr_device_info *info, uint64_t key[KEY_WORDS]) {
    const gr_conv_axis *axes[] = {&self->height, &self->width};
    const gr_conv_strides *x = &self->x.strides, *w = &self->w.strides;
    const uint64_t others[] = {(uint64_t)info->kind,  info->caps.capability,  (uint64_t)self->precision,
                               (uint64_t)self->dtype, (uint64_t)self->layout, self->groups,
                               self->channels,        self->filters,          (uint64_t)x->row,
                               (uint64_t)x->column,   (uint64_t)x->channel,   (uint64_t)w->outer,
                               (uint64_t)w->row,      (uint64_t)w->column,    (uint64_t)w->channel};
    size_t count = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i)
        key[count++] = others[i];
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; ++i) {
        const gr_conv_axis *axis = axes[i];
        const uint64_t of_axis[] = {axis->size,   axis->kernel,   axis->out,
                                    axis->stride, axis->dilation, (uint64_t)axis->padding};
        for (size_t k = 0; k < sizeof of_axis / sizeof of_axis[0]; ++k)
            key[count++] = of_axis[k];
    }
    while (count < KEY_WORDS)
        key[count++] = 0;
    uint64_t hash = 0;
    for (size_t i = 0; i < KEY_WORDS; ++i)
        hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15;
    return hash;
}

static gr_conv_order find_order(const gr_conv *self, const gr_device_info *info) {
    static _Thread_local remembered all[REMEMBERED];
    enum { HASH_BITS = 64, SLOT_BITS = 6 };
    uint64_t key[KEY_WORDS];
    remembered *entry = &all[make_key(self, info, key) >> (HASH_BITS - SLOT_BITS)];
    if (entry->order.kind == GR_CONV_ORDER_ANY || memcmp(entry->key, key, sizeof key) != 0) {
        memcpy(entry->key, key, sizeof key);
        entry->order = choose_order(self, info);
    }
    return entry->order;
}

gr_conv_append *gr_conv_choose(const gr_conv *self, gr_conv_job *job) {
    candidates found = {.count = 0};
    if (self->batch_invariant) {
        const gr_conv_order order = find_order(self, job->info);
        found = list(&(listing){self, job->info, &order});
    }
    if (found.count == 0)
        found = list(&(listing){self, job->info, NULL});
    if (found.count == 0) {
        gr_program_fail(job->program, GR_ERR_VALUE, "precision: %s of %s is not for %s",
                        gr_precisions[self->precision], gr_dtypes[self->dtype].numpy_name, job->info->name);
        return NULL;
    }
    const candidate *best = &found.all[found.best];
    job->variant = best->variant;
    job->order = best->order;
    job->parts = best->parts;
    return best->append;
}
