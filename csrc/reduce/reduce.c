/* Plans and runs a reduction of `variant="auto"`: fills the parameters of the flat or the general plan from
   the operator table, names the kernels, and passes the program to the executor. */
#include "reduce/reduce.h"

#include <string.h>

#include "executor/executor.h"
#include "reduce/convert/convert.h"
#include "reduce/masked/params.h"
#include "reduce/params.h"

/* Bytes per result. */
static size_t result_bytes_of(const gr_reduction *reduction) {
    return gr_dtypes[gr_op_result(reduction->op, reduction->dtype)].item_bytes * gr_op_numbers(reduction->op);
}

/* Whether the operator's flat kernels run on the device. */
static bool has_flat(gr_op op, const gr_device *device) {
    return !gr_op_has(op, GR_SHARES_FILE) || device == NULL ||
           device->backend->info.caps.capability >= GR_HOPPER;
}

/* Whether the result has an axis, if only of length 1. */
static bool keeps_an_axis(const gr_layout *layout) {
    for (size_t d = 0; d < layout->ndim; ++d)
        if (!layout->reduced[d])
            return true;
    return false;
}

void gr_reduction_fill_layout(gr_reduction *self, const gr_device *device, bool exact) {
    gr_layout *layout = &self->layout;
    const gr_op op = self->op;
    const bool packed = !exact && gr_op_packed(op, self->dtype);
    layout->item_bytes = gr_dtypes[self->dtype].item_bytes;
    layout->result_bytes = result_bytes_of(self);
    layout->in_c_order = gr_op_is_positional(op);
    const bool has_pieces = gr_op_has_pieces(op, self->dtype);
    layout->pair = gr_op_is_pair(op);
    layout->has_pieces = has_pieces && !layout->pair;
    layout->pair_elements =
        has_pieces && layout->pair && !exact ? GR_PAIR_ELEMENTS(layout->item_bytes, op == GR_OP_average) : 0;
    layout->masked_elements =
        has_pieces && !layout->pair && !exact ? GR_MASKED_ELEMENTS(layout->item_bytes) : 0;
    layout->compute_bound = gr_op_has(op, GR_COMPUTE_BOUND);
    layout->short_tiles = self->dtype == GR_DTYPE_f64 && op == GR_OP_rootnorm;
    layout->fixed_order = gr_op_fixes_order(op, self->dtype);
    layout->batches =
        op == GR_OP_nanmean || layout->short_tiles || (gr_op_is_variance(op) && layout->has_pieces);
    layout->fixed_axis = gr_op_fixes_axis(op);
    layout->keeps_elements = gr_op_is_mean(op) && self->dtype == GR_DTYPE_f32;
    layout->state_bytes = gr_ops[op].state_bytes;
    layout->packed = packed && !layout->pair;
    layout->only_rows = gr_op_numbers(op) > 1;
    layout->only_axis = layout->only_rows || gr_op_has(op, GR_SHARES_FILE);
    /* A batch of one row has the bits that the row has among others: not those of the flat kernels. */
    const bool of_batch = has_pieces && keeps_an_axis(layout);
    const bool flat = has_flat(op, device) && !layout->only_rows && !gr_op_is_denominator(op);
    layout->single_pass = packed && flat && !of_batch;
    layout->rearranged = !exact && !layout->only_rows;
    layout->exact_mean = gr_op_is_mean(op) && gr_dtypes[self->dtype].kind == GR_KIND_BITS;
    layout->idempotent = gr_op_has(op, GR_IDEMPOTENT);
    layout->can_place = !exact && !layout->only_rows;
}

static gr_finish finish_of(const gr_reduction *self) {
    static const gr_scalar zero = {.bytes = {0}};
    const gr_op op = self->op;
    /* As in NumPy, a sum starts from 0, which turns -0 into 0, unless the caller passes an initial value. */
    const bool from_zero = gr_op_has(op, GR_FROM_ZERO) && self->initial == NULL;
    const bool skips_nan = gr_op_has(op, GR_SKIPS_NAN) && gr_dtypes[self->dtype].kind != GR_KIND_BITS;
    return (gr_finish){
        .initial = from_zero ? &zero : self->initial,
        .parameter = gr_op_has_parameter(op) ? &self->parameter : NULL,
        .flags = (gr_op_has(op, GR_ROOT) ? GR_FINISH_ROOT : 0u) | (skips_nan ? GR_FINISH_SKIP_NAN : 0u) |
                 (gr_op_is_denominator(op) ? GR_FINISH_DENOMINATOR : 0u),
        .result_bytes = result_bytes_of(self),
    };
}

