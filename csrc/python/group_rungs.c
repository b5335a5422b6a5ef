/* The rungs of the ladder of group sums: converts the arguments, runs one rung, and lists the rungs. */
#include "groups/ladder/ladder.h"
#include "groups/ladder/params.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/rung_vector.h"
#include "python/tables.h"
#include "reduce/ops.h"

enum { ELEMENTS, LABELS };

typedef struct rung_call {
    py_job job;
    const gr_group_variant *variant;
    Py_ssize_t groups;
} rung_call;

/* Parses (a, labels, num_groups, variant, destination). */
static int parse_call(PyObject *args, rung_call *self) {
    py_job *job = &self->job;
    PyObject *a, *labels, *destination;
    const char *name;
    gr_error error;
    if (!PyArg_ParseTuple(args, "OOnsO", &a, &labels, &self->groups, &name, &destination))
        return -1;
    self->variant = gr_rung_find(&gr_group_ladder, name, &error);
    if (self->variant == NULL)
        return py_fail(job->state, &error);
    const gr_rung *rung = &self->variant->rung;
    if (py_rung_vector(job->state, rung, a, GR_DTYPE_f32, "a", &job->inputs[ELEMENTS]) < 0)
        return -1;
    job->input_count = 2;
    if (py_rung_vector(job->state, rung, labels, GR_DTYPE_i32, "labels", &job->inputs[LABELS]) < 0)
        return -1;
    if (job->inputs[LABELS].extent[0] != job->inputs[ELEMENTS].extent[0])
        return PY_RAISE(PyExc_ValueError, "labels: expected one for each element");
    if (self->groups < 0)
        return PY_RAISE(PyExc_ValueError, "num_groups: expected 0 or more, got %zd", self->groups);
    job->dtype = GR_DTYPE_f32;
    job->as_array = true;
    job->ndim = 1;
    job->extent[0] = (uint64_t)self->groups;
    if (!py_job_set_c_strides(job))
        return PY_RAISE(PyExc_ValueError, "num_groups: too many results for any memory");
    if (py_job_parse_destination(job, destination) < 0 || py_job_check_overlap(job, "a") < 0)
        return -1;
    return 0;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const rung_call *self = arg;
    return gr_group_rung_run(device, self->variant, self->job.inputs[ELEMENTS].extent[0],
                             (uint64_t)self->groups, binding, interrupt, error);
}

PyObject *py_group_rung(PyObject *module, PyObject *args) {
    rung_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    PyObject *result = parse_call(args, &self) < 0 ? NULL : py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

void py_append_groups(PyObject **list) {
    for (size_t i = 0; *list != NULL && i < gr_group_ladder.count; ++i) {
        const gr_group_variant *variant = &gr_group_variants[i];
        const py_rung_traits traits = {
            .default_block = variant->method == GR_GROUP_SORT ? GR_GROUP_SORT_THREADS : GR_GROUP_RUNG_THREADS,
            .float_atomics = variant->float_atomics};
        PyObject *coverage =
            Py_BuildValue("((ss))", gr_ops[GR_OP_sum].name, gr_dtypes[GR_DTYPE_f32].numpy_name);
        py_append(list, py_rung_record(&variant->rung, coverage,
                                       py_one_block_size((uint32_t)traits.default_block), &traits));
    }
}
