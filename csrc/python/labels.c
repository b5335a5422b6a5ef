/* Order of labels, for reductions by group: counts the elements of each group and lists their row numbers
   group by group, in a stable order. Returns offsets and row numbers in one array, on a device or on the
   host. */
#include "segments/labels/labels.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/observed.h"

typedef struct labelling {
    py_job job;
    gr_labels labels;
} labelling;

/* The labels, and with them the shape of what is written. */
static int take_labels(labelling *self, PyObject *given, Py_ssize_t groups) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    gr_labels *labels = &self->labels;
    if (py_operand_take(job->state, given, PY_TAKE, GR_SCOPE_GENERAL, "labels", source) < 0 ||
        py_operand_settle(source) < 0)
        return -1;
    if (source->ndim != 1 || gr_dtypes[source->dtype].kind != GR_KIND_BITS || source->dtype == GR_DTYPE_b8 ||
        groups < 0)
        return PY_REFUSE(PyExc_ValueError, "labels: expected integers along one axis, and some groups");
    labels->dtype = source->dtype;
    labels->rows = source->extent[0];
    labels->stride = source->stride[0];
    labels->groups = (uint64_t)groups;
    if (!gr_labels_fit(labels))
        return PY_REFUSE(PyExc_ValueError, "labels: more of them, or groups, than 32 bits count");
    job->as_array = true;
    job->dtype = GR_DTYPE_i64;
    job->ndim = 1;
    job->extent[0] = labels->groups + 1 + labels->rows;
    return py_job_stride_result(job) ? 0 : PY_REFUSE(PyExc_ValueError, "labels: too many for any memory");
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_labels_run(device, &((const labelling *)arg)->labels, binding, interrupt, error);
}

PyObject *py_label_order(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *given, *out, *kind, *index, *stream, *result = NULL;
    Py_ssize_t groups;
    if (!PyArg_ParseTuple(args, "OnOOOO", &given, &groups, &out, &kind, &index, &stream))
        return NULL;
    labelling self = {.labels = {.rows = 0}};
    py_job_begin(&self.job, state);
    if (take_labels(&self, given, groups) == 0 && py_take_device(state, kind, index, &self.job.device) == 0 &&
        py_job_take_place(&self.job, out) == 0 && py_stream_argument(state, stream, &self.job.stream) == 0) {
        if (py_job_overlaps(&self.job))
            PyErr_SetString(PyExc_ValueError, "out: overlaps with labels");
        else
            result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}

PyObject *py_profile_label_order(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *given, *all = NULL;
    Py_ssize_t groups;
    if (!PyArg_ParseTuple(args, "On", &given, &groups))
        return NULL;
    labelling self = {.labels = {.rows = 0}};
    py_job_begin(&self.job, state);
    if (take_labels(&self, given, groups) == 0)
        all = py_observed_job(state, &self.job, work, &self);
    py_job_release(&self.job);
    return all;
}
