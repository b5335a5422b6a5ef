/* Implements call.h. The result on the host has the memory order that NumPy would choose (it follows the
   order of the input's strides), so the kept axes are sorted before the plan is made. */
#include "python/call.h"

#include <string.h>

#include "python/errors.h"

void py_call_init(py_call *self, py_state *state) {
    py_job_init(&self->job, state);
    self->reduction.initial = NULL;
    self->reduction.shape = NULL;
    self->reduction.parameter = 0;
    self->reduction.layout.has_second = false;
    memset(self->reduction.layout.reduced, false, sizeof self->reduction.layout.reduced);
    self->progress = NULL;
    self->keepdims = self->exact = false;
    self->fold = self->blocks = 0;
    self->squares = self->states = false;
}

void py_call_release(py_call *self) {
    py_job_release(&self->job);
}

bool py_call_has_fitting_second(const py_call *self) {
    const py_operand *source = &self->job.inputs[PY_SOURCE], *second = &self->job.inputs[PY_SECOND];
    return second->dtype == (gr_op_is_pair(self->reduction.op) ? source->dtype : GR_DTYPE_b8) &&
           py_operand_same_shape(second, source);
}

void py_call_infer_result(py_call *self) {
    const py_operand *source = &self->job.inputs[PY_SOURCE];
    self->job.dtype = gr_op_result(self->reduction.op, self->reduction.dtype);
    self->job.ndim = 0;
    for (size_t d = 0; d < source->ndim; ++d) {
        const bool reduced = self->reduction.layout.reduced[d];
        if (!reduced || self->keepdims)
            self->job.extent[self->job.ndim++] = reduced ? 1 : source->extent[d];
    }
    const size_t numbers = gr_op_numbers(self->reduction.op);
    if (numbers > 1 && self->job.ndim < GR_MAX_NDIM)
        self->job.extent[self->job.ndim++] = numbers;
}

gr_exact_size py_call_infer_states(py_call *self) {
    uint32_t parts;
    const gr_exact_size size = gr_exact_state_size(self->reduction.op, self->reduction.dtype, &parts);
    self->job.dtype = GR_DTYPE_i64;
    self->job.ndim = 3;
    self->job.extent[0] = self->reduction.plan.results;
    self->job.extent[1] = parts;
    self->job.extent[2] = size.words;
    return size;
}

/* ---- memory order of the results ---- */

static int64_t stride_of(const py_operand *operand, size_t d) {
    return operand->extent[d] == 1 ? 0 : operand->stride[d];
}

/* Whether an axis has a larger stride than another: 1 or 0; -1 if the strides leave it open (a stride is 0,
   as after broadcasting). If the second input's strides say the opposite, the answer is 0. */
static int is_slower(const py_call *self, size_t axis, size_t other) {
    const py_operand *const operands[] = {&self->job.inputs[PY_SOURCE], &self->job.inputs[PY_SECOND]};
    int slower = -1;
    for (size_t i = 0; i < (self->reduction.layout.has_second ? 2 : 1); ++i) {
        const int64_t here = stride_of(operands[i], axis), there = stride_of(operands[i], other);
        if (here == 0 || there == 0)
            continue;
        if (gr_magnitude(here) <= gr_magnitude(there))
            slower = 0;
        else if (slower < 0)
            slower = 1;
    }
    return slower;
}

/* Sorts the axes as NumPy's iterator does: by stride, the largest first. */
static void find_order(const py_call *self, size_t *order) {
    size_t fastest[GR_MAX_NDIM];
    const size_t ndim = self->job.inputs[PY_SOURCE].ndim;
    for (size_t i = 0; i < ndim; ++i) {
        const size_t moved = ndim - 1 - i;
        size_t at = i;
        for (size_t j = i; j-- > 0;) {
            const int slower = is_slower(self, fastest[j], moved);
            if (slower == 0)
                break;
            at = slower > 0 ? j : at;
        }
        memmove(&fastest[at + 1], &fastest[at], (i - at) * sizeof fastest[0]);
        fastest[at] = moved;
    }
    for (size_t i = 0; i < ndim; ++i)
        order[i] = fastest[ndim - 1 - i];
}

/* Lists the kept axes in the memory order of the results. Results on the host have NumPy's order, which
   follows the strides of the elements (except argmin, argmax). Results on a device and states have C
   order. */
static size_t order_kept(const py_call *self, size_t *kept) {
    const bool *reduced = self->reduction.layout.reduced;
    const size_t ndim = self->job.inputs[PY_SOURCE].ndim;
    size_t order[GR_MAX_NDIM], count = 0;
    const bool follow = !self->job.on_device && !self->states && !gr_op_is_positional(self->reduction.op);
    if (follow)
        find_order(self, order);
    for (size_t i = 0; i < ndim; ++i) {
        const size_t d = follow ? order[i] : i;
        if (!reduced[d])
            kept[count++] = d;
    }
    return count;
}