/* Whether compute capability 9.0 has instructions of its own for the operator or the dtype, so that `flat` is
   compiled for it: as GR_FLAT_DIFFERS of cuda_kernels/include/reduce/flat/instantiate.cuh. */
static bool flat_differs(gr_op op, gr_dtype dtype) {
    return gr_op_has(op, GR_SELECTS) || gr_op_is_positional(op) || gr_op_has(op, GR_SHARES_FILE) ||
           dtype == GR_DTYPE_bf16;
}

static void plan_part(const void *request, const gr_device_caps *caps, const gr_chunk_range *part,
                      gr_program *program) {
    const gr_reduction *self = request;
    const gr_flat_work work = {
        .item_bytes = self->layout.item_bytes,
        .pair = self->layout.pair,
        .large_states = self->layout.state_bytes > GR_STATE_BYTES,
        .part = *part,
        .finish = finish_of(self),
    };
    const bool whole = part->count == part->total, hopper = caps->capability >= GR_HOPPER;
    const bool without_ring = work.pair || gr_op_has(self->op, GR_COMPUTE_BOUND);
    const gr_flat_shape *shape =
        self->shape != NULL ? self->shape : gr_flat_best(part->count * work.item_bytes, without_ring, caps);
    program->result_bytes = work.finish.result_bytes;
    program->input_bytes = (size_t)part->count * work.item_bytes;
    gr_step *step = gr_flat_append(&work, shape, program);
    step->pdl = hopper && whole; /* a chunk follows a copy, not a kernel */
    step->kernel.owner = gr_ops[self->op].name;
    const bool later = hopper && (shape->is_ring || flat_differs(self->op, self->dtype));
    GR_KERNEL_NAME(step->kernel.file, "flat_", gr_ops[self->op].file, later ? "_90" : "");
    GR_KERNEL_NAME(step->kernel.entry, shape->kernel, "_", gr_op_kernels(self->op), "_",
                   gr_dtypes[gr_op_kernel_dtype(self->op, self->dtype)].name);
}

/* Whether the plan is that of rows under a mask. */
static bool is_of_masked_rows(const gr_reduction *self) {
    return self->layout.has_second && !self->layout.pair &&
           strcmp(self->plan.launches[0].kernel, "pieces") == 0;
}

static gr_op kernels_of(const gr_reduction *self) {
    return is_of_masked_rows(self) ? gr_op_of_masked_rows(self->op) : self->op;
}

static uint32_t flags_of_masked_rows(gr_op op) {
    const bool is_nan_form = op == GR_OP_nansum || op == GR_OP_nanmean || op == GR_OP_nanprod;
    return (op == GR_OP_sum || op == GR_OP_nansum ? GR_MASKED_SUM : 0u) |
           (is_nan_form ? GR_MASKED_SKIP_NAN : 0u);
}

void gr_reduction_general_entry(const gr_reduction *self, size_t pass, char entry[GR_KERNEL_NAME_BYTES]) {
    const bool has_where = self->layout.has_second && !self->layout.pair;
    const gr_op op = kernels_of(self);
    /* Masked means have their own State, which includes a count. */
    const bool own = gr_op_is_mean(op) || (pass == 0 && is_of_masked_rows(self));
    const char *states_of = own && has_where ? "masked_" : "";
    const gr_dtype dtype = pass > 0 ? gr_op_last_dtype(op, self->dtype) : gr_op_kernel_dtype(op, self->dtype);
    const char *const parts[] = {"general_",
                                 states_of,
                                 self->plan.launches[pass].kernel,
                                 "_",
                                 gr_op_kernels(op),
                                 "_",
                                 gr_dtypes[dtype].name,
                                 NULL};
    gr_kernel_name(entry, parts);
}

bool gr_reduction_is_only_position(const gr_reduction *self) {
    return (self->op == GR_OP_argmin || self->op == GR_OP_argmax) && self->plan.reduced_count == 1 &&
           !self->layout.has_second;
}

/* Returns the bytes from the first element to the last one if there are no gaps between the elements, in any
   order of the dimensions; else SIZE_MAX. */
static size_t packed_bytes(const gr_layout *layout) {
    const uint64_t item = layout->item_bytes;
    uint64_t count = 1, end = item;
    for (size_t d = 0; d < layout->ndim; ++d) {
        if (layout->extent[d] > 1 && layout->stride[d] < (int64_t)item)
            return SIZE_MAX;
        count *= layout->extent[d];
        end += layout->extent[d] > 1 ? (uint64_t)layout->stride[d] * (layout->extent[d] - 1) : 0;
    }
    return end == count * item ? (size_t)end : SIZE_MAX;
}

