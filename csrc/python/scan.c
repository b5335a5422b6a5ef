/* Prefix sums and products along one axis (cumsum, cumprod, with or without a leading initial value), and
   their profile on the simulator. */
#include "scan/scan.h"

#include <string.h>

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

typedef struct scan_call {
    py_job job;
    gr_scan scan;
    size_t axis;
} scan_call;

static bool merge_axes(scan_call *self) {
    const py_operand *source = &self->job.inputs[0];
    gr_scan *scan = &self->scan;
    scan->dtype = source->dtype;
    scan->length = source->extent[self->axis];
    scan->along_stride = source->stride[self->axis];
    return py_operand_merge(source, 0, self->axis, &scan->lines, &scan->line_stride) &&
           py_operand_merge(source, self->axis + 1, source->ndim, &scan->inner, &scan->inner_stride);
}

/* Parses the elements, at least one, and infers the shape of the result. */
static int parse_elements(scan_call *self, PyObject *a, Py_ssize_t axis) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    if (py_operand_from_object(job->state, a, PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0 ||
        py_operand_ensure_element_strides(source) < 0)
        return -1;
    if (axis < 0 || (size_t)axis >= source->ndim || py_operand_count(source, NULL) == 0)
        return PY_RAISE(PyExc_ValueError, "a: expected elements along an axis");
    self->axis = (size_t)axis;
    if (!merge_axes(self)) {
        if (source->owner == NULL)
            return PY_RAISE(
                PyExc_ValueError,
                "a: a device array with such strides cannot be scanned; copy it to C order first");
        if (py_operand_make_contiguous(source) < 0 || !merge_axes(self))
            return -1;
    }
    job->as_array = true;
    job->dtype = gr_dtypes[source->dtype].sum;
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    job->extent[axis] += self->scan.initial ? 1 : 0;
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

/* Raises if `out` overlaps the elements other than in place: a kernel would read overwritten elements. */
static int check_overlap(const scan_call *self) {
    const py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    const bool in_place = job->device_out.source.origin == source->source.origin && !self->scan.initial &&
                          py_operand_is_contiguous(source, true) && job->dtype == source->dtype;
    return py_job_out_overlaps(job) && !in_place
               ? PY_RAISE(PyExc_ValueError, "out: overlaps with a, but is not a itself")
               : 0;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_scan_run(device, &((const scan_call *)arg)->scan, binding, interrupt, error);
}

PyObject *py_scan(PyObject *module, PyObject *args) {
    PyObject *a, *destination, *result = NULL;
    int product, initial;
    Py_ssize_t axis;
    if (!PyArg_ParseTuple(args, "OpnpO", &a, &product, &axis, &initial, &destination))
        return NULL;
    scan_call self = {.scan = {.op = product ? GR_SCAN_PROD : GR_SCAN_SUM, .initial = initial != 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a, axis) == 0 && py_job_parse_destination(&self.job, destination) == 0 &&
        check_overlap(&self) == 0)
        result = py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}
