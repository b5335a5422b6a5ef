/* Runs and times single rungs of the reduction ladder (`variant="v7"`), and lists the rungs with the
   operators, dtypes and block sizes that they support. */
#include "reduce/ladder/ladder.h"

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/operands/operand.h"
#include "python/tables.h"

typedef struct rung_call {
    py_operand source; /* the elements; the caller releases it, also after an error */
    gr_request request;
    gr_device *device;
} rung_call;

static int find_op(const char *name, const gr_variant *variant, gr_op *out) {
    if (gr_op_find(name, out) && gr_ops[*out].in_set[variant->ops])
        return 0;
    return PY_RAISE(PyExc_ValueError, "op: %s has no operator '%s'", variant->rung.name, name);
}

/* Parses (op, variant, block_size, grid_size, device_kind, device_index). */
static int parse_request(py_state *state, PyObject *const *args, rung_call *out) {
    gr_error error = {.status = GR_OK};
    const char *op = py_text_argument(args[0], "op");
    const char *variant = op == NULL ? NULL : py_text_argument(args[1], "variant");
    if (variant == NULL)
        return -1;
    out->request.variant = gr_rung_find(&gr_reduction_ladder, variant, &error);
    if (out->request.variant == NULL)
        return py_fail(state, &error);
    return find_op(op, out->request.variant, &out->request.op) < 0 ||
                   py_size_argument(args[2], "block_size", &out->request.block) < 0 ||
                   py_size_argument(args[3], "grid_size", &out->request.grid) < 0
               ? -1
               : py_parse_device(state, args[4], args[5], &out->device);
}

/* Parses (a, op, variant, block_size, grid_size, device_kind, device_index). With `views`, `a` may be a
   tuple: a view of contiguous device memory. */
static int parse_call(py_state *state, PyObject *const *args, bool views, rung_call *out) {
    gr_request *request = &out->request;
    const bool is_view = views && PyTuple_Check(args[0]);
    py_operand_init(&out->source);
    if (parse_request(state, args + 1, out) < 0 ||
        py_operand_from_object(state, args[0], is_view ? PY_NATIVE : PY_COPY,
                               is_view ? GR_SCOPE_GENERAL : GR_SCOPE_LADDER, "a", &out->source) < 0)
        return -1;
    if (out->source.owner != NULL &&
        !py_operand_is_contiguous(&out->source, gr_op_is_positional(request->op)) &&
        py_operand_make_contiguous(&out->source) < 0)
        return -1;
    request->dtype = out->source.dtype;
    request->n = py_operand_count(&out->source, NULL);
    if (gr_variant_covers(request->variant, request->op, request->dtype))
        return 0;
    return PY_RAISE(PyExc_TypeError, "a: %s does not take dtype %s", gr_ops[request->op].name,
                    gr_dtypes[request->dtype].numpy_name);
}

PyObject *py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    rung_call call;
    PyObject *answer = NULL;
    if (count != 7)
        return PyErr_Format(PyExc_TypeError, "expected 7 arguments, got %zd", count);
    if (parse_call(state, args, true, &call) == 0) {
        gr_scalar result = {.bytes = {0}};
        py_work work;
        py_begin(&work);
        const gr_status status = gr_ladder_run(call.device, &call.request, &call.source.source,
                                               &work.interrupt, &result, &work.error);
        if (py_end(state, &work, status) == 0) {
            py_count_run();
            answer = py_result(state, gr_op_result(call.request.op, call.request.dtype), result);
        }
    }
    py_operand_release(&call.source);
    return answer;
}

static gr_status time_passes(void *arg, const gr_timing *timing, double *first_pass, double *all_passes,
                             gr_error *error) {
    const rung_call *call = arg;
    const void *data = (const char *)call->source.source.host + call->source.source.origin;
    return gr_ladder_time(call->device, &call->request, data, timing, first_pass, all_passes, error);
}

PyObject *py_time(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    rung_call call;
    if (count != 8)
        return PyErr_Format(PyExc_TypeError, "expected 8 arguments, got %zd", count);
    PyObject *times =
        parse_call(state, args, false, &call) < 0 ? NULL : py_time_passes(state, args[7], time_passes, &call);
    py_operand_release(&call.source);
    return times;
}

/* Returns the pairs of operator and dtype that a variant supports; NULL: the general kernels. */
static PyObject *coverage(const gr_variant *variant) {
    PyObject *list = PyList_New(0);
    for (int cell = 0; list != NULL && cell < GR_OP_COUNT * GR_DTYPE_COUNT; ++cell) {
        const gr_op op = (gr_op)(cell / GR_DTYPE_COUNT);
        const gr_dtype dtype = (gr_dtype)(cell % GR_DTYPE_COUNT);
        if (variant != NULL ? gr_variant_covers(variant, op, dtype)
                            : gr_op_takes(op, dtype) && !gr_op_has(op, GR_SHARES_FILE))
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

PyObject *py_ladder_records(void) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_reduction_ladder.count; ++i) {
        const gr_variant *variant = &gr_variants[i];
        const py_rung_traits traits = {.default_block = gr_variant_default_block(variant),
                                       .float_atomics = variant->output == GR_OUTPUT_ATOMIC,
                                       .takes_grid = gr_variant_takes_grid(variant)};
        py_append(&list, py_rung_record(&variant->rung, coverage(variant), block_sizes(variant), &traits));
    }
    return list;
}

PyObject *py_general_coverage(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    return coverage(NULL);
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