/* Sets the strides of the result, whose memory order is `kept`. */
static void stride_results(py_call *self, const size_t *kept, size_t count) {
    const py_operand *source = &self->job.inputs[PY_SOURCE];
    const size_t item_bytes = gr_dtypes[self->job.dtype].item_bytes,
                 numbers = gr_op_numbers(self->reduction.op);
    npy_intp stride[GR_MAX_NDIM], next = (npy_intp)(item_bytes * numbers);
    for (size_t i = count; i-- > 0;) {
        stride[kept[i]] = next;
        next *= source->extent[kept[i]] > 0 ? (npy_intp)source->extent[kept[i]] : 1;
    }
    for (size_t d = 0, to = 0; d < source->ndim; ++d) {
        const bool reduced = self->reduction.layout.reduced[d];
        if (!reduced || self->keepdims)
            self->job.stride[to++] = reduced ? next : stride[d];
    }
    if (numbers > 1)
        self->job.stride[self->job.ndim - 1] = (npy_intp)item_bytes;
}

/* ---- the plan ---- */

/* `kept`: the order of the kept axes; NULL: they are in this order already. */
static void fill_layout(py_call *self, const size_t *kept) {
    gr_layout *layout = &self->reduction.layout;
    const py_operand *source = &self->job.inputs[PY_SOURCE];
    const py_operand *second = self->squares ? source : &self->job.inputs[PY_SECOND];
    py_operand_fill_layout(source, layout);
    gr_reduction_fill_layout(&self->reduction, self->job.device, self->exact);
    for (size_t d = 0, next = 0; d < source->ndim; ++d) {
        const size_t from = kept == NULL || layout->reduced[d] ? d : kept[next++];
        layout->extent[d] = source->extent[from];
        layout->stride[d] = source->stride[from];
        layout->second_stride[d] = layout->has_second ? second->stride[from] : 0;
    }
}

static bool make_plan(py_call *self, const size_t *kept, gr_error *error) {
    fill_layout(self, kept);
    return gr_general_plan_make(&self->reduction.layout, &self->reduction.plan, error) == GR_OK;
}

int py_call_plan(py_call *self) {
    gr_error error;
    size_t kept[GR_MAX_NDIM];
    const size_t count = order_kept(self, kept);
    self->job.input_count = self->reduction.layout.has_second && !self->squares ? 2 : 1;
    stride_results(self, kept, count);
    if (make_plan(self, kept, &error))
        return 0;
    py_operand *const operands[] = {&self->job.inputs[PY_SOURCE], &self->job.inputs[PY_SECOND]};
    gr_layout *layout = &self->reduction.layout;
    if (py_operands_make_contiguous(operands, self->job.input_count, kept, layout->reduced) < 0)
        return -1;
    if (make_plan(self, NULL, &error))
        return 0;
    return py_fail(self->job.state, &error);
}

/* ---- the run ---- */

static bool report(void *arg, uint64_t done, uint64_t total) {
    py_call *self = arg;
    PyEval_RestoreThread(self->job.work.thread);
    PyObject *result =
        PyObject_CallFunction(self->progress, "KK", (unsigned long long)done, (unsigned long long)total);
    const bool failed = result == NULL;
    Py_XDECREF(result);
    self->job.work.thread = PyEval_SaveThread();
    return failed;
}

static gr_exact exact_of(const py_call *self) {
    return (gr_exact){.op = self->reduction.op,
                      .dtype = self->reduction.dtype,
                      .layout = &self->reduction.layout,
                      .plan = &self->reduction.plan,
                      .initial = self->reduction.initial,
                      .fold = self->fold,
                      .blocks = self->blocks,
                      .squares = self->squares,
                      .states = self->states};
}

void py_call_program(const void *request, gr_device *device, gr_program *program) {
    const py_call *self = request;
    const gr_exact exact = exact_of(self);
    if (self->exact)
        gr_exact_plan(&exact, device, program);
    else
        gr_reduction_plan(&self->reduction, device, program);
}

gr_status py_call_work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                       gr_error *error) {
    py_call *self = arg;
    if (self->exact) {
        const gr_exact exact = exact_of(self);
        return gr_exact_run(device, &exact, binding, interrupt, error);
    }
    const gr_progress progress = {.report = report, .arg = self};
    self->reduction.out_aligned = binding->host_out != NULL || binding->device_out % GR_VECTOR_BYTES == 0;
    return gr_reduction_run(device, &self->reduction, binding, self->progress != NULL ? &progress : NULL,
                            interrupt, error);
}

bool py_call_is_captured(const py_call *self) {
    const py_job *job = &self->job;
    gr_backend *backend = job->device->backend;
    gr_stream_state state;
    gr_error ignored;
    bool captured = false;
    for (size_t i = 0; !captured && i <= job->input_count; ++i) {
        const gr_stream stream =
            i > 0 && job->inputs[i - 1].on_device ? job->inputs[i - 1].stream : job->stream;
        if (i == 0 || stream != job->stream)
            captured =
                backend->streams->get_state(backend, stream, &state, &ignored) != GR_OK || state.capture != 0;
    }
    return captured;
}

PyObject *py_call_run(py_call *self) {
    const gr_op op = self->reduction.op;
    self->job.is_index = gr_op_has(op, GR_SHARES_FILE) && gr_op_is_positional(op);
    self->job.check_nonfinite = !self->states && gr_op_has(op, GR_ROUNDS);
    self->job.detached = self->progress != NULL; /* the callback may use other devices */
    return py_job_run(&self->job, py_call_work, self);
}
