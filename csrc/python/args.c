#include "python/args.h"

#include <string.h>

#include "python/errors.h"
#include "python/intake/operand.h"

enum { REQUIRED = 7 };

/* The text of a str. One that holds a NUL is no name of ours and must not pass for what stands before the
 * NUL. */
static const char *text_argument(PyObject *value, const char *name) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected str, got %s", name, Py_TYPE(value)->tp_name);
        return NULL;
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    return text == NULL || strlen(text) == (size_t)length ? text : "";
}

/* None is 0; anything else is an integer (operator.index, so NumPy integers too, but no bool). An integer
   past 64 bits is clamped: every check of the value refuses it anyway, naming what is valid. */
static int size_argument(PyObject *value, const char *name, int64_t *out) {
    *out = 0;
    if (value == Py_None)
        return 0;
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected int or None, got %s", name, Py_TYPE(value)->tp_name);
        return -1;
    }
    const Py_ssize_t number = PyNumber_AsSsize_t(value, NULL);
    if (number == -1 && PyErr_Occurred())
        return -1;
    *out = number != 0 ? (int64_t)number : -1; /* 0 stands for None inside; a given 0 is out of range */
    return 0;
}

static int find_op(const char *name, const gr_variant *variant, gr_op *out) {
    if (gr_op_find(name, out) && gr_ops[*out].in_set[variant->ops])
        return 0;
    PyErr_Format(PyExc_ValueError, "op: %s has no operator '%s'", variant->name, name);
    return -1;
}

int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out) {
    gr_error error = {GR_OK, ""};
    gr_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = gr_registry_device(&state->registry, kind, index, out, &error);
    Py_END_ALLOW_THREADS;
    if (status == GR_OK)
        return 0;
    py_raise(state, &error);
    return -1;
}

int py_take_device(py_state *state, PyObject *kind_object, PyObject *index_object, gr_device **out) {
    const long kind = PyLong_AsLong(kind_object);
    const long index = PyErr_Occurred() ? 0 : PyLong_AsLong(index_object);
    return PyErr_Occurred() ? -1 : py_open_device(state, (gr_device_kind)kind, index, out);
}

bool py_signal_pending(void *arg) {
    PyThreadState **thread = arg;
    PyEval_RestoreThread(*thread);
    const bool pending = PyErr_CheckSignals() < 0;
    *thread = PyEval_SaveThread();
    return pending;
}

static int parse_request(py_state *state, PyObject *const *args, py_args *out) {
    gr_error error = {GR_OK, ""};
    const char *op = text_argument(args[1], "op");
    const char *variant = op == NULL ? NULL : text_argument(args[2], "variant");
    if (variant == NULL)
        return -1;
    if (gr_variant_find(variant, &out->request.variant, &error) != GR_OK) {
        py_raise(state, &error);
        return -1;
    }
    if (find_op(op, out->request.variant, &out->request.op) < 0)
        return -1;
    if (size_argument(args[3], "block_size", &out->request.block) < 0 ||
        size_argument(args[4], "grid_size", &out->request.grid) < 0)
        return -1;
    return py_take_device(state, args[5], args[6], &out->device);
}

/* The elements of a NumPy array, or of a view of device memory, which the caller knows to be contiguous. */
static int take_elements(const py_state *state, PyObject *object, bool views, py_args *out) {
    if (!views || !PyTuple_Check(object)) {
        const bool in_order = gr_ops[out->request.op].result == GR_RESULT_PLACE;
        if (py_array_intake(state, object, in_order, &out->array) < 0)
            return -1;
        out->source = (gr_source){
            .host = out->array.data,
            .bytes = (size_t)out->array.n * gr_dtypes[out->array.dtype].item_bytes,
        };
        return 0;
    }
    py_operand view = {.owner = NULL};
    if (py_operand_view(object, "a", &view) < 0)
        return -1;
    out->array.dtype = view.dtype;
    out->array.n = 1;
    for (size_t d = 0; d < view.ndim; ++d)
        out->array.n *= view.extent[d];
    out->source = view.source;
    return 0;
}

int py_parse_args(py_state *state, PyObject *const *args, Py_ssize_t count, py_args *out, bool views,
                  size_t *extra, Py_ssize_t extra_count) {
    memset(out, 0, sizeof *out);
    if (count != REQUIRED + extra_count) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", (Py_ssize_t)REQUIRED + extra_count,
                     count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < extra_count; ++i) {
        extra[i] = PyLong_AsSize_t(args[REQUIRED + i]);
        if (extra[i] == (size_t)-1 && PyErr_Occurred())
            return -1;
    }
    if (parse_request(state, args, out) < 0)
        return -1;
    if (take_elements(state, args[0], views, out) < 0)
        return -1;
    if (!gr_variant_covers(out->request.variant, out->request.op, out->array.dtype)) {
        PyErr_Format(PyExc_TypeError, "a: %s does not take dtype %s", gr_ops[out->request.op].name,
                     gr_dtypes[out->array.dtype].numpy_name);
        gr_array_release(&out->array);
        return -1;
    }
    out->request.dtype = out->array.dtype;
    out->request.n = out->array.n;
    return 0;
}

PyObject *py_list_of_doubles(const double *values, size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; ++i) {
        PyObject *value = PyFloat_FromDouble(values[i]);
        if (value == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    return list;
}

static _Thread_local unsigned long long runs;

void py_count_run(void) {
    ++runs;
}

unsigned long long py_runs(void) {
    return runs;
}
