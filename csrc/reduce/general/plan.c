/* Normalises a layout for the general kernels: sorts dimensions by stride, removes broadcast ones, merges
   contiguous neighbours, and plans pass 2, which combines the States of blocks and writes a scattered
   output. */
#include "reduce/general/plan.h"

#include <string.h>

#include "reduce/general/dims.h"
#include "reduce/general/launch.h"

/* Bytes of elements, counted once per result that reads them, from which it is faster to read broadcast
   elements once and let pass 2 write all results. */
enum { MIN_SHARED_BYTES = 1 << 24 };

enum { MIN_SECOND_EXTENT = 64 };

enum {
    MIN_PLACED = 1 << 16,    /* results from which a copy is faster than `last`, which reads States, */
    MIN_SCATTERED = 1 << 20, /* and than a kernel that writes each result where it belongs, */
    MAX_BETWEEN = 64,        /* unless one block has up to this number of neighbours */
};

_Static_assert(offsetof(gr_general_params, initial) % GR_INITIAL_BYTES == 0, "kernels load it at once");

/* A dimension during planning; `out` is its stride in the output, in elements. */
typedef struct dim {
    uint64_t extent;
    int64_t stride, second, out;
} dim;

/* Kept or reduced dimensions, the fastest first. */
typedef struct dims_list {
    size_t count;
    dim dims[GR_MAX_NDIM];
} dims_list;

static bool is_broadcast(const dim *d) {
    return d->stride == 0 && d->second == 0;
}

/* Collects the kept or the reduced dimensions, last axis first. */
static void collect(const gr_layout *layout, bool reduced, dims_list *list) {
    int64_t out = 1;
    list->count = 0;
    for (size_t d = layout->ndim; d-- > 0;) {
        if (layout->reduced[d] != reduced || layout->extent[d] == 1)
            continue;
        list->dims[list->count++] = (dim){.extent = layout->extent[d],
                                          .stride = layout->stride[d],
                                          .second = layout->has_second ? layout->second_stride[d] : 0,
                                          .out = reduced ? 0 : out};
        out *= (int64_t)layout->extent[d];
    }
}

static bool is_closer(const dim *a, const dim *b) {
    return a->stride != 0 && b->stride != 0 && gr_magnitude(a->stride) < gr_magnitude(b->stride);
}

static bool is_before_in_output(const dim *a, const dim *b) {
    return a->out < b->out;
}

/* Inserts a dimension in front of the last ones that it goes before. */
static void insert(dims_list *list, dim added, bool (*goes_before)(const dim *, const dim *)) {
    size_t at = list->count++;
    for (; at > 0 && goes_before(&added, &list->dims[at - 1]); --at)
        list->dims[at] = list->dims[at - 1];
    list->dims[at] = added;
}

/* Insertion sort: stable, and the lists are short. By stride, no dimension moves past a broadcast one. */
static void sort(dims_list *list, bool (*goes_before)(const dim *, const dim *)) {
    const size_t count = list->count;
    list->count = 0;
    for (size_t i = 0; i < count; ++i)
        insert(list, list->dims[i], goes_before);
}

/* Removes broadcast dimensions (stride 0) from the list; of a positional operator only the last ones, so
   that each element has its first position. Returns the multiplicity of the elements. */
static uint64_t extract_broadcast(dims_list *list, bool in_c_order, dims_list *taken) {
    uint64_t times = 1;
    size_t to = 0, end = 0;
    for (size_t i = 0; in_c_order && i < list->count; ++i)
        end = is_broadcast(&list->dims[i]) ? end : i + 1;
    taken->count = 0;
    for (size_t i = 0; i < list->count; ++i) {
        if (i < end || !is_broadcast(&list->dims[i])) {
            list->dims[to++] = list->dims[i];
        } else {
            taken->dims[taken->count++] = list->dims[i];
            times *= list->dims[i].extent;
        }
    }
    list->count = to;
    return times;
}

/* Merges contiguous neighbours. Returns false if more than GR_MAX_DIMS remain. */
static bool store(const dims_list *list, gr_dims *dims) {
    size_t count = 0;
    for (size_t d = 0; d < GR_MAX_DIMS; ++d) {
        dims->extent[d] = 1;
        dims->stride[d] = dims->second_stride[d] = 0;
    }
    for (size_t i = 0; i < list->count; ++i) {
        const dim *d = &list->dims[i];
        const int64_t span = count > 0 ? (int64_t)dims->extent[count - 1] : 0;
        if (count > 0 && d->stride == dims->stride[count - 1] * span &&
            d->second == dims->second_stride[count - 1] * span) {
            dims->extent[count - 1] *= d->extent;
        } else if (count == GR_MAX_DIMS) {
            return false;
        } else {
            dims->extent[count] = d->extent;
            dims->stride[count] = d->stride;
            dims->second_stride[count++] = d->second;
        }
    }
    return true;
}

