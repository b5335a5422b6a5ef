#include "python/call.h"

#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"

void py_call_begin(py_call *self, py_state *state) {
    self->state = state;
    py_operand_clear(&self->source);
    py_operand_clear(&self->second);
    py_operand_clear(&self->place);
    self->reduction.initial = NULL;
    self->reduction.shape = NULL;
    self->reduction.layout.has_second = false;
    memset(self->reduction.layout.reduced, false, sizeof self->reduction.layout.reduced);
    self->device = NULL;
    self->stream = 0;
    self->stream_owner = self->out = self->progress = NULL;
    self->lasts = self->on_device = self->keepdims = self->as_array = self->doubtful = false;
}

void py_call_release(py_call *self) {
    py_operand_release(&self->source);
    py_operand_release(&self->second);
    py_operand_release(&self->place);
}

gr_dtype py_call_dtype(const py_call *self) {
    return gr_op_result(self->reduction.op, self->reduction.dtype);
}

/* ---- the order of results ---- */

static int64_t stride_of(const py_operand *operand, size_t d) {
    return operand->extent[d] == 1 ? 0 : operand->stride[d];
}

/* Whether one axis varies slower in memory than another: -1 where the strides do not say, as where elements
   are repeated. Where a mask contradicts, it does not. */
static int is_slower(const py_call *self, size_t axis, size_t other) {
    const py_operand *const operands[] = {&self->source, &self->second};
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

/* The axes in the order in which NumPy goes over them, that which varies slowest first. */
static void find_order(const py_call *self, size_t *order) {
    size_t fastest[GR_MAX_NDIM];
    const size_t ndim = self->source.ndim;
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

/* The kept axes as results are to follow each other: those for the host as NumPy's, which keeps the order of
   the elements, but for positions; others in C order. */
static size_t order_kept(const py_call *self, size_t *kept) {
    const bool *reduced = self->reduction.layout.reduced;
    const size_t ndim = self->source.ndim;
    size_t order[GR_MAX_NDIM], count = 0;
    const bool follow = !self->on_device && !gr_op_in_order(self->reduction.op);
    if (follow)
        find_order(self, order);
    for (size_t i = 0; i < ndim; ++i) {
        const size_t d = follow ? order[i] : i;
        if (!reduced[d])
            kept[count++] = d;
    }
    return count;
}

/* Lengths and strides of the result, whose kept axes follow each other so. */
static void shape_result(py_call *self, const size_t *kept, size_t count) {
    npy_intp stride[GR_MAX_NDIM], next = (npy_intp)gr_dtypes[py_call_dtype(self)].item_bytes;
    for (size_t i = count; i-- > 0;) {
        stride[kept[i]] = next;
        next *= self->source.extent[kept[i]] > 0 ? (npy_intp)self->source.extent[kept[i]] : 1;
    }
    self->ndim = 0;
    for (size_t d = 0; d < self->source.ndim; ++d) {
        const bool reduced = self->reduction.layout.reduced[d];
        if (reduced && !self->keepdims)
            continue;
        self->extent[self->ndim] = reduced ? 1 : self->source.extent[d];
        self->stride[self->ndim++] = reduced ? next : stride[d];
    }
}

/* ---- the plan ---- */

/* `kept`: the order of the kept axes, or NULL where they have it already. */
static void fill_layout(py_call *self, const size_t *kept) {
    gr_layout *layout = &self->reduction.layout;
    py_operand_lay_out(&self->source, layout);
    layout->result_bytes = gr_dtypes[py_call_dtype(self)].item_bytes;
    layout->in_order = gr_op_in_order(self->reduction.op);
    layout->pair = gr_ops[self->reduction.op].takes == GR_TAKES_PAIR;
    layout->packed = !layout->pair;
    layout->single_pass = true;
    for (size_t d = 0, next = 0; d < self->source.ndim; ++d) {
        const size_t from = kept == NULL || layout->reduced[d] ? d : kept[next++];
        layout->extent[d] = self->source.extent[from];
        layout->stride[d] = self->source.stride[from];
        layout->second_stride[d] = layout->has_second ? self->second.stride[from] : 0;
    }
}

static bool make_plan(py_call *self, const size_t *kept, gr_error *error) {
    fill_layout(self, kept);
    return gr_general_plan_make(&self->reduction.layout, &gr_reference_limits, &self->reduction.plan,
                                error) == GR_OK;
}

int py_call_plan(py_call *self) {
    gr_error error;
    size_t kept[GR_MAX_NDIM];
    const size_t count = order_kept(self, kept);
    shape_result(self, kept, count);
    if (make_plan(self, kept, &error))
        return 0;
    py_operand *const operands[] = {&self->source, &self->second};
    gr_layout *layout = &self->reduction.layout;
    if (py_operands_pack(operands, layout->has_second ? 2 : 1, kept, layout->reduced) < 0)
        return -1;
    if (make_plan(self, NULL, &error))
        return 0;
    py_raise(self->state, &error);
    return -1;
}

/* ---- the run ---- */

static bool report(void *arg, uint64_t done, uint64_t total) {
    py_call *self = arg;
    PyEval_RestoreThread(self->work.thread);
    PyObject *result =
        PyObject_CallFunction(self->progress, "KK", (unsigned long long)done, (unsigned long long)total);
    const bool failed = result == NULL;
    Py_XDECREF(result);
    self->work.thread = PyEval_SaveThread();
    return failed;
}

/* Work in the stream of the call comes after what others have put into theirs, and what they put there next
   comes after it. */
static gr_status order_others(const py_call *self, bool after, gr_error *error) {
    const py_operand *const operands[] = {&self->source, &self->second, &self->place};
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < sizeof operands / sizeof operands[0]; ++i) {
        const gr_stream theirs = operands[i]->stream;
        if (operands[i]->placed && theirs != self->stream)
            status = gr_stream_order(self->device, after ? self->stream : theirs,
                                     after ? theirs : self->stream, error);
    }
    return status;
}

/* `made`: an array on the device that is to get its memory, or NULL. */
static gr_status work(py_call *self, py_array *made, gr_binding *binding, gr_error *error) {
    const gr_progress progress = {.report = report, .arg = self};
    const bool attached = self->progress == NULL; /* a callback may do anything, on other devices too */
    gr_error ignored;
    gr_status status = attached ? gr_device_attach(self->device, error) : GR_OK;
    if (status != GR_OK)
        return status;
    status = order_others(self, false, error);
    if (status == GR_OK && made != NULL) {
        status = py_array_allocate(made, self->device, error);
        binding->device_out = made->pointer;
    }
    if (status == GR_OK)
        status = gr_reduction_run(self->device, &self->reduction, binding,
                                  self->progress != NULL ? &progress : NULL, &self->work.interrupt, error);
    if (status == GR_OK && made != NULL)
        status = py_array_settle(made, self->device, error);
    const gr_status ordered = order_others(self, true, status == GR_OK ? error : &ignored);
    if (attached)
        gr_device_detach(self->device);
    return status == GR_OK ? ordered : status;
}

static PyObject *new_results(const py_call *self) {
    npy_intp shape[GR_MAX_NDIM], stride[GR_MAX_NDIM];
    for (size_t d = 0; d < self->ndim; ++d) {
        shape[d] = (npy_intp)self->extent[d];
        stride[d] = self->stride[d];
    }
    PyArray_Descr *descr = py_descr(self->state, py_call_dtype(self));
    return descr == NULL
               ? NULL
               : PyArray_NewFromDescr(&PyArray_Type, descr, (int)self->ndim, shape, stride, NULL, 0, NULL);
}

/* Where the result goes. An array that is made is *result, and that of a device *made, too. */
static int make_room(py_call *self, gr_scalar *scalar, gr_binding *binding, PyObject **result,
                     py_array **made) {
    if (self->on_device && self->out != NULL) {
        binding->device_out = self->place.source.origin;
    } else if (self->on_device) {
        *made = py_array_new(self->state, self->device->backend->info.kind, self->device->backend->info.index,
                             py_call_dtype(self), self->ndim, self->extent);
        *result = (PyObject *)*made;
        if (*made == NULL)
            return -1;
        py_array_set_stream(*made, self->stream, self->stream_owner, self->lasts);
    } else if (self->ndim == 0 && !self->as_array && self->out == NULL) {
        binding->host_out = scalar;
    } else {
        *result = new_results(self);
        if (*result == NULL)
            return -1;
        binding->host_out = PyArray_DATA((PyArrayObject *)*result);
    }
    return 0;
}

static bool is_rounded(gr_op op) {
    return op == GR_OP_sum || op == GR_OP_prod || op == GR_OP_mean || op == GR_OP_dot;
}

PyObject *py_call_run(py_call *self) {
    gr_scalar scalar = {.bytes = {0}};
    gr_binding binding = {.inputs = {self->source.source},
                          .out_bytes =
                              (size_t)self->reduction.plan.results * self->reduction.layout.result_bytes,
                          .stream = self->stream};
    PyObject *result = NULL;
    py_array *made = NULL;
    if (self->reduction.layout.has_second)
        binding.inputs[1] = self->second.source;
    if (make_room(self, &scalar, &binding, &result, &made) < 0)
        return NULL;
    py_begin(&self->work);
    if (py_end(self->state, &self->work, work(self, made, &binding, &self->work.error)) < 0) {
        Py_XDECREF(result);
        return NULL;
    }
    py_count_run();
    self->doubtful =
        binding.host_out != NULL && is_rounded(self->reduction.op) &&
        !gr_all_finite(py_call_dtype(self), binding.host_out, (size_t)self->reduction.plan.results);
    if (binding.host_out == &scalar)
        return py_result(self->state, py_call_dtype(self), scalar);
    if (self->out == NULL)
        return result;
    if (result != NULL && PyArray_CopyInto((PyArrayObject *)self->out, (PyArrayObject *)result) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    Py_XDECREF(result);
    return Py_NewRef(self->out);
}
