#include "py_quick.h"

#include "array_intake.h"
#include "general.h"
#include "py_args.h"
#include "py_errors.h"
#include "py_operand.h"

/* Fills in what is to be reduced; false for whatever needs more than a look: copies, checks, messages. */
static bool take_array(const py_state *state, PyArrayObject *array, gr_general_request *out, uint64_t *count,
                       PyObject **pin) {
    const bool in_order = gr_ops[out->op].result == GR_RESULT_PLACE;
    const bool contiguous = PyArray_IS_C_CONTIGUOUS(array) || (!in_order && PyArray_IS_F_CONTIGUOUS(array));
    if (!contiguous || !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array))
        return false;
    if (py_find_dtype(state, array, GR_SCOPE_GENERAL, "a", &out->dtype) == 0)
        *pin = py_pin(array);
    if (*pin == NULL) {
        PyErr_Clear();
        return false;
    }
    *count = (uint64_t)PyArray_SIZE(array);
    out->source = (gr_source){.host = PyArray_DATA(array), .bytes = (size_t)PyArray_NBYTES(array)};
    return true;
}

/* A view of device memory that lies side by side. */
static bool take_view(PyObject *view, gr_general_request *out, uint64_t *count) {
    py_operand operand;
    if (py_operand_view(view, "a", &operand) < 0) {
        PyErr_Clear();
        return false;
    }
    out->dtype = operand.dtype;
    out->source = operand.source;
    *count = 1;
    for (size_t d = 0; d < operand.ndim; ++d)
        *count *= operand.extent[d];
    return true;
}

PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 4) {
        PyErr_Format(PyExc_TypeError, "expected 4 arguments, got %zd", count);
        return NULL;
    }
    gr_general_request request = {.host_out = NULL};
    gr_general_plan plan = {.single_pass = true, .results = 1};
    gr_device *device = NULL;
    gr_scalar result = {.bytes = {0}};
    PyObject *pin = NULL, *answer = NULL;
    const char *op = PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    if (op == NULL || !gr_op_find(op, &request.op) || gr_ops[request.op].takes == GR_TAKES_PAIR) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "op: unknown operator %R", args[1]);
        return NULL;
    }
    const bool taken = PyTuple_Check(args[0])
                           ? take_view(args[0], &request, &plan.reduced_count)
                           : PyArray_CheckExact(args[0]) && take_array(state, (PyArrayObject *)args[0],
                                                                       &request, &plan.reduced_count, &pin);
    if (!taken || plan.reduced_count == 0 || !gr_op_takes(request.op, request.dtype)) {
        answer = Py_NewRef(Py_NotImplemented);
        goto cleanup;
    }
    if (py_take_device(state, args[2], args[3], &device) < 0)
        goto cleanup;
    request.layout.item_bytes = gr_dtypes[request.dtype].item_bytes;
    request.host_out = &result;

    gr_error error = {.status = GR_OK};
    PyThreadState *thread = PyEval_SaveThread();
    const gr_interrupt interrupt = {.pending = py_signal_pending, .arg = &thread};
    const gr_status status = gr_general(&state->registry, device, &request, &plan, &interrupt, &error);
    PyEval_RestoreThread(thread);
    if (status != GR_OK) {
        py_raise(state, &error);
        goto cleanup;
    }
    py_count_run();
    answer = py_result(state, gr_op_result(request.op, request.dtype), result);
cleanup:
    Py_XDECREF(pin);
    return answer;
}
