/* Prefix sums, products and extremes along one axis (cumsum, cumprod, cummax, with or without an initial
   value; nancumsum and nancumprod). The fast path and the entry behind the Python fallback share the
   conversion of the elements and the shape of the result. */
#include "scan/scan.h"

#include <string.h>

#include "exact/exact.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"
#include "reduce/reduce.h"

typedef struct scan_call {
    py_job job;
    gr_scan scan;
    size_t axis;
    bool exact;          /* round each sum once */
    bool leaves_out_nan; /* `valid` is run before the scan, which is then in place */
    gr_reduction valid;  /* writes the elements to the result, in C order, with NaN replaced */
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

/* Converts the elements. 1: converted; 0: PY_NO_COPY is not enough; -1 with an exception set. */
static int take_elements(scan_call *self, PyObject *a, py_conversion conversion) {
    py_operand *source = &self->job.inputs[0];
    const int taken = py_operand_from_object(self->job.state, a, conversion, GR_SCOPE_GENERAL, "a", source);
    return taken > 0 && py_operand_ensure_element_strides(source) < 0 ? -1 : taken;
}

/* Infers the shape of the result from elements, at least one, and the axis. 1: inferred; 0: the strides of a
   device array do not fit; -1 with an exception set. */
static int infer_shape(scan_call *self) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    if (!merge_axes(self)) {
        if (source->owner == NULL)
            return 0;
        if (py_operand_make_contiguous(source) < 0 || !merge_axes(self))
            return -1;
    }
    job->as_array = true;
    if (self->scan.op >= GR_SCAN_MAX && gr_dtype_is_complex(source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: %s has no order", gr_dtypes[source->dtype].numpy_name);
    job->dtype = gr_scan_result(self->scan.op, source->dtype);
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    job->extent[self->axis] += self->scan.initial ? 1 : 0;
    return py_job_set_c_strides(job) ? 1 : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

/* Whether `out` overlaps the elements other than in place: a kernel would read overwritten elements. */
static bool overlaps(const scan_call *self) {
    const py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    const bool in_place = job->device_out.source.origin == source->source.origin && !self->scan.initial &&
                          py_operand_is_contiguous(source, true) && job->dtype == source->dtype;
    return py_job_out_overlaps(job) && !in_place;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const scan_call *self = arg;
    gr_binding bound = *binding;
    if (self->leaves_out_nan) {
        const gr_status status = gr_reduction_run(device, &self->valid, binding, NULL, interrupt, error);
        if (status != GR_OK)
            return status;
        bound.inputs[0] = (gr_source){.host = NULL, .origin = binding->device_out};
    }
    return self->exact ? gr_exact_scan_run(device, &self->scan, &bound, interrupt, error)
                       : gr_scan_run(device, &self->scan, &bound, interrupt, error);
}

/* Plans the copy without NaN: a nansum, or nanprod, along an axis of length one. 1: planned; 0: fall back to
   Python. */
static int plan_valid(scan_call *self) {
    const py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    gr_scan *scan = &self->scan;
    gr_reduction *valid = &self->valid;
    gr_layout *layout = &valid->layout;
    const int64_t item = (int64_t)gr_dtypes[source->dtype].item_bytes;
    gr_error ignored;
    self->leaves_out_nan = gr_dtypes[source->dtype].kind != GR_KIND_BITS;
    if (!self->leaves_out_nan)
        return 1;
    if (!job->on_device || !source->on_device || scan->initial || job->dtype != source->dtype ||
        source->ndim >= GR_MAX_NDIM || py_job_out_overlaps(job))
        return 0;
    *valid =
        (gr_reduction){.op = scan->op == GR_SCAN_SUM ? GR_OP_nansum : GR_OP_nanprod, .dtype = source->dtype};
    py_operand_fill_layout(source, layout);
    layout->extent[layout->ndim] = 1;
    layout->stride[layout->ndim] = item;
    layout->reduced[layout->ndim++] = true;
    gr_reduction_fill_layout(valid, job->device, false);
    scan->inner_stride = item;
    scan->along_stride = item * (int64_t)scan->inner;
    scan->line_stride = scan->along_stride * (int64_t)scan->length;
    return gr_general_plan_make(layout, &valid->plan, &ignored) == GR_OK;
}

/* ---- the fast path ---- */

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(scan_call *self, const py_arguments arguments) {
    py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    PyObject *const axis = arguments[PY_NAME_axis], *const exact = arguments[PY_NAME_exact];
    if (!py_is_none(arguments[PY_NAME_dtype]) || (exact != NULL && exact != Py_False) ||
        arguments[PY_NAME_variant] != NULL ||
        !py_parse_bool(arguments[PY_NAME_include_initial], false, &self->scan.initial))
        return 0;
    int parsed = take_elements(self, arguments[PY_NAME_a], job->conversion);
    self->axis = 0;
    if (parsed > 0 &&
        ((py_is_none(axis) ? source->ndim != 1 : !py_parse_axis(axis, source->ndim, &self->axis)) ||
         py_operand_count(source, NULL) == 0))
        return 0;
    if (parsed > 0)
        parsed = infer_shape(self);
    if (parsed > 0)
        parsed = py_job_parse_options(job, arguments);
    if (parsed <= 0)
        return parsed;
    job->check_nonfinite =
        self->scan.op < GR_SCAN_MAX && !source->on_device && gr_dtypes[source->dtype].kind != GR_KIND_BITS;
    return overlaps(self) ? 0 : 1;
}

PyObject *py_fast_scan(const py_signature *signature, const py_arguments arguments) {
    scan_call self;
    self.scan = (gr_scan){.op = (gr_scan_op)(signature->parameter & ~(uint64_t)PY_SCAN_VALID)};
    self.leaves_out_nan = self.exact = false;
    py_job_init(&self.job, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    py_job_accept_jax(&self.job);
    int parsed = parse_arguments(&self, arguments);
    if (parsed > 0 && (signature->parameter & PY_SCAN_VALID) != 0)
        parsed = plan_valid(&self);
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (result != NULL && parsed > 0 && self.job.has_nonfinite && signature->report != Py_None)
        result = py_reported(result, PyObject_CallFunction(signature->report, "OOnO", result,
                                                           arguments[PY_NAME_a], (Py_ssize_t)self.axis,
                                                           self.scan.initial ? Py_True : Py_False));
    py_job_release(&self.job);
    return result;
}

/* ---- behind the Python fallback ---- */

PyObject *py_scan(PyObject *module, PyObject *args) {
    PyObject *a, *destination, *result = NULL;
    int op, initial, exact, inferred = -1;
    Py_ssize_t axis;
    if (!PyArg_ParseTuple(args, "OinppO", &a, &op, &axis, &initial, &exact, &destination))
        return NULL;
    if (op < 0 || op >= GR_SCAN_OPS) {
        PyErr_Format(PyExc_ValueError, "op: expected 0 to %d, got %d", GR_SCAN_OPS - 1, op);
        return NULL;
    }
    scan_call self;
    self.scan = (gr_scan){.op = (gr_scan_op)op, .initial = initial != 0};
    self.leaves_out_nan = false;
    self.exact = exact != 0;
    py_job_init(&self.job, PyModule_GetState(module));
    const py_operand *source = &self.job.inputs[0];
    if (take_elements(&self, a, PY_NATIVE) > 0) {
        self.axis = (size_t)axis;
        if (axis < 0 || self.axis >= source->ndim || py_operand_count(source, NULL) == 0)
            PyErr_SetString(PyExc_ValueError, "a: expected elements along an axis");
        else if (self.exact && (op != GR_SCAN_SUM || !gr_exact_scan_takes(source->dtype)))
            PyErr_SetString(PyExc_TypeError, "a: exact cumulative sums are of floating-point numbers");
        else
            inferred = infer_shape(&self);
    }
    if (inferred == 0)
        PyErr_SetString(PyExc_ValueError,
                        "a: a device array with such strides cannot be scanned; copy it to C order first");
    if (inferred > 0 && py_job_parse_destination(&self.job, destination) == 0) {
        if (overlaps(&self))
            PyErr_SetString(PyExc_ValueError, "out: overlaps with a, but is not a itself");
        else
            result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}
