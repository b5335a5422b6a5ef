#include "general_plan.h"

#include <string.h>

/* Dimensions of one kind while they are merged, the fastest first. */
typedef struct dims_list {
    size_t count;
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    int64_t second[GR_MAX_NDIM];
} dims_list;

static uint64_t magnitude(int64_t stride) {
    return stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
}

static void append(dims_list *list, uint64_t extent, int64_t stride, int64_t second) {
    if (extent == 1)
        return;
    if (list->count > 0) {
        const size_t last = list->count - 1;
        const int64_t span = (int64_t)list->extent[last];
        if (stride == list->stride[last] * span && second == list->second[last] * span) {
            list->extent[last] *= extent;
            return;
        }
    }
    list->extent[list->count] = extent;
    list->stride[list->count] = stride;
    list->second[list->count] = second;
    ++list->count;
}

/* Collects the dimensions of one kind, last axis first; `by_stride` takes those that lie closest first. */
static void collect(const gr_layout *layout, bool reduced, bool by_stride, dims_list *list) {
    size_t order[GR_MAX_NDIM], count = 0;
    for (size_t d = layout->ndim; d-- > 0;)
        if (layout->reduced[d] == reduced)
            order[count++] = d;
    for (size_t i = 1; by_stride && i < count; ++i) { /* insertion sort: stable, and the lists are short */
        const size_t moved = order[i];
        size_t at = i;
        for (; at > 0 && magnitude(layout->stride[moved]) < magnitude(layout->stride[order[at - 1]]); --at)
            order[at] = order[at - 1];
        order[at] = moved;
    }
    list->count = 0;
    for (size_t i = 0; i < count; ++i)
        append(list, layout->extent[order[i]], layout->stride[order[i]],
               layout->has_second ? layout->second_stride[order[i]] : 0);
}

static void store(const dims_list *list, gr_dims *dims) {
    for (size_t d = 0; d < GR_MAX_DIMS; ++d) {
        const bool used = d < list->count;
        dims->extent[d] = used ? list->extent[d] : 1;
        dims->stride[d] = used ? list->stride[d] : 0;
        dims->second_stride[d] = used ? list->second[d] : 0;
    }
}

static uint64_t product(const dims_list *list) {
    uint64_t n = 1;
    for (size_t d = 0; d < list->count; ++d)
        n *= list->extent[d];
    return n;
}

static uint32_t power_of_two_from(uint64_t n, uint32_t most) {
    uint32_t power = 1;
    while (power < n && power < most)
        power *= 2;
    return power;
}

/* The most elements of a result that one thread takes alone, when there are results enough. */
enum { MOST_WHOLE = 16 };

/* Shares out the threads of a block between results and elements, and elements between blocks. */
static void share_out(gr_general_launch *launch, const gr_limits *limits) {
    gr_general_params *p = &launch->params;
    const uint64_t resident = (uint64_t)limits->multiprocessors * limits->threads_per_multiprocessor;
    const bool along_first = p->results == 1 || magnitude(p->along.stride[0]) <= magnitude(p->keep.stride[0]);
    uint32_t along;
    if (along_first) {
        /* A warp a row at most as soon as rows alone fill the device, and eight elements a thread or more:
           eight threads side by side read whole 32-byte sectors. Else a block a row. */
        const bool many_rows = p->results * 32 >= resident / 4;
        along = many_rows ? power_of_two_from(gr_ceil_div(p->count, 8), 32)
                          : power_of_two_from(p->count, GR_GENERAL_THREADS);
    } else {
        /* Neighbouring threads take neighbouring results, at least 32 where there are as many in a row. */
        const uint32_t columns = power_of_two_from(p->keep.extent[0], p->results >= resident ? 256 : 32);
        along = GR_GENERAL_THREADS / columns;
    }
    while (along > 1 && along / 2 >= p->count)
        along /= 2;
    const uint64_t blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS / along);
    const uint64_t wanted = resident / GR_GENERAL_THREADS;
    uint64_t parts = blocks < wanted ? wanted / blocks : 1;
    const uint64_t most =
        gr_ceil_div(p->count, (uint64_t)along * 16); /* a smaller part is not worth a launch */
    if (parts > most)
        parts = most > 0 ? most : 1;
    p->threads_along = along;
    p->parts = parts;
    p->flags = along_first ? GR_ALONG_FIRST : 0;
    launch->grid_x = (uint32_t)blocks;
    if (along == 1 && parts == 1 && p->count <= MOST_WHOLE && p->results >= resident) {
        p->flags = GR_WHOLE;
        launch->grid_x = (uint32_t)gr_ceil_div(p->results, GR_GENERAL_THREADS * GR_TOGETHER);
    }
    launch->grid_y = (uint32_t)parts;
}

