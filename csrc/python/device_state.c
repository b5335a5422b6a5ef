/* States of reductions that stay on a device (gpureduce.DeviceState): makes them of what reductions have
   written, and merges two of them. Their memory is a one-dimensional int64 array; gpureduce/_states computes
   its layout. */
#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "states/states.h"

typedef struct device_state_call {
    py_job job;
    gr_states states;
    gr_states_input input;
} device_state_call;

/* Parses the dict of a layout: fields of gr_state_params, where <field>_at is the offset of an array in
 * bytes. */
static int parse_layout(PyObject *layout, device_state_call *self) {
    gr_state_params *p = &self->states.params;
    static char *names[] = {"results",   "merge_op",     "dtype",  "has",        "value_at",
                            "count_at",  "index_at",     "sum_at", "squares_at", "sum_result_words",
                            "sum_words", "square_words", NULL};
    unsigned long long results, value, count, index, sum, squares;
    const char *dtype_name;
    gr_dtype dtype = GR_DTYPE_COUNT;
    memset(p, 0, sizeof *p);
    if (!py_parse_fields(layout, "layout", "KIsIKKKKKIII", names, &results, &p->merge_op, &dtype_name,
                         &p->has, &value, &count, &index, &sum, &squares, &p->sum_result_words, &p->sum_words,
                         &p->square_words) ||
        py_find_dtype_name(dtype_name, "layout", &dtype) < 0)
        return -1;
    p->results = results;
    p->value = value, p->count = count, p->index = index, p->sum = sum, p->squares = squares;
    p->dtype = (uint32_t)dtype;
    return 0;
}

/* Parses the memory of the states, which is also the result. */
static int parse_memory(PyObject *memory, PyObject *layout, PyObject *kind, PyObject *index, PyObject *stream,
                        device_state_call *self) {
    py_job *job = &self->job;
    gr_error error;
    job->dtype = GR_DTYPE_i64;
    job->ndim = 1;
    if (py_operand_from_object(job->state, memory, PY_NATIVE, GR_SCOPE_GENERAL, "memory", &job->device_out) <
        0)
        return -1;
    const py_operand *device_out = &job->device_out;
    if (device_out->source.host != NULL || device_out->ndim != 1 || device_out->dtype != GR_DTYPE_i64 ||
        device_out->read_only || !py_operand_is_contiguous(device_out, true) ||
        device_out->source.origin % 16 != 0)
        return PY_RAISE(PyExc_TypeError, "memory: expected int64 of one dimension on a device");
    job->extent[0] = device_out->extent[0];
    job->out = memory;
    job->on_device = true;
    self->states.bytes = device_out->extent[0] * 8;
    if (parse_layout(layout, self) < 0)
        return -1;
    if (gr_states_check(&self->states, &error) != GR_OK)
        return py_fail(job->state, &error);
    return py_parse_device(job->state, kind, index, &job->device) < 0 ||
                   py_stream_argument(job->state, stream, &job->stream) < 0
               ? -1
               : 0;
}

/* Parses a contiguous array of 64-bit words on the device. */
static int parse_words(device_state_call *self, PyObject *value, size_t number, uint64_t count) {
    py_operand *input = &self->job.inputs[number];
    if (py_operand_from_object(self->job.state, value, PY_NATIVE, GR_SCOPE_GENERAL, "words", input) < 0)
        return -1;
    self->job.input_count = number + 1;
    return input->source.host == NULL && gr_dtypes[input->dtype].item_bytes == 8 &&
                   gr_dtypes[input->dtype].kind == GR_KIND_BITS && py_operand_is_contiguous(input, true) &&
                   py_operand_count(input, NULL) == count
               ? 0
               : PY_RAISE(PyExc_ValueError, "words: expected as many integers of 64 bits on the device");
}