/* Stores the dimensions of the output, merged in the same way. Returns false if they are too many. */
static bool store_output(const dims_list *list, gr_output_layout *output) {
    dims_list outs = {.count = list->count};
    gr_dims dims;
    for (size_t i = 0; i < list->count; ++i)
        outs.dims[i] = (dim){.extent = list->dims[i].extent, .stride = list->dims[i].out};
    const bool fits = store(&outs, &dims);
    gr_dims_divide(&dims);
    memcpy(output->extent, dims.extent, sizeof output->extent);
    memcpy(output->stride, dims.stride, sizeof output->stride);
    memcpy(output->by, dims.by, sizeof output->by);
    if (list->count == 0)
        output->stride[0] = 1;
    return fits;
}

/* Moves a long dimension to second place, after the fastest: kernels iterate over these two without a
   division. Prefers the faster one of two long dimensions. */
static void move_long_dim_second(gr_dims *along) {
    size_t best = 1;
    for (size_t d = 2; d < GR_MAX_DIMS && along->extent[best] < MIN_SECOND_EXTENT; ++d)
        best = along->extent[d] > along->extent[best] ? d : best;
    gr_dims_swap(along, 1, best);
}

static uint64_t product(const dims_list *list) {
    uint64_t n = 1;
    for (size_t i = 0; i < list->count; ++i)
        n *= list->dims[i].extent;
    return n;
}

static void set_multiplicity(gr_general_params *p, uint64_t multiplicity) {
    p->multiplicity = multiplicity;
    for (p->multiplicity_bit = 1; multiplicity / 2 >= p->multiplicity_bit;)
        p->multiplicity_bit *= 2;
}

static bool is_contiguous_output(const gr_output_layout *output) {
    return output->extent[1] == 1 && output->stride[0] == 1;
}

static bool store_last(const dims_list *list, gr_general_params *p) {
    const bool fits = store(list, &p->keep) && store_output(list, &p->output_layout);
    gr_dims_divide(&p->keep);
    return fits;
}

/* Plans pass 2, which makes results from the States of the first launch. `own` are the dimensions of
   distinct results, `shared` the broadcast dimensions along which a result is replicated. */
static bool plan_last(const gr_layout *layout, gr_general_plan *plan, const gr_general_params *first,
                      const dims_list *own, const dims_list *shared) {
    gr_general_launch *last = &plan->launches[plan->count++];
    gr_general_params *p = &last->params;
    dims_list all = *own;
    int64_t next = 1;
    for (size_t i = 0; i < all.count; next *= (int64_t)all.dims[i++].extent) {
        all.dims[i].stride = next;
        all.dims[i].second = 0;
    }
    /* Neighbouring threads write neighbouring results. */
    for (size_t i = 0; i < shared->count; ++i)
        insert(&all, shared->dims[i], is_before_in_output);
    plan->states_bytes = (size_t)(first->parts * first->results) *
                         (layout->state_bytes > GR_STATE_BYTES ? GR_LARGE_STATE_BYTES : GR_STATE_BYTES);
    p->results = plan->results;
    p->count = first->parts;
    p->states = first->results;
    p->divisor = first->divisor;
    set_multiplicity(p, first->multiplicity);
    /* Sorting by output pays, as pass 2 writes more results than it reads States. */
    dims_list by_output = all;
    sort(&by_output, is_before_in_output);
    if ((shared->count == 0 || !store_last(&by_output, p)) && !store_last(&all, p))
        return false;
    if (shared->count > 0 || p->multiplicity > 1 || !is_contiguous_output(&p->output_layout))
        p->flags = GR_SCATTERED_OUTPUT;
    /* The tree of pieces leaves a single State as it is: a merge with no elements may move its point. */
    p->flags |= plan->launches[0].of_pieces || first->parts == 1 ? GR_OF_PIECES : 0u;
    p->flags |= plan->launches[0].of_lanes ? GR_OF_PIECES | GR_OF_LANES : 0u;
    return gr_last_plan(last);
}

/* Whether a kernel that writes each result where it belongs is slower than one that reads vectors, with a
   copy behind it. Neighbouring results are in sectors of their own, and the block that fills the other bytes
   of a sector is far away, unless loads of single halves or bytes take longer than the stores. */
static bool scatters(const gr_layout *layout, const gr_output_layout *output) {
    uint64_t between = 1; /* results between two neighbours in the output */
    for (size_t d = 0; d < GR_MAX_DIMS && output->stride[d] != 1; ++d)
        between *= output->extent[d];
    return output->stride[0] * (int64_t)layout->result_bytes >= SECTOR_BYTES &&
           (between > MAX_BETWEEN || layout->item_bytes <= 2);
}

/* Whether a launch loads vectors of whole rows. */
static bool loads_vectors(const gr_general_launch *launch) {
    return strcmp(launch->kernel, "map") == 0 || strcmp(launch->kernel, "tiles") == 0 ||
           (strcmp(launch->kernel, "columns") == 0 && !(launch->params.flags & GR_UNALIGNED_ROWS));
}

/* Plans the first launch. Many results are written in the order of the elements, for a copy into the order of
   the output, if that is faster than to write States for `last`, or than a kernel that writes each result
   where it belongs. */
