/* The rungs of the ladder of scans: converts the argument, runs one rung, and lists the rungs. */
#include "scan/ladder/ladder.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/rung_vector.h"
#include "python/tables.h"
#include "reduce/ops.h"

typedef struct rung_call {
    py_job job; /* input 0: the elements */
    const gr_scan_variant *variant;
} rung_call;

/* Parses (a, variant, destination). */
static int parse_call(PyObject *args, rung_call *self) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[0];
    PyObject *a, *destination;
    const char *name;
    gr_error error;
    if (!PyArg_ParseTuple(args, "OsO", &a, &name, &destination))
        return -1;
    self->variant = gr_rung_find(&gr_scan_ladder, name, &error);
    if (self->variant == NULL)
        return py_fail(job->state, &error);
    if (py_rung_vector(job->state, &self->variant->rung, a, GR_DTYPE_f32, "a", source) < 0)
        return -1;
    job->dtype = GR_DTYPE_f32;
    job->as_array = true;
    job->ndim = 1;
    job->extent[0] = source->extent[0];
    if (!py_job_set_c_strides(job))
        return PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
    return py_job_parse_destination(job, destination) < 0 || py_job_check_overlap(job, "a") < 0 ? -1 : 0;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const rung_call *self = arg;
    return gr_scan_rung_run(device, self->variant, self->job.inputs[0].extent[0], binding, interrupt, error);
}

PyObject *py_scan_rung(PyObject *module, PyObject *args) {
    rung_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    PyObject *result = parse_call(args, &self) < 0 ? NULL : py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

void py_append_scans(PyObject **list) {
    for (size_t i = 0; *list != NULL && i < gr_scan_ladder.count; ++i) {
        const gr_scan_variant *variant = &gr_scan_variants[i];
        const uint32_t threads = gr_scan_rung_threads(variant);
        const py_rung_traits traits = {.default_block = threads, .float_atomics = variant->timed};
        PyObject *coverage =
            Py_BuildValue("((ss))", gr_ops[GR_OP_sum].name, gr_dtypes[GR_DTYPE_f32].numpy_name);
        py_append(list, py_rung_record(&variant->rung, coverage, py_one_block_size(threads), &traits));
    }
}