static void plan_last(gr_general_plan *plan, uint64_t parts, const gr_limits *limits) {
    plan->states_bytes = (size_t)(parts * plan->results) * GR_STATE_BYTES;
    gr_general_launch *last = &plan->launches[plan->count++];
    gr_general_params *p = &last->params;
    last->kernel = "last";
    p->results = plan->results;
    p->count = parts;
    p->divisor = plan->reduced_count;
    for (int d = 0; d < GR_MAX_DIMS; ++d)
        p->keep.extent[d] = p->along.extent[d] = 1;
    /* In States, whose size only the kernel knows; it multiplies. */
    p->keep.extent[0] = plan->results;
    p->keep.stride[0] = 1;
    p->along.extent[0] = parts;
    p->along.stride[0] = (int64_t)plan->results;
    share_out(last, limits);
    last->grid_y = 1;
    p->parts = 1;
}

gr_status gr_general_plan_make(const gr_layout *layout, const gr_limits *limits, gr_general_plan *plan,
                               gr_error *error) {
    dims_list keep, along;
    collect(layout, false, false, &keep);
    collect(layout, true, !layout->in_order, &along);
    if (keep.count > GR_MAX_DIMS || along.count > GR_MAX_DIMS)
        return gr_fail(error, GR_ERR_VALUE,
                       "a: strides of %zu kept and %zu reduced dimensions do not merge into %d", keep.count,
                       along.count, GR_MAX_DIMS);
    memset(plan, 0, sizeof *plan);
    plan->results = product(&keep);
    plan->reduced_count = product(&along);
    if (plan->results == 0)
        return GR_OK;
    gr_general_launch *first = &plan->launches[plan->count++];
    gr_general_params *p = &first->params;
    p->results = plan->results;
    p->count = p->divisor = plan->reduced_count;
    store(&keep, &p->keep);
    store(&along, &p->along);

    const bool contiguous = plan->results == 1 && !layout->has_second && along.count <= 1 &&
                            (along.count == 0 || along.stride[0] == (int64_t)layout->item_bytes);
    if (layout->flat && contiguous) {
        const uint64_t per_block = (uint64_t)GR_GENERAL_THREADS * (16 / layout->item_bytes);
        const uint64_t whole = gr_ceil_div(p->count, per_block);
        const uint64_t most = (uint64_t)limits->multiprocessors *
                              (limits->threads_per_multiprocessor / GR_GENERAL_THREADS) * limits->waves;
        p->parts = whole < 1 ? 1 : whole < most ? whole : most;
        first->kernel = "flat";
        first->grid_x = (uint32_t)p->parts;
        first->grid_y = 1;
    } else {
        first->kernel = "axis";
        share_out(first, limits);
        if (gr_ceil_div(plan->results, GR_GENERAL_THREADS / p->threads_along) > GR_MAX_GRID)
            return gr_fail(error, GR_ERR_VALUE, "a: too many results for one grid");
    }
    if (p->parts > 1)
        plan_last(plan, p->parts, limits);
    return GR_OK;
}
