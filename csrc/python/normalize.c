/* softmax, log_softmax, rms_norm and layer_norm: converts the elements, the optional weight, bias and
   residual, and the axis to a gr_normalize, and runs it. The fast path takes arrays on a device; the entry
   behind the Python fallback takes host arrays as well. */
#include "normalize/normalize.h"

#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"

typedef struct normalize_call {
    py_job job;
    gr_normalize normalize;
} normalize_call;

static bool find_op(const char *name, gr_normalize_op *out) {
    for (int i = 0; i < GR_NORMALIZE_OPS; ++i) {
        if (strcmp(name, gr_normalize_ops[i].name) != 0)
            continue;
        *out = (gr_normalize_op)i;
        return true;
    }
    return false;
}

static bool merge_axes(normalize_call *self, size_t axis) {
    const py_operand *source = &self->job.inputs[0];
    gr_normalize *to = &self->normalize;
    to->dtype = source->dtype;
    to->length = source->extent[axis];
    to->along_stride = source->stride[axis];
    return py_operand_merge(source, 0, axis, &to->lines, &to->line_stride) &&
           py_operand_merge(source, axis + 1, source->ndim, &to->inner, &to->inner_stride);
}

/* False if the results need more bytes than there are addresses. */
static bool describe_results(py_job *job) {
    const py_operand *source = &job->inputs[0];
    job->as_array = true;
    job->dtype = source->dtype;
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    return py_job_set_c_strides(job);
}

