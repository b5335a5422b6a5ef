#include "reduce/general/plan.h"

#include <string.h>

#include "reduce/general/axis.h"

/* Dimensions of one kind while they are merged, the fastest first. */
typedef struct dims_list {
    size_t count;
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    int64_t second[GR_MAX_NDIM];
} dims_list;

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
        for (; at > 0 && gr_magnitude(layout->stride[moved]) < gr_magnitude(layout->stride[order[at - 1]]);
             --at)
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

static bool plan_last(gr_general_plan *plan, uint64_t parts) {
    gr_general_launch *last = &plan->launches[plan->count++];
    plan->states_bytes = (size_t)(parts * plan->results) * GR_STATE_BYTES;
    last->params.results = plan->results;
    last->params.count = parts;
    last->params.divisor = plan->reduced_count;
    return gr_last_plan(last);
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
    const int64_t item = (int64_t)layout->item_bytes;
    const bool contiguous =
        plan->results == 1 && along.count <= 1 && (!layout->has_second || layout->pair) &&
        (along.count == 0 || (along.stride[0] == item && (!layout->pair || along.second[0] == item)));
    plan->single_pass = layout->single_pass && contiguous;
    if (plan->single_pass)
        return GR_OK;
    gr_general_launch *first = &plan->launches[plan->count++];
    gr_general_params *p = &first->params;
    p->results = plan->results;
    p->count = p->divisor = plan->reduced_count;
    store(&keep, &p->keep);
    store(&along, &p->along);

    bool fits = gr_axis_plan(layout, limits, first);
    if (fits && p->parts > 1)
        fits = plan_last(plan, p->parts);
    return fits ? GR_OK : gr_fail(error, GR_ERR_VALUE, "a: too many results for one grid");
}

gr_step *gr_general_append(const gr_general_plan *plan, size_t pass, const gr_general_ends *ends,
                           gr_general_params *params, size_t bytes, gr_program *program) {
    const gr_general_launch *planned = &plan->launches[pass];
    const bool first = pass == 0, last = pass + 1 == plan->count;
    *params = planned->params;
    params->flags |= (first && ends->has_where ? GR_HAS_WHERE : 0u) | (last ? GR_FINAL : 0u);
    if (last && ends->initial != NULL) {
        params->flags |= GR_HAS_INITIAL;
        memcpy(params->initial, ends->initial, ends->result_bytes);
    }
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = planned->grid_x;
    step->grid[1] = planned->grid_y;
    step->block[0] = GR_GENERAL_THREADS;
    gr_program_place(program, offsetof(gr_general_params, in), first ? ends->in : ends->states);
    gr_program_place(program, offsetof(gr_general_params, out), last ? ends->out : ends->states);
    if (first && ends->has_second)
        gr_program_place(program, offsetof(gr_general_params, second), ends->second);
    return step;
}
