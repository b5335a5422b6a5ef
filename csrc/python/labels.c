/* Order of labels, for reductions by group: counts the elements of each group and lists their row numbers
   group by group, in a stable order. Returns offsets and row numbers in one array, on a device or on the
   host. And labels of elements under a mask. */
#include "segments/labels/labels.h"
#include "segments/labels/masked.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

typedef struct labels_call {
    py_job job;
    gr_labels labels;
} labels_call;

/* Parses the labels and infers the shape of the result: offsets of the groups, then row numbers. */
static int parse_labels(labels_call *self, PyObject *object, py_conversion conversion, Py_ssize_t groups) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    gr_labels *labels = &self->labels;
    const int taken =
        py_operand_from_object(job->state, object, conversion, GR_SCOPE_GENERAL, "labels", source);
    if (taken == 0)
        return PY_RAISE(PyExc_TypeError, "labels: expected an array that is read without a copy");
    if (taken < 0 || py_operand_ensure_element_strides(source) < 0)
        return -1;
    if (source->ndim != 1 || gr_dtypes[source->dtype].kind != GR_KIND_BITS || source->dtype == GR_DTYPE_b8 ||
        groups < 0)
        return PY_RAISE(PyExc_ValueError, "labels: expected integers along one axis, and some groups");
    labels->dtype = source->dtype;
    labels->rows = source->extent[0];
    labels->stride = source->stride[0];
    labels->groups = (uint64_t)groups;
    if (!gr_labels_fit(labels))
        return PY_RAISE(PyExc_ValueError, "labels: more of them, or groups, than 32 bits count");
    job->as_array = true;
    job->dtype = GR_DTYPE_i64;
    job->ndim = 1;
    job->extent[0] = labels->groups + 1 + labels->rows;
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "labels: too many for any memory");
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_labels_run(device, &((const labels_call *)arg)->labels, binding, interrupt, error);
}

PyObject *py_labels_to_segments(const py_job *call, PyObject *object, Py_ssize_t groups) {
    labels_call self = {.labels = {.rows = 0}};
    py_job *job = &self.job;
    PyObject *result = NULL;
    py_job_init(job, call->state);
    if (call->conversion == PY_DEFERRED)
        py_job_accept_jax(job);
    if (parse_labels(&self, object, job->conversion, groups) == 0) { /* as of the public function */
        job->device = call->device;
        job->stream = call->stream;
        job->stream_owner = call->stream_owner;
        job->stream_persists = call->stream_persists;
        job->on_device = true;
        result = py_job_run(job, work, &self);
    }
    py_job_release(job);
    return result;
}

PyObject *py_label_order(PyObject *module, PyObject *args) {
    PyObject *object, *destination, *result = NULL;
    Py_ssize_t groups;
    if (!PyArg_ParseTuple(args, "OnO", &object, &groups, &destination))
        return NULL;
    labels_call self = {.labels = {.rows = 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_labels(&self, object, PY_NATIVE, groups) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "labels") == 0)
        result = py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

/* ---- labels under a mask ---- */

typedef struct masked_call {
    py_job job;
    gr_masked_labels labels;
} masked_call;

static gr_status work_masked(void *arg, gr_device *device, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error) {
    return gr_masked_labels_run(device, &((const masked_call *)arg)->labels, binding, interrupt, error);
}

/* Checks the inputs and infers the result: a label per element. -1 with an exception set. */
static int set_masked(masked_call *self, Py_ssize_t groups) {
    py_job *job = &self->job;
    const py_operand *source = &job->inputs[0], *mask = &job->inputs[1];
    gr_masked_labels *labels = &self->labels;
    const bool integers = gr_dtypes[source->dtype].kind == GR_KIND_BITS && source->dtype != GR_DTYPE_b8;
    if (labels->has_mask &&
        (mask->ndim != 3 || mask->dtype != GR_DTYPE_b8 || mask->extent[0] != labels->lines ||
         mask->extent[1] != labels->length || mask->extent[2] != labels->inner))
        return PY_RAISE(PyExc_ValueError, "mask: expected bools of the shape of the elements");
    if (source->ndim != 1 || !integers || groups < 0 || (labels->by_offsets && source->dtype != GR_DTYPE_i64))
        return PY_RAISE(PyExc_ValueError, "labels: expected integers along one axis, and some groups");
    labels->groups = (uint64_t)groups;
    if (source->extent[0] != (labels->by_offsets ? labels->groups + 1 : labels->length) ||
        (labels->by_offsets && !py_operand_is_contiguous(source, true)))
        return PY_RAISE(PyExc_ValueError, "labels: expected one for each row, or one more than segments");
    labels->label_dtype = source->dtype;
    labels->label_stride = source->stride[0];
    if (labels->has_mask) {
        labels->line_stride = mask->stride[0];
        labels->row_stride = mask->stride[1];
        labels->column_stride = mask->stride[2];
    }
    job->as_array = true;
    job->dtype = gr_masked_labels_dtype(labels);
    job->ndim = 1;
    job->extent[0] = labels->lines * labels->length * labels->repeats * labels->inner;
    return py_job_set_c_strides(job) ? 0
                                     : PY_RAISE(PyExc_ValueError, "mask: too many elements for any memory");
}

static int take_input(py_job *job, size_t i, PyObject *object, const char *name) {
    py_operand *operand = &job->inputs[i];
    job->input_count = i + 1;
    return py_operand_from_object(job->state, object, PY_NATIVE, GR_SCOPE_GENERAL, name, operand) < 0
               ? -1
               : py_operand_ensure_element_strides(operand);
}

PyObject *py_masked_labels(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"labels", "by_offsets", "num_groups",  "shape",
                            "mask",   "repeats",    "destination", NULL};
    PyObject *source, *mask, *destination, *result = NULL;
    unsigned long long lines, length, inner;
    Py_ssize_t groups;
    int by_offsets;
    unsigned repeats;
    if (!PyArg_ParseTupleAndKeywords(args, named, "Opn(KKK)OIO", names, &source, &by_offsets, &groups, &lines,
                                     &length, &inner, &mask, &repeats, &destination))
        return NULL;
    masked_call self = {.labels = {.by_offsets = by_offsets != 0,
                                   .has_mask = mask != Py_None,
                                   .lines = lines,
                                   .length = length,
                                   .inner = inner,
                                   .repeats = repeats}};
    py_job *job = &self.job;
    py_job_init(job, PyModule_GetState(module));
    if (take_input(job, 0, source, "labels") == 0 &&
        (mask == Py_None || take_input(job, 1, mask, "mask") == 0) && set_masked(&self, groups) == 0 &&
        py_job_parse_destination(job, destination) == 0 && py_job_check_overlap(job, "labels") == 0)
        result = py_job_run(job, work_masked, &self);
    py_job_release(job);
    return result;
}
