/* The exact sum of arrays that lie on several devices: one launch each, which leaves its state where the host
   reads it, all of them under way before the first is waited for. By one thread, as a launch takes less than
   to wake another one. */
#include <stdlib.h>
#include <string.h>

#include "feed/later.h"
#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

enum { MOST_PARTS = 64 };

static const gr_exact_format formats[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f16] = {11, 5}, [GR_DTYPE_bf16] = {8, 8}, [GR_DTYPE_f32] = {24, 8}, [GR_DTYPE_f64] = {53, 11}};

typedef struct part {
    py_call call;
    gr_later later; /* its state, if */
    bool is_launched;
} part;

typedef struct parts {
    py_state *state;
    size_t count;
    part *part;
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
    call->exact = call->states = true;
    py_call_shape(call);
    taken = py_job_take_device(&call->job, NULL);
    if (taken <= 0)
        return taken;
    return py_call_plan(call) < 0 ? -1 : py_job_take_stream(&call->job, NULL);
}

/* As take_part, of all. */
static int take_all(parts *self, PyObject *arrays) {
    for (size_t i = 0; i < self->count; ++i) {
        const int taken = take_part(self, PyTuple_GET_ITEM(arrays, (Py_ssize_t)i), &self->part[i].call);
        if (taken <= 0)
            return taken;
    }
    return 1;
}

/* Launches what makes the state of a part. */
static gr_status launch(void *arg, gr_device *device, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    part *self = arg;
    gr_program program;
    const gr_exact exact = py_call_exact(&self->call);
    gr_exact_plan(&exact, &device->backend->info.can, &program);
    const gr_status status = gr_later_begin(device, &program, binding, interrupt, &self->later, error);
    self->is_launched = status == GR_OK;
    return status;
}

static gr_status launch_all(parts *self, py_work *work) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < self->count; ++i) {
        py_job *job = &self->part[i].call.job;
        gr_binding binding = {
            .host_out = self->part, .out_bytes = self->size.words * 8, .stream = job->stream};
        binding.inputs[PY_SOURCE] = job->inputs[PY_SOURCE].source;
        job->work.interrupt = work->interrupt;
        status = py_job_do(job, launch, &self->part[i], NULL, &binding, &work->error);
    }
    return status;
}

/* Adds all states to the total, each once it is there. What is under way is waited for, whatever has failed.
 */
static gr_status add_up(parts *self, int64_t *total, py_work *work) {
    int64_t words[GR_EXACT_WIDEST_WORDS];
    gr_status status = launch_all(self, work);
    for (size_t i = 0; i < self->count; ++i) {
        gr_error error;
        if (!self->part[i].is_launched)
            continue;
        const gr_status collected = gr_later_collect(&self->part[i].later, words, &error);
        if (status != GR_OK)
            continue;
        status = collected;
        if (status == GR_OK && !gr_exact_states_merge(total, words, 1, self->size))
            status = gr_fail(&error, GR_ERR_VALUE, "parts: the sum is beyond what a state holds");
        if (status != GR_OK)
            work->error = error;
    }
    return status;
}

static PyObject *sum_all(parts *self, bool mean) {
    int64_t total[GR_EXACT_WIDEST_WORDS] = {0};
    uint64_t divisor = mean ? self->elements : 1, bits = 0;
    uint32_t each;
    gr_scalar scalar = {.bytes = {0}};
    py_work work;
    self->size = gr_exact_state_size(GR_OP_sum, self->dtype, &each);
    py_begin(&work);
    const gr_status status = add_up(self, total, &work);
    if (py_end(self->state, &work, status) < 0)
        return NULL;
    py_count_run();
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
    self.part = malloc(self.count * sizeof *self.part);
    if (self.part == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < self.count; ++i) {
        py_call_begin(&self.part[i].call, self.state);
        self.part[i].is_launched = false;
    }
    const int taken = take_all(&self, arrays);
    if (taken > 0)
        result = sum_all(&self, mean);
    else if (taken == 0)
        result = Py_NewRef(Py_NotImplemented);
    for (size_t i = 0; i < self.count; ++i)
        py_call_release(&self.part[i].call);
    free(self.part);
    return result;
}
