#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/intake/operand.h"
#include "python/methods.h"
#include "reduce/reduce.h"

/* A tensor is reduced where it lies, and by nobody who asks for another device. */
static int take_device(py_state *state, PyObject *const *args, Py_ssize_t count, const py_operand *source,
                       gr_device **out) {
    const dl_versioned *managed = source->tensor.managed;
    if (managed == NULL)
        return count < 4 ? 0 : py_take_device(state, args[2], args[3], out) < 0 ? -1 : 1;
    const long number = managed->tensor.device.number;
    if (count == 4 && (PyLong_AsLong(args[2]) != GR_DEVICE_CUDA || PyLong_AsLong(args[3]) != number))
        return PyErr_Occurred() ? -1 : 0;
    return py_open_device(state, GR_DEVICE_CUDA, number, out) < 0 ? -1 : 1;
}

static gr_status run(gr_device *device, const py_operand *source, const gr_reduction *reduction,
                     gr_scalar *result, py_work *work) {
    const gr_binding binding = {
        .inputs = {source->source},
        .host_out = result,
        .out_bytes = gr_reduction_result_bytes(reduction),
        .stream = source->tensor.managed != NULL ? source->tensor.stream : 0,
    };
    return gr_reduction_run(device, reduction, &binding, NULL, &work->interrupt, &work->error);
}

/* Fills in a reduction to one result; 0 where general has to see to it. */
static int plan(const py_operand *source, gr_op op, gr_reduction *out) {
    const uint64_t count = py_operand_count(source, NULL);
    if (count == 0 || !gr_op_takes(op, source->dtype) || !py_operand_packed(source, gr_op_in_order(op)))
        return 0;
    out->op = op;
    out->dtype = source->dtype;
    out->layout.item_bytes = gr_dtypes[source->dtype].item_bytes;
    out->plan.single_pass = true;
    out->plan.results = 1;
    out->plan.reduced_count = count;
    return 1;
}

/* Tells NumPy's floating-point state of a result that is infinite or NaN, whose reference it takes. */
static PyObject *tell(PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *floating = result == NULL ? NULL : PyImport_ImportModule("gpureduce._reduce.floating");
    PyObject *told = floating == NULL ? NULL
                     : count < 4 ? PyObject_CallMethod(floating, "look_at", "OOO", args[1], result, args[0])
                                 : PyObject_CallMethod(floating, "look_at", "OOOOO", args[1], result, args[0],
                                                       args[2], args[3]);
    Py_XDECREF(floating);
    if (told == NULL)
        Py_CLEAR(result);
    Py_XDECREF(told);
    return result;
}

PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 2 && count != 4)
        return PyErr_Format(PyExc_TypeError, "expected 2 or 4 arguments, got %zd", count);
    gr_op op;
    if (py_find_op(args[1], &op) < 0)
        return NULL;
    if (gr_ops[op].takes == GR_TAKES_PAIR)
        return PyErr_Format(PyExc_ValueError, "op: unknown operator %R", args[1]);
    py_operand source;
    gr_reduction reduction = {.initial = NULL};
    gr_device *device = NULL;
    PyObject *answer = NULL;
    int taken = py_operand_take(state, args[0], PY_LOOK, GR_SCOPE_GENERAL, "a", &source);
    if (taken > 0)
        taken = plan(&source, op, &reduction);
    if (taken > 0)
        taken = take_device(state, args, count, &source, &device);
    if (taken <= 0) {
        answer = taken < 0 ? NULL : Py_NewRef(Py_NotImplemented);
        goto cleanup;
    }
    gr_scalar result = {.bytes = {0}};
    py_work work;
    py_begin(&work);
    if (py_end(state, &work, run(device, &source, &reduction, &result, &work)) < 0)
        goto cleanup;
    py_count_run();
    const gr_dtype dtype = gr_op_result(op, reduction.dtype);
    answer = py_result(state, dtype, result);
    if (!gr_all_finite(dtype, &result, 1))
        answer = tell(answer, args, count);
cleanup:
    py_operand_release(&source);
    return answer;
}