static bool plan_first(const gr_layout *layout, gr_general_plan *plan) {
    gr_general_launch *first = &plan->launches[0];
    const gr_general_params *p = &first->params;
    if (!layout->can_place || !(p->flags & GR_SCATTERED_OUTPUT) || p->multiplicity > 1 ||
        p->results < MIN_PLACED)
        return gr_axis_plan(layout, first);
    gr_general_launch placed = *first;
    if (!gr_axis_plan(layout, first))
        return false;
    placed.params.flags = 0;
    if (p->parts > 1 || !gr_axis_plan(layout, &placed) || placed.params.parts > 1)
        return true;
    if (first->writes_states || (p->results >= MIN_SCATTERED && scatters(layout, &p->output_layout) &&
                                 loads_vectors(&placed) && strcmp(first->kernel, placed.kernel) != 0)) {
        *first = placed;
        plan->placed = true;
    }
    return true;
}

/* Whether the elements of one result, and of the second vector, are contiguous. A mask is for other kernels.
 */
static bool is_contiguous(const gr_layout *layout, const gr_dims *along) {
    const bool adjacent = along->extent[0] == 1 || has_adjacent_elements(layout, along);
    return along->extent[1] == 1 && adjacent && !is_masked(layout);
}

static gr_status too_many_dims(size_t kept, size_t reduced, gr_error *error) {
    return gr_fail(error, GR_ERR_VALUE,
                   "a: strides of %zu kept and %zu reduced dimensions do not merge into %d", kept, reduced,
                   GR_MAX_DIMS);
}

gr_status gr_general_plan_make(const gr_layout *layout, gr_general_plan *plan, gr_error *error) {
    dims_list keep, along, shared = {.count = 0}, ignored;
    collect(layout, false, &keep);
    collect(layout, true, &along);
    memset(plan, 0, sizeof *plan);
    plan->results = product(&keep);
    plan->reduced_count = product(&along);
    if (plan->results == 0)
        return GR_OK;
    const bool once = layout->rearranged && plan->reduced_count > 0;
    const uint64_t multiplicity = once ? extract_broadcast(&along, layout->in_c_order, &ignored) : 1;
    if (!layout->in_c_order)
        sort(&along, is_closer);
    gr_general_launch *first = &plan->launches[0];
    gr_general_params *p = &first->params;
    const bool merges = store(&along, &p->along);
    if (!layout->in_c_order)
        move_long_dim_second(&p->along);
    p->count = product(&along);
    plan->single_pass = merges && layout->single_pass && plan->results == 1 && multiplicity == 1 &&
                        is_contiguous(layout, &p->along);
    if (plan->single_pass)
        return GR_OK;
    if (once && p->count * plan->results * layout->item_bytes >= MIN_SHARED_BYTES)
        extract_broadcast(&keep, false, &shared);
    if (layout->rearranged)
        sort(&keep, is_closer);
    if (!merges || !store(&keep, &p->keep) || !store_output(&keep, &p->output_layout))
        return too_many_dims(keep.count, along.count, error);
    gr_dims_divide(&p->keep);
    gr_dims_divide(&p->along);
    plan->count = 1;
    p->results = product(&keep);
    const bool once_is_enough = layout->idempotent || layout->exact_mean;
    p->divisor = plan->reduced_count / (layout->exact_mean ? multiplicity : 1);
    set_multiplicity(p, once_is_enough ? 1 : multiplicity);
    if (shared.count == 0 && (p->multiplicity > 1 || !is_contiguous_output(&p->output_layout)))
        p->flags = GR_SCATTERED_OUTPUT;

    bool fits = plan_first(layout, plan);
    if (fits && (p->parts > 1 || first->writes_states || shared.count > 0))
        fits = plan_last(layout, plan, p, &keep, &shared);
    return fits ? GR_OK : gr_fail(error, GR_ERR_VALUE, "a: too many results for one grid");
}

gr_step *gr_general_append(const gr_general_plan *plan, size_t pass, const gr_general_operands *operands,
                           gr_general_params *params, size_t bytes, gr_program *program) {
    const gr_general_launch *planned = &plan->launches[pass];
    const bool first = pass == 0, last = pass + 1 == plan->count;
    *params = planned->params;
    params->flags |= operands->flags | (first && operands->has_where ? GR_HAS_WHERE : 0u) |
                     (last ? GR_FINAL | operands->finish.flags : 0u);
    if (operands->finish.parameter != NULL)
        params->divisor = *operands->finish.parameter;
    if (last && operands->finish.initial != NULL) {
        params->flags |= GR_HAS_INITIAL;
        memcpy(params->initial, operands->finish.initial, operands->finish.result_bytes);
    }
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = planned->grid_x;
    step->grid[1] = planned->grid_y;
    step->block[0] = GR_GENERAL_THREADS;
    gr_program_relocate(program, offsetof(gr_general_params, in), first ? operands->in : operands->states);
    gr_program_relocate(program, offsetof(gr_general_params, out), last ? operands->out : operands->states);
    if (first && operands->has_second)
        gr_program_relocate(program, offsetof(gr_general_params, second), operands->second);
    return step;
}
