/* The exact sum of arrays that lie on several devices: one launch each, all of them under way before the
   first state is read. By one thread, as a launch takes less than to wake another one. */
#include <stdlib.h>
#include <string.h>

#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

enum { MOST_PARTS = 64 };

static const gr_exact_format formats[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f16] = {11, 5}, [GR_DTYPE_bf16] = {8, 8}, [GR_DTYPE_f32] = {24, 8}, [GR_DTYPE_f64] = {53, 11}};

typedef struct parts {
    py_state *state;
    size_t count;
    py_call *calls;
    PyObject *made[MOST_PARTS]; /* a state on the device of each */
    uint64_t elements;
    gr_dtype dtype;
    gr_exact_size size;
} parts;

/* 1: taken; 0: to be left to Python; -1 with an exception set. */
static int take_part(parts *self, PyObject *array, py_call *call) {
    py_operand *source = &call->job.inputs[PY_SOURCE];
    int taken = py_operand_take(self->state, array, PY_LOOK, GR_SCOPE_GENERAL, "parts", source);
    if (taken <= 0)
        return taken;
    const uint64_t elements = py_operand_count(source, NULL);
    if (!source->placed || formats[source->dtype].precision == 0 || elements == 0 ||
        (self->elements > 0 && source->dtype != self->dtype))
        return 0;
    self->dtype = source->dtype;
    if (__builtin_add_overflow(self->elements, elements, &self->elements) || self->elements > INT64_MAX)
        return 0;
    call->reduction.op = GR_OP_sum;
    call->reduction.dtype = source->dtype;
    for (size_t d = 0; d < source->ndim; ++d)
        call->reduction.layout.reduced[d] = true;
    call->exact = call->states = call->job.as_array = call->job.on_device = true;
    py_call_shape(call);
    taken = py_job_take_device(&call->job, NULL);
    if (taken <= 0)
        return taken;
    return py_call_plan(call) < 0 ? -1 : py_job_take_stream(&call->job, NULL);
}

/* Whether its stream is being captured, where nothing can be read. */
static int is_captured(parts *self, const py_job *job) {
    gr_order order;
    gr_error error;
    if (gr_stream_look(job->device, job->stream, &order, &error) != GR_OK)
        return py_raise(self->state, &error), -1;
    return order.capture != 0;
}

/* As take_part, of all. */
static int take_all(parts *self, PyObject *arrays) {
    for (size_t i = 0; i < self->count; ++i) {
        const int taken = take_part(self, PyTuple_GET_ITEM(arrays, (Py_ssize_t)i), &self->calls[i]);
        if (taken <= 0)
            return taken;
        const int captured = is_captured(self, &self->calls[i].job);
        if (captured != 0)
            return captured < 0 ? -1 : 0;
    }
    return 1;
}

static int launch_all(parts *self) {
    for (size_t i = 0; i < self->count; ++i) {
        self->size = py_call_shape_states(&self->calls[i]);
        if (!py_job_stride_result(&self->calls[i].job))
            return PyErr_NoMemory(), -1;
        self->made[i] = py_call_run(&self->calls[i]);
        if (self->made[i] == NULL)
            return -1;
    }
    return 0;
}

/* Merges all states, each once it is there. */
static gr_status read_all(const parts *self, int64_t *total, gr_error *error) {
    int64_t words[GR_EXACT_WIDEST_WORDS];
    const size_t bytes = self->size.words * sizeof *words;
    for (size_t i = 0; i < self->count; ++i) {
        const py_array *made = (const py_array *)self->made[i];
        gr_backend *backend = self->calls[i].job.device->backend;
        const gr_status status =
            backend->download(backend, made->stream, i == 0 ? total : words, made->pointer, bytes, error);
        if (status != GR_OK)
            return status;
        gr_exact_states_settle(i == 0 ? total : words, 1, self->size);
        if (i > 0 && !gr_exact_states_merge(total, words, 1, self->size))
            return gr_fail(error, GR_ERR_VALUE, "parts: the sum is beyond what a state holds");
    }
    return GR_OK;
}

static PyObject *sum_all(parts *self, bool mean) {
    int64_t total[GR_EXACT_WIDEST_WORDS];
    uint64_t divisor = mean ? self->elements : 1, bits = 0;
    gr_scalar scalar = {.bytes = {0}};
    py_work work;
    if (launch_all(self) < 0)
        return NULL;
    py_begin(&work);
    const gr_status status = read_all(self, total, &work.error);
    if (py_end(self->state, &work, status) < 0)
        return NULL;
    gr_exact_states_round(total, &divisor, 1, self->size, formats[self->dtype], &bits);
    memcpy(scalar.bytes, &bits, gr_dtypes[self->dtype].item_bytes);
    return py_result(self->state, self->dtype, scalar);
}

PyObject *py_exact_sharded(PyObject *module, PyObject *args) {
    parts self = {.state = PyModule_GetState(module)};
    PyObject *arrays, *result = NULL;
    int mean;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &arrays, &mean))
        return NULL;
    self.count = (size_t)PyTuple_GET_SIZE(arrays);
    if (self.count == 0 || self.count > MOST_PARTS)
        Py_RETURN_NOTIMPLEMENTED;
    self.calls = malloc(self.count * sizeof *self.calls);
    if (self.calls == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < self.count; ++i)
        py_call_begin(&self.calls[i], self.state);
    const int taken = take_all(&self, arrays);
    if (taken > 0)
        result = sum_all(&self, mean);
    else if (taken == 0)
        result = Py_NewRef(Py_NotImplemented);
    for (size_t i = 0; i < self.count; ++i) {
        Py_XDECREF(self.made[i]);
        py_call_release(&self.calls[i]);
    }
    free(self.calls);
    return result;
}