/* Copies results in the order of the elements to the output, whose last axis is the fastest. */
static void append_placement(const gr_reduction *self, uint32_t results, uint32_t out, gr_program *program) {
    const gr_output_layout *order = &self->plan.launches[0].params.output_layout;
    const gr_dtype dtype = gr_op_result(self->op, self->dtype);
    gr_conversion copy = {.from = dtype, .to = dtype, .ndim = GR_MAX_DIMS};
    int64_t slower[GR_MAX_DIMS] = {0}, next = (int64_t)gr_dtypes[dtype].item_bytes;
    for (size_t d = 0; d < GR_MAX_DIMS; ++d) {
        size_t at = d;
        for (; at > 0 && slower[at - 1] < order->stride[d]; --at) {
            slower[at] = slower[at - 1];
            copy.extent[at] = copy.extent[at - 1];
            copy.stride[at] = copy.stride[at - 1];
        }
        slower[at] = order->stride[d];
        copy.extent[at] = order->extent[d];
        copy.stride[at] = next;
        next *= (int64_t)order->extent[d];
    }
    gr_copy_append(&copy, results, out, self->out_aligned ? 16 : 1, program);
}

static void plan_general(const gr_reduction *self, const gr_device_caps *caps, gr_program *program) {
    const size_t result_bytes = result_bytes_of(self);
    if (gr_reduction_is_only_position(self)) {
        gr_program_clear(
            program, gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)self->plan.results * result_bytes));
        return;
    }
    program->result_bytes = gr_dtypes[gr_op_result(self->op, self->dtype)].item_bytes;
    gr_general_operands operands = {
        .in = gr_program_input(program, 0),
        .out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)self->plan.results * result_bytes),
        .has_second = self->layout.has_second,
        .has_where = self->layout.has_second && !self->layout.pair,
        .flags = is_of_masked_rows(self) ? flags_of_masked_rows(self->op) : 0,
        .finish = finish_of(self),
    };
    if (operands.has_second)
        operands.second = gr_program_input(program, 1);
    else
        program->input_bytes = packed_bytes(&self->layout);
    if (self->plan.count > 1)
        operands.states = gr_program_buffer(program, GR_BUFFER_TEMPORARY, self->plan.states_bytes);
    const uint32_t out = operands.out;
    if (self->plan.placed) {
        const size_t bytes = (size_t)self->plan.results * result_bytes;
        operands.out = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    }
    for (size_t pass = 0; pass < self->plan.count; ++pass) {
        gr_general_params params;
        gr_step *step = gr_general_append(&self->plan, pass, &operands, &params, sizeof params, program);
        step->pdl = caps->capability >= GR_HOPPER;
        step->kernel.owner = gr_ops[self->op].name;
        GR_KERNEL_NAME(step->kernel.file, "general_", gr_ops[kernels_of(self)].file);
        gr_reduction_general_entry(self, pass, step->kernel.entry);
    }
    if (self->plan.placed)
        append_placement(self, operands.out, out, program);
}

void gr_reduction_plan(const void *request, gr_device *device, gr_program *program) {
    const gr_reduction *reduction = request;
    const gr_device_caps *caps = &device->backend->info.caps;
    const uint64_t count = reduction->plan.reduced_count;
    if (reduction->plan.single_pass)
        plan_part(reduction, caps, &(gr_chunk_range){.count = count, .total = count}, program);
    else
        plan_general(reduction, caps, program);
}

gr_status gr_reduction_run(gr_device *device, const gr_reduction *reduction, const gr_binding *binding,
                           const gr_progress *progress, const gr_interrupt *interrupt, gr_error *error) {
    if (reduction->plan.results == 0)
        return GR_OK;
    const gr_chunked_reduction chunked = {.inputs = reduction->layout.pair ? 2 : 1,
                                          .item_bytes = reduction->layout.item_bytes,
                                          .count = reduction->plan.reduced_count,
                                          .plan = plan_part,
                                          .request = reduction};
    return reduction->plan.single_pass && gr_staging_ring_can_reduce(device, &chunked, binding)
               ? gr_staging_ring_reduce(device, &chunked, binding, progress, interrupt, error)
               : gr_execute_request(device, gr_reduction_plan, reduction, binding, interrupt, error);
}