/* Converts the elements, and infers the shape of the result. -1 with an exception set. */
static int parse_elements(normalize_call *self, PyObject *a, Py_ssize_t axis) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    if (py_operand_from_object(job->state, a, PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0 ||
        py_operand_ensure_element_strides(source) < 0)
        return -1;
    if (!gr_normalize_takes(source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: expected real floating-point numbers");
    if (axis < 0 || (size_t)axis >= source->ndim || py_operand_count(source, NULL) == 0)
        return PY_RAISE(PyExc_ValueError, "a: expected elements along an axis");
    if (!merge_axes(self, (size_t)axis)) {
        if (source->owner == NULL)
            return PY_RAISE(PyExc_ValueError,
                            "a: a device array with such strides is not supported; copy it to C order first");
        if (py_operand_make_contiguous(source) < 0 || !merge_axes(self, (size_t)axis))
            return -1;
    }
    return describe_results(job) ? 0 : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

/* Converts an optional input of `count` contiguous elements, and sets its number. -1 with an exception set.
 */
static int parse_optional(normalize_call *self, PyObject *value, const char *name, bool is_parameter,
                          uint64_t count, uint32_t *number) {
    py_job *job = &self->job;
    if (value == Py_None)
        return 0;
    if (!is_parameter)
        return PY_RAISE(PyExc_TypeError, "%s: %s does not take it", name,
                        gr_normalize_ops[self->normalize.op].name);
    py_operand *operand = &job->inputs[job->input_count];
    *number = (uint32_t)job->input_count++;
    if (py_operand_from_object(job->state, value, PY_NATIVE, GR_SCOPE_GENERAL, name, operand) < 0)
        return -1;
    if (operand->dtype != job->dtype || py_operand_count(operand, NULL) != count)
        return PY_RAISE(PyExc_ValueError, "%s: expected %llu elements of the dtype of a", name,
                        (unsigned long long)count);
    return py_operand_is_contiguous(operand, true)
               ? 0
               : PY_RAISE(PyExc_ValueError, "%s: expected contiguous elements", name);
}

/* Whether `out` overlaps an input: it may be `a` itself. */
static bool out_overlaps(const normalize_call *self) {
    const py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    const bool in_place =
        job->device_out.source.origin == source->source.origin && py_operand_is_contiguous(source, true);
    for (size_t i = in_place ? 1 : 0; i < job->input_count; ++i)
        if (py_job_out_overlaps_input(job, i))
            return true;
    return false;
}

/* Whether the residual, which is written, overlaps another input. */
static bool residual_overlaps(const normalize_call *self) {
    const uint32_t written = self->normalize.residual;
    for (size_t i = 0; written != 0 && i < self->job.input_count; ++i)
        if (i != written && py_operands_overlap(&self->job.inputs[i], &self->job.inputs[written]))
            return true;
    return false;
}

/* Raises if arrays overlap that a kernel writes and reads. -1 with an exception set. */
static int check_overlaps(const normalize_call *self) {
    if (out_overlaps(self))
        return PY_RAISE(PyExc_ValueError, "out: overlaps with an input, but is not a itself");
    return residual_overlaps(self) ? PY_RAISE(PyExc_ValueError, "residual: overlaps with another input") : 0;
}

/* Sets whether all arrays begin at multiples of 16 bytes. */
static void find_alignment(normalize_call *self) {
    self->normalize.aligned = py_job_out_is_aligned(&self->job);
    for (size_t i = 0; i < self->job.input_count; ++i)
        if (self->job.inputs[i].source.origin % 16 != 0)
            self->normalize.aligned = false;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_normalize_run(device, &((const normalize_call *)arg)->normalize, binding, interrupt, error);
}

/* ---- the fast path ---- */

/* Parses `eps=`. False: fall back to Python. */
static bool parse_eps(PyObject *value, gr_normalize *out) {
    if (value == NULL)
        return true; /* the default */
    if (!PyFloat_CheckExact(value))
        return false;
    out->eps = PyFloat_AS_DOUBLE(value);
    return out->eps >= 0;
}

/* Parses an optional input: a vector like a row or, of the shape of the elements, the residual. 1: parsed, or
   none; 0: fall back to Python; -1 with an exception set. */
static int take_optional(normalize_call *self, PyObject *value, const char *name, bool like_row,
                         uint32_t *number) {
    py_job *job = &self->job;
    py_operand *operand = &job->inputs[job->input_count];
    if (py_is_none(value))
        return 1;
    *number = (uint32_t)job->input_count++;
    const int parsed =
        py_operand_from_object(job->state, value, job->conversion, GR_SCOPE_GENERAL, name, operand);
    if (parsed <= 0)
        return parsed;
    const bool fits = like_row ? operand->ndim == 1 && operand->extent[0] == self->normalize.length
                               : py_operand_same_shape(operand, &job->inputs[0]) && !operand->read_only;
    return fits && operand->on_device && operand->dtype == job->dtype &&
           py_operand_is_contiguous(operand, true);
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(normalize_call *self, const py_arguments arguments) {
    py_job *job = &self->job;
    gr_normalize *to = &self->normalize;
    const py_operand *source = &job->inputs[0];
    PyObject *const axis_argument = arguments[PY_NAME_axis];
    int parsed = py_operand_from_object(job->state, arguments[PY_NAME_a], job->conversion, GR_SCOPE_GENERAL,
                                        "a", &job->inputs[0]);
    if (parsed <= 0)
        return parsed;
    size_t axis = source->ndim - 1;
    if (!source->on_device || source->ndim == 0 || !gr_normalize_takes(source->dtype) ||
        py_operand_count(source, NULL) == 0 ||
        (axis_argument != NULL && !py_parse_axis(axis_argument, source->ndim, &axis)) ||
        !merge_axes(self, axis) || !describe_results(job) || !parse_eps(arguments[PY_NAME_eps], to))
        return 0;
    parsed = take_optional(self, arguments[PY_NAME_weight], "weight", true, &to->weight);
    if (parsed > 0)
        parsed = take_optional(self, arguments[PY_NAME_bias], "bias", true, &to->bias);
    if (parsed > 0)
        parsed = take_optional(self, arguments[PY_NAME_residual], "residual", false, &to->residual);
    if (parsed > 0)
        parsed = py_job_parse_options(job, arguments);
    return parsed > 0 && (!job->on_device || out_overlaps(self) || residual_overlaps(self)) ? 0 : parsed;
}

PyObject *py_fast_normalize(const py_signature *signature, const py_arguments arguments) {
    static const double default_eps[GR_NORMALIZE_OPS] = {
        [GR_NORMALIZE_rms_norm] = 1e-6, [GR_NORMALIZE_layer_norm] = 1e-5};
    const gr_normalize_op op = (gr_normalize_op)signature->parameter;
    normalize_call self = {.normalize = {.op = op, .eps = default_eps[op]}};
    const uint32_t *residual = &self.normalize.residual;
    py_job_init(&self.job, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    const int parsed = parse_arguments(&self, arguments);
    find_alignment(&self);
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (result != NULL && parsed > 0 && *residual != 0 &&
        py_job_mark_written(&self.job, &self.job.inputs[*residual], arguments[PY_NAME_residual]) < 0)
        Py_CLEAR(result);
    py_job_release(&self.job);
    return result;
}

/* ---- behind the Python fallback ---- */

PyObject *py_normalize(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"a", "op", "axis", "weight", "bias", "residual", "eps", "destination", NULL};
    PyObject *a, *weight, *bias, *residual, *destination, *result = NULL;
    const char *op;
    Py_ssize_t axis;
    normalize_call self = {.normalize = {.op = GR_NORMALIZE_softmax}};
    gr_normalize *to = &self.normalize;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OsnOOOdO", names, &a, &op, &axis, &weight, &bias,
                                     &residual, &to->eps, &destination))
        return NULL;
    if (!find_op(op, &to->op))
        return PyErr_Format(PyExc_ValueError, "op: unknown function '%s'", op);
    const gr_normalize_row *row = &gr_normalize_ops[to->op];
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a, axis) == 0 &&
        parse_optional(&self, weight, "weight", row->weight, to->length, &to->weight) == 0 &&
        parse_optional(&self, bias, "bias", row->bias, to->length, &to->bias) == 0 &&
        parse_optional(&self, residual, "residual", row->residual, to->lines * to->length * to->inner,
                       &to->residual) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0 && check_overlaps(&self) == 0) {
        find_alignment(&self);
        result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}
