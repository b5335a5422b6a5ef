/* Quantiles of groups: the labels of sorted elements, and the elements at the positions of quantiles. */
#include "groups/quantiles/quantiles.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

/* Whether both inputs are contiguous, and have one dimension. */
static bool are_vectors(const py_job *job) {
    for (size_t i = 0; i < 2; ++i)
        if (job->inputs[i].ndim != 1 || !py_operand_is_contiguous(&job->inputs[i], true))
            return false;
    return true;
}

/* Makes the result a vector. -1 with an exception set. */
static int set_result(py_job *job, gr_dtype dtype, uint64_t count) {
    job->as_array = true;
    job->dtype = dtype;
    job->ndim = 1;
    job->extent[0] = count;
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "too many results for any memory");
}

typedef struct gather_call {
    py_job job;
    gr_gather_labels labels;
} gather_call;

static gr_status work_gather(void *arg, gr_device *device, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error) {
    return gr_gather_labels_run(device, &((const gather_call *)arg)->labels, binding, interrupt, error);
}

static int set_gather(gather_call *self) {
    const py_operand *labels = &self->job.inputs[0], *indices = &self->job.inputs[1];
    if (!are_vectors(&self->job) || (labels->dtype != GR_DTYPE_i32 && labels->dtype != GR_DTYPE_i64) ||
        indices->dtype != GR_DTYPE_i64 || labels->extent[0] != indices->extent[0])
        return PY_RAISE(PyExc_ValueError, "indices: expected contiguous int64, as many as labels");
    self->labels = (gr_gather_labels){.dtype = labels->dtype, .count = labels->extent[0]};
    return set_result(&self->job, labels->dtype, labels->extent[0]);
}

PyObject *py_gather_labels(PyObject *module, PyObject *args) {
    static const char *const names[] = {"labels", "indices"};
    PyObject *objects[2], *destination, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &destination))
        return NULL;
    gather_call self = {.labels = {.count = 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (py_job_parse_inputs(&self.job, objects, names, PY_NATIVE) > 0 && set_gather(&self) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "labels") == 0)
        result = py_job_run(&self.job, work_gather, &self);
    py_job_release(&self.job);
    return result;
}

typedef struct quantile_call {
    py_job job;
    gr_group_quantile quantile;
} quantile_call;

static gr_status work_quantile(void *arg, gr_device *device, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error) {
    return gr_group_quantile_run(device, &((const quantile_call *)arg)->quantile, binding, interrupt, error);
}

static int set_quantile(quantile_call *self, Py_ssize_t groups, double q) {
    const py_operand *sorted = &self->job.inputs[0], *segments = &self->job.inputs[1];
    const bool floats = gr_dtypes[sorted->dtype].kind != GR_KIND_BITS && !gr_dtype_is_complex(sorted->dtype);
    if (!are_vectors(&self->job) || !floats || segments->dtype != GR_DTYPE_i64 || groups < 0 ||
        segments->extent[0] != (uint64_t)groups + 1 + sorted->extent[0])
        return PY_RAISE(PyExc_ValueError, "segments: expected offsets of groups, and positions of elements");
    if (!(q >= 0 && q <= 1))
        return PY_RAISE(PyExc_ValueError, "q: expected 0 to 1");
    self->quantile = (gr_group_quantile){.dtype = sorted->dtype, .groups = (uint64_t)groups, .q = q};
    return set_result(&self->job, sorted->dtype, (uint64_t)groups);
}

PyObject *py_group_quantile(PyObject *module, PyObject *args) {
    static const char *const names[] = {"sorted", "segments"};
    PyObject *objects[2], *destination, *result = NULL;
    Py_ssize_t groups;
    double q;
    if (!PyArg_ParseTuple(args, "OOndO", &objects[0], &objects[1], &groups, &q, &destination))
        return NULL;
    quantile_call self = {.quantile = {.groups = 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (py_job_parse_inputs(&self.job, objects, names, PY_NATIVE) > 0 &&
        set_quantile(&self, groups, q) == 0 && py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "sorted") == 0)
        result = py_job_run(&self.job, work_quantile, &self);
    py_job_release(&self.job);
    return result;
}