/* Parses the strides that map positions in a shard to positions in the whole array. */
static int parse_positions(PyObject *extents, PyObject *strides, gr_state_begin_params *p) {
    if (PyTuple_GET_SIZE(extents) != PyTuple_GET_SIZE(strides) || PyTuple_GET_SIZE(extents) > GR_STATE_NDIM)
        return PY_RAISE(PyExc_ValueError, "input: expected a stride for each of up to %d lengths",
                        GR_STATE_NDIM);
    p->ndim = (uint32_t)PyTuple_GET_SIZE(extents);
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(extents); ++d) {
        p->extent[d] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(extents, d));
        p->stride[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, d));
        if (PyErr_Occurred())
            return -1;
        if (p->extent[d] == 0)
            return PY_RAISE(PyExc_ValueError, "input: expected lengths above 0");
    }
    return 0;
}

/* Parses a dict. `first`: sums of integers (if `integer_sums`), or squares of another component, or None;
   `high`: sums of the upper halves of the integers, or None; `elements` per result, or -1; `start`, `extents`
   and `strides` of positions. */
static int parse_input(PyObject *input, device_state_call *self) {
    gr_state_begin_params *p = &self->input.params;
    const gr_state_params *states = &self->states.params;
    static char *names[] = {"first", "high", "integer_sums", "elements", "start", "extents", "strides", NULL};
    PyObject *first, *high, *extents, *strides;
    int integer_sums;
    long long elements, start;
    memset(p, 0, sizeof *p);
    self->job.input_count = 0;
    self->input.has_high = false;
    if (!py_parse_fields(input, "input", "OOpLLO!O!", names, &first, &high, &integer_sums, &elements, &start,
                         &PyTuple_Type, &extents, &PyTuple_Type, &strides) ||
        parse_positions(extents, strides, p) < 0)
        return -1;
    p->elements = elements < 0 ? 0 : (uint64_t)elements;
    p->start = start;
    p->flags = (integer_sums ? GR_STATE_INTEGER_SUMS : 0u) | (elements >= 0 ? GR_STATE_EQUAL_COUNTS : 0u);
    if (first == Py_None)
        return integer_sums ? PY_RAISE(PyExc_ValueError, "input: expected the sums") : 0;
    if ((integer_sums && states->sum_result_words != states->sum_words) ||
        (!integer_sums && !(states->has & GR_STATE_HAS_SQUARES)))
        return PY_RAISE(PyExc_ValueError, "input: these states have no place for it");
    if (parse_words(self, first, 0, integer_sums ? states->results : states->results * states->square_words) <
        0)
        return -1;
    if (!integer_sums)
        p->flags |= GR_STATE_SECOND_SQUARES;
    else if (self->job.inputs[0].dtype == GR_DTYPE_i64)
        p->flags |= GR_STATE_LOW_SIGNED;
    if (!integer_sums || high == Py_None)
        return 0;
    self->input.has_high = true;
    if (parse_words(self, high, 1, states->results) < 0)
        return -1;
    p->flags |= self->job.inputs[1].dtype == GR_DTYPE_i64 ? GR_STATE_HIGH_SIGNED : 0u;
    return 0;
}

static gr_status begin(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                       gr_error *error) {
    const device_state_call *self = arg;
    return gr_states_begin_run(device, &self->states, &self->input, binding, interrupt, error);
}

static gr_status merge(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                       gr_error *error) {
    const device_state_call *self = arg;
    return gr_states_merge_run(device, &self->states, binding, interrupt, error);
}

PyObject *py_state_begin(PyObject *module, PyObject *args) {
    PyObject *memory, *layout, *input, *kind, *index, *stream, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOOOOO", &memory, &layout, &input, &kind, &index, &stream))
        return NULL;
    device_state_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_memory(memory, layout, kind, index, stream, &self) == 0 && parse_input(input, &self) == 0)
        result = py_job_run(&self.job, begin, &self);
    py_job_release(&self.job);
    return result;
}

PyObject *py_state_merge(PyObject *module, PyObject *args) {
    PyObject *memory, *others, *layout, *kind, *index, *stream, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOOOOO", &memory, &others, &layout, &kind, &index, &stream))
        return NULL;
    device_state_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_memory(memory, layout, kind, index, stream, &self) == 0 &&
        parse_words(&self, others, 0, self.states.bytes / 8) == 0)
        result = py_job_run(&self.job, merge, &self);
    py_job_release(&self.job);
    return result;
}
