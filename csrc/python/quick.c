#include "python/quick.h"

#include "python/args.h"
#include "python/errors.h"
#include "python/intake/array.h"
#include "python/intake/exchange.h"
#include "python/intake/operand.h"
#include "reduce/general/general.h"

typedef struct quick_call {
    gr_general_request request;
    gr_general_plan plan;
    PyObject *pin;    /* of a NumPy array */
    py_tensor tensor; /* .managed is NULL, or to be released */
} quick_call;

/* Each take_... fills in what is to be reduced; false for whatever needs more than a look: copies, checks,
   messages. */
static bool take_array(const py_state *state, PyArrayObject *array, quick_call *out) {
    gr_general_request *request = &out->request;
    const bool in_order = gr_ops[request->op].result == GR_RESULT_PLACE;
    const bool contiguous = PyArray_IS_C_CONTIGUOUS(array) || (!in_order && PyArray_IS_F_CONTIGUOUS(array));
    if (!contiguous || !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array))
        return false;
    if (py_find_dtype(state, array, GR_SCOPE_GENERAL, "a", &request->dtype) == 0)
        out->pin = py_pin(array);
    if (out->pin == NULL) {
        PyErr_Clear();
        return false;
    }
    out->plan.reduced_count = (uint64_t)PyArray_SIZE(array);
    request->source = (gr_source){.host = PyArray_DATA(array), .bytes = (size_t)PyArray_NBYTES(array)};
    return true;
}

/* A view of device memory that lies side by side. */
static bool take_view(PyObject *view, quick_call *out) {
    py_operand operand;
    if (py_operand_view(view, "a", &operand) < 0) {
        PyErr_Clear();
        return false;
    }
    out->request.dtype = operand.dtype;
    out->request.source = operand.source;
    out->plan.reduced_count = 1;
    for (size_t d = 0; d < operand.ndim; ++d)
        out->plan.reduced_count *= operand.extent[d];
    return true;
}

/* The number of elements of a tensor in C order, 0 for any other. */
static uint64_t packed_count(const dl_tensor *tensor) {
    int64_t count = 1;
    if (tensor->ndim < 0 || tensor->ndim > DL_MAX_NDIM || (tensor->ndim > 0 && tensor->shape == NULL))
        return 0;
    for (int d = tensor->ndim - 1; d >= 0; --d) {
        const int64_t length = tensor->shape[d];
        if (length < 1 || (length > 1 && tensor->strides != NULL && tensor->strides[d] != count) ||
            __builtin_mul_overflow(count, length, &count))
            return 0;
    }
    return (uint64_t)count;
}

/* One that NumPy knows: bfloat16 only once ml_dtypes is imported. */
static bool find_dtype(const py_state *state, dl_dtype dtype, gr_dtype *out) {
    const char *name = dl_dtype_name(dtype);
    if (name != NULL && py_find_dtype_name(name, "a", out) == 0) {
        PyArray_Descr *descr = py_descr(state, *out);
        if (descr != NULL) {
            Py_DECREF(descr);
            return true;
        }
    }
    PyErr_Clear();
    return false;
}

/* A tensor of another library. -1 with an exception set, 0 as false above. */
static int take_tensor(const py_state *state, PyObject *object, quick_call *out) {
    const int taken = py_tensor_take(object, &out->tensor);
    if (taken <= 0)
        return taken;
    const dl_tensor *tensor = &out->tensor.managed->tensor;
    if (!find_dtype(state, tensor->dtype, &out->request.dtype))
        return 0;
    const uint64_t item = gr_dtypes[out->request.dtype].item_bytes;
    uint64_t bytes, first, end;
    out->plan.reduced_count = packed_count(tensor);
    if (__builtin_mul_overflow(out->plan.reduced_count, item, &bytes) || bytes > INT64_MAX ||
        __builtin_add_overflow((uintptr_t)tensor->data, tensor->byte_offset, &first) || first == 0 ||
        first % item != 0 || __builtin_add_overflow(first, bytes, &end))
        return 0;
    out->request.source = (gr_source){.host = NULL, .origin = first};
    return 1;
}

static int take(const py_state *state, PyObject *source, quick_call *out) {
    if (PyTuple_Check(source))
        return take_view(source, out);
    if (PyArray_CheckExact(source))
        return take_array(state, (PyArrayObject *)source, out);
    return take_tensor(state, source, out);
}

/* A tensor is reduced where it lies, and by nobody who asks for another device. */
static int take_device(py_state *state, PyObject *const *args, Py_ssize_t count, const quick_call *call,
                       gr_device **out) {
    const dl_versioned *managed = call->tensor.managed;
    if (managed == NULL)
        return count < 4 ? 0 : py_take_device(state, args[2], args[3], out) < 0 ? -1 : 1;
    const long number = managed->tensor.device.number;
    if (count == 4 && (PyLong_AsLong(args[2]) != GR_DEVICE_CUDA || PyLong_AsLong(args[3]) != number))
        return PyErr_Occurred() ? -1 : 0;
    return py_open_device(state, GR_DEVICE_CUDA, number, out) < 0 ? -1 : 1;
}

static gr_status run(py_state *state, gr_device *device, quick_call *call, gr_error *error) {
    gr_status status = GR_OK;
    PyThreadState *thread = PyEval_SaveThread();
    const gr_interrupt interrupt = {.pending = py_signal_pending, .arg = &thread};
    if (call->tensor.managed != NULL && call->tensor.stream != 0)
        status = device->backend->wait(device->backend, call->tensor.stream, error);
    if (status == GR_OK)
        status = gr_general(&state->registry, device, &call->request, &call->plan, &interrupt, error);
    PyEval_RestoreThread(thread);
    return status;
}

PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 2 && count != 4)
        return PyErr_Format(PyExc_TypeError, "expected 2 or 4 arguments, got %zd", count);
    quick_call call = {.plan = {.single_pass = true, .results = 1}};
    gr_general_request *request = &call.request;
    gr_device *device = NULL;
    gr_scalar result = {.bytes = {0}};
    const char *op = PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    if (op == NULL || !gr_op_find(op, &request->op) || gr_ops[request->op].takes == GR_TAKES_PAIR) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "op: unknown operator %R", args[1]);
        return NULL;
    }
    PyObject *answer = NULL;
    int taken = take(state, args[0], &call);
    if (taken > 0 && (call.plan.reduced_count == 0 || !gr_op_takes(request->op, request->dtype)))
        taken = 0;
    if (taken > 0)
        taken = take_device(state, args, count, &call, &device);
    if (taken <= 0) {
        answer = taken < 0 ? NULL : Py_NewRef(Py_NotImplemented);
        goto cleanup;
    }
    request->layout.item_bytes = gr_dtypes[request->dtype].item_bytes;
    request->host_out = &result;
    gr_error error = {.status = GR_OK};
    if (run(state, device, &call, &error) != GR_OK) {
        py_raise(state, &error);
        goto cleanup;
    }
    py_count_run();
    answer = py_result(state, gr_op_result(request->op, request->dtype), result);
cleanup:
    Py_XDECREF(call.pin);
    if (call.tensor.managed != NULL)
        dl_release(call.tensor.managed);
    return answer;
}
