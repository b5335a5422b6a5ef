/* Segmented reductions along one axis: each segment is a range of elements given by two offsets, in place or
   through an order (row numbers) for reductions by group. Also their profile and the supported operators and
   dtypes. */
#include "segments/segments.h"

#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

enum { ELEMENTS, OFFSETS };

typedef struct segments_call {
    py_job job;
    gr_segments segments;
    size_t axis;
} segments_call;

static bool merge_axes(segments_call *self) {
    const py_operand *source = &self->job.inputs[ELEMENTS];
    gr_segments *segments = &self->segments;
    segments->length = source->extent[self->axis];
    segments->along_stride = source->stride[self->axis];
    return py_operand_merge(source, 0, self->axis, &segments->lines, &segments->line_stride) &&
           py_operand_merge(source, self->axis + 1, source->ndim, &segments->inner, &segments->inner_stride);
}

static int parse_elements(segments_call *self, PyObject *a, PyObject *op, Py_ssize_t axis) {
    py_operand *source = &self->job.inputs[ELEMENTS];
    gr_segments *segments = &self->segments;
    if (py_find_op(op, &segments->op) < 0 ||
        py_operand_from_object(self->job.state, a, PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0 ||
        py_operand_ensure_element_strides(source) < 0)
        return -1;
    segments->dtype = source->dtype;
    if (!gr_segments_take(segments->op, source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: segments of %s have no %s", gr_dtypes[source->dtype].numpy_name,
                        gr_ops[segments->op].name);
    if (axis < 0 || (size_t)axis >= source->ndim)
        return PY_RAISE(PyExc_ValueError, "axis: expected one of %zu", source->ndim);
    self->axis = (size_t)axis;
    if (merge_axes(self))
        return 0;
    if (source->owner == NULL)
        return PY_RAISE(PyExc_ValueError, "a: a device array with such strides cannot be cut into segments; "
                                          "copy it to C order first");
    return py_operand_make_contiguous(source) < 0 || !merge_axes(self) ? -1 : 0;
}

/* Parses the offsets of the segments, followed by `permuted_rows` row numbers (0: elements are in order). */
static int parse_offsets(segments_call *self, PyObject *value, Py_ssize_t permuted_rows) {
    py_operand *offsets = &self->job.inputs[OFFSETS];
    self->job.input_count = 2;
    if (py_operand_from_object(self->job.state, value, PY_NATIVE, GR_SCOPE_GENERAL, "offsets", offsets) < 0)
        return -1;
    if (offsets->dtype != GR_DTYPE_i64 || offsets->ndim != 1 || !py_operand_is_contiguous(offsets, true) ||
        permuted_rows < 0 || offsets->extent[0] < (uint64_t)permuted_rows + 1)
        return PY_RAISE(PyExc_ValueError, "offsets: expected int64 side by side, one more than segments");
    self->segments.permuted_rows = (uint64_t)permuted_rows;
    self->segments.segments = offsets->extent[0] - (uint64_t)permuted_rows - 1;
    return 0;
}

/* Infers the shape of the result, and parses the result of an empty segment. */
static int parse_results(segments_call *self, PyObject *empty_result) {
    py_job *job = &self->job;
    const py_operand *source = &job->inputs[ELEMENTS];
    gr_dtype dtype = GR_DTYPE_COUNT;
    job->as_array = true;
    job->dtype = gr_op_result(self->segments.op, source->dtype);
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    job->extent[self->axis] = self->segments.segments;
    if (!PyArray_Check(empty_result) ||
        py_find_dtype(job->state, (PyArrayObject *)empty_result, GR_SCOPE_GENERAL, "empty_result", &dtype) <
            0 ||
        dtype != job->dtype || PyArray_SIZE((PyArrayObject *)empty_result) != 1)
        return PyErr_Occurred()
                   ? -1
                   : PY_RAISE(PyExc_TypeError, "empty_result: expected one element of the result");
    memcpy(&self->segments.empty_result, PyArray_DATA((PyArrayObject *)empty_result),
           gr_dtypes[dtype].item_bytes);
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_segments_run(device, &((const segments_call *)arg)->segments, binding, interrupt, error);
}

PyObject *py_segments(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"a",    "op",          "axis", "offsets", "permuted_rows", "empty_result",
                            "ddof", "destination", NULL};
    PyObject *a, *op, *offsets, *empty_result, *destination, *result = NULL;
    Py_ssize_t axis, permuted_rows;
    segments_call self = {.axis = 0};
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOnOnOdO", names, &a, &op, &axis, &offsets, &permuted_rows,
                                     &empty_result, &self.segments.ddof, &destination))
        return NULL;
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a, op, axis) == 0 && parse_offsets(&self, offsets, permuted_rows) == 0 &&
        parse_results(&self, empty_result) == 0 && py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "a") == 0)
        result = py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

PyObject *py_segment_coverage(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    for (int op = 0; list != NULL && op < GR_OP_COUNT; ++op)
        for (int dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype)
            if (gr_segments_take((gr_op)op, (gr_dtype)dtype))
                py_append(&list, Py_BuildValue("(ss)", gr_ops[op].name, gr_dtypes[dtype].numpy_name));
    return list;
}
