#include "python/args.h"

#include <string.h>

#include "python/errors.h"
#include "python/methods.h"

const char *py_text_argument(PyObject *value, const char *name) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected str, got %s", name, Py_TYPE(value)->tp_name);
        return NULL;
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    return text == NULL || strlen(text) == (size_t)length ? text : "";
}

int py_size_argument(PyObject *value, const char *name, int64_t *out) {
    *out = 0;
    if (value == Py_None)
        return 0;
    if (PyBool_Check(value) || !PyIndex_Check(value))
        return PY_REFUSE(PyExc_TypeError, "%s: expected int or None, got %s", name, Py_TYPE(value)->tp_name);
    const Py_ssize_t number = PyNumber_AsSsize_t(value, NULL);
    if (number == -1 && PyErr_Occurred())
        return -1;
    *out = number != 0 ? (int64_t)number : -1; /* 0 stands for None inside; a given 0 is out of range */
    return 0;
}

int py_find_op(PyObject *name, gr_op *out) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text != NULL && gr_op_find(text, out))
        return 0;
    return PyErr_Occurred() ? -1 : PY_REFUSE(PyExc_ValueError, "op: unknown operator %R", name);
}

int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out) {
    py_work work;
    py_begin(&work);
    return py_end(state, &work, gr_registry_device(&state->registry, kind, index, out, &work.error));
}

int py_take_device(py_state *state, PyObject *kind_object, PyObject *index_object, gr_device **out) {
    const long kind = PyLong_AsLong(kind_object);
    const long index = PyErr_Occurred() ? 0 : PyLong_AsLong(index_object);
    return PyErr_Occurred() ? -1 : py_open_device(state, (gr_device_kind)kind, index, out);
}

static bool signal_pending(void *arg) {
    py_work *work = arg;
    /* Python ends a daemon thread that asks for the GIL then, and with it the stack on which others work. */
    if (Py_IsFinalizing())
        return true;
    PyEval_RestoreThread(work->thread);
    const bool pending = PyErr_CheckSignals() < 0;
    work->thread = PyEval_SaveThread();
    return pending;
}

void py_begin(py_work *work) {
    work->error.status = GR_OK;
    work->interrupt = (gr_interrupt){.pending = signal_pending, .arg = work};
    work->thread = PyEval_SaveThread();
}

int py_end(const py_state *state, py_work *work, gr_status status) {
    PyEval_RestoreThread(work->thread);
    if (status == GR_OK)
        return 0;
    py_raise(state, &work->error);
    return -1;
}

void py_append(PyObject **list, PyObject *item) {
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

PyObject *py_as_tuple(PyObject *list) {
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

PyObject *py_list_of_doubles(const double *values, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; ++i)
        py_append(&list, PyFloat_FromDouble(values[i]));
    return list;
}

static _Thread_local unsigned long long runs;

void py_count_run(void) {
    ++runs;
}

PyObject *py_runs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    return PyLong_FromUnsignedLongLong(runs);
}
