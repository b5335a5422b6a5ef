/* The rungs of the ladder of exact sums (correctly rounded sums of float32): converts the arguments, runs one
   rung, and lists the rungs. */
#include "exact/exact.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/tables.h"

typedef struct rung_call {
    py_job job; /* input 0: the elements */
    const gr_exact_variant *variant;
} rung_call;

/* Parses (a, variant, device_kind, device_index). */
static int parse_call(PyObject *args, rung_call *self) {
    py_state *state = self->job.state;
    py_operand *source = &self->job.inputs[0];
    PyObject *a, *kind, *index;
    const char *name;
    gr_error error;
    if (!PyArg_ParseTuple(args, "OsOO", &a, &name, &kind, &index))
        return -1;
    self->variant = gr_rung_find(&gr_exact_ladder, name, &error);
    if (self->variant == NULL)
        return py_fail(state, &error);
    if (py_operand_from_object(state, a, PyTuple_Check(a) ? PY_NATIVE : PY_COPY, GR_SCOPE_GENERAL, "a",
                               source) < 0)
        return -1;
    if (!gr_exact_covers(self->variant, GR_OP_sum, source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: %s takes float32, not %s", name,
                        gr_dtypes[source->dtype].numpy_name);
    if (!py_operand_is_contiguous(source, true)) {
        if (source->owner == NULL)
            return PY_RAISE(PyExc_ValueError,
                            "a: %s takes device arrays in C order; 'auto' takes any strides", name);
        if (py_operand_make_contiguous(source) < 0)
            return -1;
    }
    self->job.dtype = GR_DTYPE_f32;
    self->job.ndim = 0;
    return py_parse_device(state, kind, index, &self->job.device);
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const rung_call *self = arg;
    return gr_exact_rung_run(device, self->variant, py_operand_count(&self->job.inputs[0], NULL),
                             &binding->inputs[0], interrupt, binding->host_out, error);
}

PyObject *py_exact_rung(PyObject *module, PyObject *args) {
    rung_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    PyObject *result = parse_call(args, &self) < 0 ? NULL : py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

void py_append_exact(PyObject **list) {
    const py_rung_traits traits = {.default_block = GR_EXACT_THREADS};
    for (size_t i = 0; *list != NULL && i < gr_exact_ladder.count; ++i) {
        PyObject *coverage =
            Py_BuildValue("((ss))", gr_ops[GR_OP_sum].name, gr_dtypes[GR_DTYPE_f32].numpy_name);
        py_append(list, py_rung_record(&gr_exact_variants[i].rung, coverage,
                                       py_one_block_size(GR_EXACT_THREADS), &traits));
    }
}
