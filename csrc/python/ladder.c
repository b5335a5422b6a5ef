/* Runs and times single rungs of the reduction ladder (`variant="v7"`), and lists the rungs with the
   operators, dtypes and block sizes that they support. */
#include "reduce/ladder/ladder.h"

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/tables.h"

typedef struct rung_call {
    py_job job; /* input 0: the elements */
    gr_request request;
} rung_call;

static int find_op(const char *name, const gr_variant *variant, gr_op *out) {
    if (gr_op_find(name, out) && gr_ops[*out].in_set[variant->ops])
        return 0;
    return PY_RAISE(PyExc_ValueError, "op: %s has no operator '%s'", variant->rung.name, name);
}

/* Parses (op, variant, block_size, grid_size, device_kind, device_index). */
static int parse_request(PyObject *const *args, rung_call *self) {
    gr_error error = {.status = GR_OK};
    const char *op = py_text_argument(args[0], "op");
    const char *variant = op == NULL ? NULL : py_text_argument(args[1], "variant");
    if (variant == NULL)
        return -1;
    self->request.variant = gr_rung_find(&gr_reduction_ladder, variant, &error);
    if (self->request.variant == NULL)
        return py_fail(self->job.state, &error);
    return find_op(op, self->request.variant, &self->request.op) < 0 ||
                   py_size_argument(args[2], "block_size", &self->request.block) < 0 ||
                   py_size_argument(args[3], "grid_size", &self->request.grid) < 0
               ? -1
               : py_parse_device(self->job.state, args[4], args[5], &self->job.device);
}

/* Parses (a, op, variant, block_size, grid_size, device_kind, device_index). With `views`, `a` may be a
   tuple: a view of contiguous device memory. */
static int parse_call(PyObject *const *args, bool views, rung_call *self) {
    gr_request *request = &self->request;
    py_operand *source = &self->job.inputs[0];
    const bool is_view = views && PyTuple_Check(args[0]);
    if (parse_request(args + 1, self) < 0 ||
        py_operand_from_object(self->job.state, args[0], is_view ? PY_NATIVE : PY_COPY,
                               is_view ? GR_SCOPE_GENERAL : GR_SCOPE_LADDER, "a", source) < 0)
        return -1;
    if (source->owner != NULL && !py_operand_is_contiguous(source, gr_op_is_positional(request->op)) &&
        py_operand_make_contiguous(source) < 0)
        return -1;
    request->dtype = source->dtype;
    request->n = py_operand_count(source, NULL);
    self->job.dtype = gr_op_result(request->op, request->dtype);
    self->job.ndim = 0;
    if (gr_variant_covers(request->variant, request->op, request->dtype))
        return 0;
    return PY_RAISE(PyExc_TypeError, "a: %s does not take dtype %s", gr_ops[request->op].name,
                    gr_dtypes[request->dtype].numpy_name);
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const rung_call *self = arg;
    return gr_ladder_run(device, &self->request, &binding->inputs[0], interrupt, binding->host_out, error);
}

PyObject *py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 7)
        return PyErr_Format(PyExc_TypeError, "expected 7 arguments, got %zd", count);
    rung_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    PyObject *result = parse_call(args, true, &self) < 0 ? NULL : py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

static gr_status time_passes(void *arg, const gr_timing *timing, double *first_pass, double *all_passes,
                             gr_error *error) {
    const rung_call *self = arg;
    const gr_source *source = &self->job.inputs[0].source;
    return gr_ladder_time(self->job.device, &self->request, (const char *)source->host + source->origin,
                          timing, first_pass, all_passes, error);
}

PyObject *py_time(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 8)
        return PyErr_Format(PyExc_TypeError, "expected 8 arguments, got %zd", count);
    rung_call self;
    py_job_init(&self.job, PyModule_GetState(module));
    PyObject *times = parse_call(args, false, &self) < 0
                          ? NULL
                          : py_time_passes(self.job.state, args[7], time_passes, &self);
    py_job_release(&self.job);
    return times;
}

/* Returns the pairs of operator and dtype that a variant supports. */
static PyObject *coverage(const gr_variant *variant) {
    PyObject *list = PyList_New(0);
    for (int cell = 0; list != NULL && cell < GR_OP_COUNT * GR_DTYPE_COUNT; ++cell) {
        const gr_op op = (gr_op)(cell / GR_DTYPE_COUNT);
        const gr_dtype dtype = (gr_dtype)(cell % GR_DTYPE_COUNT);
        if (gr_variant_covers(variant, op, dtype))
            py_append(&list, Py_BuildValue("(ss)", gr_ops[op].name, gr_dtypes[dtype].numpy_name));
    }
    return py_as_tuple(list);
}

static PyObject *block_sizes(const gr_variant *variant) {
    PyObject *list = PyList_New(0);
    for (long size = GR_MIN_BLOCK; list != NULL && size <= GR_MAX_BLOCK; size += 32)
        if (gr_variant_takes_block(variant, size))
            py_append(&list, PyLong_FromLong(size));
    return py_as_tuple(list);
}

void py_append_ladder(PyObject **list) {
    for (size_t i = 0; *list != NULL && i < gr_reduction_ladder.count; ++i) {
        const gr_variant *variant = &gr_variants[i];
        const py_rung_traits traits = {.default_block = gr_variant_default_block(variant),
                                       .float_atomics = variant->output == GR_OUTPUT_ATOMIC,
                                       .takes_grid = gr_variant_takes_grid(variant)};
        py_append(list, py_rung_record(&variant->rung, coverage(variant), block_sizes(variant), &traits));
    }
}

/* Returns (name, grid, span, cluster, shared, output) from rungs.def for each variant that launches
   kernels. */
PyObject *py_ladder_launches(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    static const char *const grids[] = {"per_block", "fixed", "occupancy", "half", "none"};
    static const char *const shared[] = {"thread", "ring", "static"};
    static const char *const outputs[] = {"partials", "last", "atomic"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_reduction_ladder.count; ++i) {
        const gr_variant *each = &gr_variants[i];
        if (each->rung.entry != GR_ENTRY_LIBRARY)
            py_append(&list,
                      Py_BuildValue("(ssIIss)", each->rung.name, grids[each->grid], (unsigned)each->span,
                                    (unsigned)each->cluster, shared[each->shared], outputs[each->output]));
    }
    return py_as_tuple(list);
}
