/* Checks the layout of device-resident partial results, and plans the kernels that build and merge them. */
#include "states/states.h"

#include <stddef.h>

#include "base/limits.h"
#include "exact/exact.h"

enum { ROWS = 3, MAX_BLOCKS = 1 << 16 };

/* ---- validation ---- */

static bool has(const gr_states *self, uint32_t field) {
    return (self->params.has & field) != 0;
}

/* Whether one value of `each` bytes per result is inside the allocation, at an aligned offset. */
static bool fits(const gr_states *self, uint64_t offset, uint64_t each) {
    uint64_t bytes;
    return offset % 16 == 0 && offset <= self->bytes &&
           !__builtin_mul_overflow(self->params.results, each, &bytes) && bytes <= self->bytes - offset;
}

static bool is_sum(const gr_states *self, uint64_t offset, uint32_t each, uint32_t words) {
    return words >= 4 && words <= GR_STATE_THREADS && each >= words && each <= 2 * words &&
           each % words == 0 && fits(self, offset, (uint64_t)each * 8);
}

/* Whether the dtype and the fields allow the merge operation. */
static bool is_merge_op(const gr_states *self) {
    const uint32_t merge_op = self->params.merge_op;
    const gr_dtype dtype = (gr_dtype)self->params.dtype;
    const bool counted = merge_op <= GR_STATE_COUNTED, bits = merge_op >= GR_STATE_AND;
    const bool place = merge_op == GR_STATE_ARGMIN || merge_op == GR_STATE_ARGMAX;
    return merge_op > GR_STATE_NO_VALUE && merge_op < GR_STATE_MERGE_OPS &&
           counted == has(self, GR_STATE_HAS_COUNT) && place == has(self, GR_STATE_HAS_INDEX) &&
           (!bits || gr_dtypes[dtype].kind == GR_KIND_BITS) &&
           (merge_op != GR_STATE_ADD || dtype == GR_DTYPE_i64);
}

gr_status gr_states_check(gr_states *self, gr_error *error) {
    gr_state_params *p = &self->params;
    p->item_bytes = (uint32_t)gr_dtypes[p->dtype].item_bytes;
    const bool good =
        (!has(self, GR_STATE_HAS_VALUE) || (is_merge_op(self) && fits(self, p->value, p->item_bytes))) &&
        (has(self, GR_STATE_HAS_VALUE) || !has(self, GR_STATE_HAS_INDEX)) &&
        (!has(self, GR_STATE_HAS_COUNT) || fits(self, p->count, 8)) &&
        (!has(self, GR_STATE_HAS_INDEX) || fits(self, p->index, 8)) &&
        (!has(self, GR_STATE_HAS_SUM) || is_sum(self, p->sum, p->sum_result_words, p->sum_words)) &&
        (!has(self, GR_STATE_HAS_SQUARES) ||
         (has(self, GR_STATE_HAS_SUM) && is_sum(self, p->squares, p->square_words, p->square_words)));
    return good ? GR_OK : gr_fail(error, GR_ERR_VALUE, "layout: no states of this memory");
}

/* ---- programs ---- */

static uint32_t blocks_of(const gr_states *self) {
    const gr_state_params *p = &self->params;
    const uint64_t words = has(self, GR_STATE_HAS_SUM) ? p->sum_result_words : 1,
                   square_words = has(self, GR_STATE_HAS_SQUARES) ? p->square_words : 1;
    const uint64_t each = gr_max(words, square_words);
    return (uint32_t)gr_min(gr_ceil_div(p->results, 1 + (GR_STATE_THREADS - 1) / (2 * each)), MAX_BLOCKS);
}

static void add_launch(const gr_states *self, const char *entry, const void *params, size_t bytes,
                       gr_program *program) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->kernel.owner = "partial";
    GR_KERNEL_NAME(step->kernel.file, "states");
    GR_KERNEL_NAME(step->kernel.entry, "state_", entry);
    step->grid[0] = blocks_of(self);
    step->grid[1] = has(self, GR_STATE_HAS_SQUARES) ? ROWS : has(self, GR_STATE_HAS_SUM) ? ROWS - 1 : 1;
    step->block[0] = GR_STATE_THREADS;
}

/* The states that a program begins. */
typedef struct beginning {
    const gr_states *states;
    const gr_states_input *input;
} beginning;

static void plan_begin(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const gr_states *self = ((const beginning *)request)->states;
    const gr_states_input *input = ((const beginning *)request)->input;
    gr_state_begin_params params = input->params;
    params.states = self->params;
    const bool whole = (params.flags & GR_STATE_INTEGER_SUMS) != 0,
               second_squares = (params.flags & GR_STATE_SECOND_SQUARES) != 0;
    const uint32_t first = whole || second_squares ? gr_program_input(program, 0) : 0;
    const uint32_t high = input->has_high ? gr_program_input(program, 1) : 0;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, self->bytes);
    add_launch(self, "begin", &params, sizeof params, program);
    if (whole)
        gr_program_relocate(program, offsetof(gr_state_begin_params, low), first);
    if (input->has_high)
        gr_program_relocate(program, offsetof(gr_state_begin_params, high), high);
    if (second_squares)
        gr_program_relocate(program, offsetof(gr_state_begin_params, second_squares), first);
    gr_program_relocate(program, offsetof(gr_state_begin_params, states.target), out);
}

gr_status gr_states_begin_run(gr_device *device, const gr_states *self, const gr_states_input *input,
                              const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan_begin, &(beginning){self, input}, binding, interrupt, error);
}

static void plan_merge(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const gr_states *self = request;
    const uint32_t source = gr_program_input(program, 0);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, self->bytes);
    add_launch(self, "merge", &self->params, sizeof self->params, program);
    gr_program_relocate(program, offsetof(gr_state_params, source), source);
    gr_program_relocate(program, offsetof(gr_state_params, target), out);
}

gr_status gr_states_merge_run(gr_device *device, const gr_states *self, const gr_binding *binding,
                              const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan_merge, self, binding, interrupt, error);
}
