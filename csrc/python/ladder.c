/* Runs and times single rungs of the reduction ladder (`variant="v7"`), and lists the rungs with the
   operators, dtypes and block sizes that they support. */
#include "python/ladder.h"

#include <stdlib.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/tables.h"

enum { REQUIRED = 7 };

static int find_op(const char *name, const gr_variant *variant, gr_op *out) {
    if (gr_op_find(name, out) && gr_ops[*out].in_set[variant->ops])
        return 0;
    return PY_RAISE(PyExc_ValueError, "op: %s has no operator '%s'", variant->rung.name, name);
}

static int parse_request(py_state *state, PyObject *const *args, py_rung_call *out) {
    gr_error error = {.status = GR_OK};
    const char *op = py_text_argument(args[1], "op");
    const char *variant = op == NULL ? NULL : py_text_argument(args[2], "variant");
    if (variant == NULL)
        return -1;
    if (gr_variant_find(variant, &out->request.variant, &error) != GR_OK) {
        py_raise(state, &error);
        return -1;
    }
    if (find_op(op, out->request.variant, &out->request.op) < 0)
        return -1;
    if (py_size_argument(args[3], "block_size", &out->request.block) < 0 ||
        py_size_argument(args[4], "grid_size", &out->request.grid) < 0)
        return -1;
    return py_parse_device(state, args[5], args[6], &out->device);
}

int py_parse_rung_call(py_state *state, PyObject *const *args, Py_ssize_t count, py_rung_call *out,
                       bool views, size_t *extra, Py_ssize_t extra_count) {
    gr_request *request = &out->request;
    py_operand_init(&out->source);
    if (count != REQUIRED + extra_count)
        return PY_RAISE(PyExc_TypeError, "expected %zd arguments, got %zd",
                        (Py_ssize_t)REQUIRED + extra_count, count);
    for (Py_ssize_t i = 0; i < extra_count; ++i) {
        extra[i] = PyLong_AsSize_t(args[REQUIRED + i]);
        if (extra[i] == (size_t)-1 && PyErr_Occurred())
            return -1;
    }
    const py_conversion conversion = views && PyTuple_Check(args[0]) ? PY_NATIVE : PY_COPY;
    if (parse_request(state, args, out) < 0 ||
        py_operand_from_object(state, args[0], conversion,
                               conversion == PY_NATIVE ? GR_SCOPE_GENERAL : GR_SCOPE_LADDER, "a",
                               &out->source) < 0)
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
    py_rung_call call;
    PyObject *answer = NULL;
    if (py_parse_rung_call(state, args, count, &call, true, NULL, 0) < 0)
        goto cleanup;
    gr_scalar result = {.bytes = {0}};
    py_work work;
    py_begin(&work);
    const gr_status status =
        gr_ladder_run(call.device, &call.request, &call.source.source, &work.interrupt, &result, &work.error);
    if (py_end(state, &work, status) < 0)
        goto cleanup;
    py_count_run();
    answer = py_result(state, gr_op_result(call.request.op, call.request.dtype), result);
cleanup:
    py_operand_release(&call.source);
    return answer;
}

PyObject *py_time(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    enum { BUFFERS, ROUNDS, REPEATS, EXTRA, MAX_REPEATS = 100000 };
    py_state *state = PyModule_GetState(module);
    py_rung_call call;
    size_t extra[EXTRA];
    PyObject *result = NULL;
    double *times = NULL;
    if (py_parse_rung_call(state, args, count, &call, false, extra, EXTRA) < 0)
        goto cleanup;
    for (int i = 0; i < EXTRA; ++i) {
        if (extra[i] < 1 || extra[i] > MAX_REPEATS) {
            PyErr_Format(PyExc_ValueError, "buffers, rounds and repeats must be 1 to %d, got %zu",
                         MAX_REPEATS, extra[i]);
            goto cleanup;
        }
    }
    times = calloc(2 * extra[REPEATS], sizeof *times);
    if (times == NULL) {
        PyErr_NoMemory();
        goto cleanup;
    }
    py_work work;
    const gr_timing timing = {.buffers = extra[BUFFERS], .rounds = extra[ROUNDS], .repeats = extra[REPEATS]};
    const void *data = (const char *)call.source.source.host + call.source.source.origin;
    py_begin(&work);
    const gr_status status =
        gr_ladder_time(call.device, &call.request, data, &timing, times, times + extra[REPEATS], &work.error);
    if (py_end(state, &work, status) < 0)
        goto cleanup;
    PyObject *first = py_list_of_doubles(times, extra[REPEATS]);
    if (first != NULL)
        result = Py_BuildValue("(NN)", first, py_list_of_doubles(times + extra[REPEATS], extra[REPEATS]));
cleanup:
    free(times);
    py_operand_release(&call.source);
    return result;
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
    for (size_t i = 0; list != NULL && i < gr_variant_count; ++i) {
        const gr_variant *variant = &gr_variants[i];
        py_append(&list,
                  py_rung_record(&variant->rung, coverage(variant), block_sizes(variant),
                                 gr_variant_default_block(variant), variant->output == GR_OUTPUT_ATOMIC,
                                 gr_variant_takes_grid(variant), "", false));
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
    for (size_t i = 0; list != NULL && i < gr_variant_count; ++i) {
        const gr_variant *each = &gr_variants[i];
        if (each->rung.entry != GR_ENTRY_LIBRARY)
            py_append(&list,
                      Py_BuildValue("(ssIIss)", each->rung.name, grids[each->grid], (unsigned)each->span,
                                    (unsigned)each->cluster, shared[each->shared], outputs[each->output]));
    }
    return py_as_tuple(list);
}
