/* Implements args.h. Names, sizes and streams are validated here once, so that the functions of the module
   only pass C values on. */
#include "python/args.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "device/process.h"
#include "program/profile.h"
#include "python/errors.h"
#include "python/methods.h"

const char *py_utf8(PyObject *value, Py_ssize_t *length) {
    const char *text = PyUnicode_AsUTF8AndSize(value, length);
    if (text == NULL)
        PyErr_Clear();
    return text;
}

const char *py_text_argument(PyObject *value, const char *name) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected str, got %s", name, Py_TYPE(value)->tp_name);
        return NULL;
    }
    Py_ssize_t length = 0;
    const char *text = py_utf8(value, &length);
    return text != NULL && strlen(text) == (size_t)length ? text : "";
}

int py_size_argument(PyObject *value, const char *name, int64_t *out) {
    *out = 0;
    if (value == Py_None)
        return 0;
    const bool is_index = !PyBool_Check(value) && PyIndex_Check(value);
    const Py_ssize_t number = is_index ? PyNumber_AsSsize_t(value, NULL) : 0;
    /* TypeError: an array of several elements has __index__, too. */
    if (!is_index || (number == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)))
        return PY_RAISE(PyExc_TypeError, "%s: expected int or None, got %s", name, Py_TYPE(value)->tp_name);
    if (number == -1 && PyErr_Occurred())
        return -1;
    *out = number == 0 ? GR_EXPLICIT_ZERO : number == PY_SSIZE_T_MIN ? -PY_SSIZE_T_MAX : (int64_t)number;
    return 0;
}

const char *py_text_of(PyObject *value) {
    Py_ssize_t length;
    return value != NULL && PyUnicode_CheckExact(value) ? py_utf8(value, &length) : NULL;
}

int py_precision_argument(PyObject *name, gr_precision *out) {
    const char *text = name == Py_None ? NULL : py_text_argument(name, "precision");
    if (text == NULL)
        return name == Py_None ? 0 : -1;
    return gr_precision_find(text, out)
               ? 0
               : PY_RAISE(PyExc_ValueError, "precision: unknown precision '%.32s'", text);
}

bool py_parse_precision(PyObject *name, gr_dtype dtype, gr_precision *out) {
    if (name == NULL || name == Py_None)
        return true;
    const char *text = py_text_of(name);
    return text != NULL && gr_precision_find(text, out) &&
           (*out == GR_PRECISION_IEEE || dtype == GR_DTYPE_f32);
}

bool py_parse_axis(PyObject *axis, size_t ndim, size_t *out) {
    if (axis == NULL || !PyLong_CheckExact(axis))
        return false;
    int overflow;
    const long index = PyLong_AsLongAndOverflow(axis, &overflow), length = (long)ndim;
    if (overflow != 0 || index < -length || index >= length)
        return false;
    *out = (size_t)(index < 0 ? index + length : index);
    return true;
}

static bool mark_axis(PyObject *axis, size_t ndim, bool *reduced) {
    size_t index;
    if (!py_parse_axis(axis, ndim, &index) || reduced[index])
        return false;
    reduced[index] = true;
    return true;
}

bool py_parse_axes_argument(PyObject *axis, size_t ndim, bool *reduced) {
    if (axis == NULL || axis == Py_None) {
        memset(reduced, true, ndim);
        return true;
    }
    if (!PyTuple_CheckExact(axis))
        return mark_axis(axis, ndim, reduced);
    bool good = true;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(axis); ++i)
        good = mark_axis(PyTuple_GET_ITEM(axis, i), ndim, reduced);
    return good;
}

static int copy_integer_array(PyArrayObject *array, PyObject **out) {
    if (PyArray_NDIM(array) != 1 || !PyTypeNum_ISINTEGER(PyArray_TYPE(array)) ||
        (PyTypeNum_ISUNSIGNED(PyArray_TYPE(array)) && PyArray_ITEMSIZE(array) == sizeof(int64_t)))
        return 0;
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT64);
    *out = descr == NULL ? NULL
                         : PyArray_FromArray(array, descr,
                                             NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST);
    return *out == NULL ? -1 : 1;
}

int py_host_integers(PyObject *object, PyObject **out) {
    *out = NULL;
    if (object == NULL ||
        (!PyArray_CheckExact(object) && !PyList_CheckExact(object) && !PyTuple_CheckExact(object)))
        return 0;
    if (PyArray_CheckExact(object))
        return copy_integer_array((PyArrayObject *)object, out);
    PyObject *items = PySequence_Tuple(object);
    npy_intp count = items == NULL ? 0 : PyTuple_GET_SIZE(items);
    *out = items == NULL ? NULL : PyArray_SimpleNew(1, &count, NPY_INT64);
    bool good = *out != NULL && count > 0;
    for (npy_intp i = 0; good && i < count; ++i) {
        int overflow = 0;
        PyObject *const item = PyTuple_GET_ITEM(items, i);
        const long long value =
            PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : (overflow = 1);
        ((int64_t *)PyArray_DATA((PyArrayObject *)*out))[i] = value;
        good = overflow == 0;
    }
    Py_XDECREF(items);
    if (!good)
        Py_CLEAR(*out);
    return good ? 1 : PyErr_Occurred() ? -1 : 0;
}

bool py_parse_bool(PyObject *value, bool missing, bool *out) {
    *out = value == NULL ? missing : value == Py_True;
    return value == NULL || PyBool_Check(value);
}

int py_find_op(PyObject *name, gr_op *out) {
    Py_ssize_t length;
    const char *text = PyUnicode_Check(name) ? py_utf8(name, &length) : NULL;
    if (text != NULL && gr_op_find(text, out))
        return 0;
    return PY_RAISE(PyExc_ValueError, "op: unknown operator %R", name);
}

bool py_parse_fields(PyObject *fields, const char *name, const char *format, char **names, ...) {
    if (!PyDict_Check(fields))
        return PyErr_Format(PyExc_TypeError, "%s: expected a dict", name) != NULL;
    PyObject *positional = PyTuple_New(0);
    if (positional == NULL)
        return false;
    va_list out;
    va_start(out, names);
    const bool parsed = PyArg_VaParseTupleAndKeywords(positional, fields, format, names, out) != 0;
    va_end(out);
    Py_DECREF(positional);
    return parsed;
}

int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out) {
    const int index_of_slot = gr_device_slot(kind, index);
    _Atomic(gr_device *) *slot = &state->opened[index_of_slot < 0 ? 0 : index_of_slot];
    *out = index_of_slot < 0 ? NULL : atomic_load_explicit(slot, memory_order_acquire);
    if (*out != NULL)
        return 0;
    py_work work;
    py_begin(&work);
    if (py_end(state, &work, gr_registry_device(&state->registry, kind, index, out, &work.error)) < 0)
        return -1;
    atomic_store_explicit(slot, *out, memory_order_release);
    return 0;
}

int py_parse_device(py_state *state, PyObject *kind_object, PyObject *index_object, gr_device **out) {
    if (PyCapsule_CheckExact(kind_object)) {
        const gr_profile *profile = PyCapsule_GetPointer(kind_object, PY_PROFILE_CAPSULE);
        *out = profile == NULL ? NULL : profile->device;
        return profile == NULL ? -1 : 0;
    }
    const long kind = PyLong_AsLong(kind_object);
    const long index = PyErr_Occurred() ? 0 : PyLong_AsLong(index_object);
    return PyErr_Occurred() ? -1 : py_open_device(state, (gr_device_kind)kind, index, out);
}

PyObject *py_capsule_new(PyObject *module, void *pointer, const char *name, PyCapsule_Destructor destructor) {
    PyObject *capsule = PyCapsule_New(pointer, name, destructor);
    if (capsule != NULL)
        PyCapsule_SetContext(capsule, Py_NewRef(module));
    return capsule;
}

/* Reads a stream handle from an attribute. `protocol`: the attribute is a method that returns (version,
   handle). 1: found; 0: no such attribute; -1 with an exception set. */
static int get_stream_handle(PyObject *object, PyObject *name, bool protocol, PyObject **out) {
    *out = PyObject_GetAttr(object, name);
    if (*out == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return 0;
    }
    if (*out != NULL && protocol) {
        PyObject *pair = PyCallable_Check(*out) ? PyObject_CallNoArgs(*out) : Py_NewRef(*out);
        Py_SETREF(*out, pair == NULL ? NULL : PySequence_GetItem(pair, 1));
        Py_XDECREF(pair);
    }
    return *out == NULL ? -1 : 1;
}

int py_stream_argument(const py_state *state, PyObject *value, gr_stream *out) {
    static const py_name names[] = {PY_NAME___cuda_stream__, PY_NAME_cuda_stream, PY_NAME_ptr};
    PyObject *handle = NULL, *number = NULL;
    int found = 0;
    for (size_t i = 0; !PyLong_Check(value) && found == 0 && i < sizeof names / sizeof names[0]; ++i)
        found = get_stream_handle(value, state->names[names[i]], i == 0, &handle);
    PyObject *const stream = found > 0 ? handle : value;
    if (found >= 0 && PyIndex_Check(stream))
        number = PyNumber_Index(stream);
    /* Arrays have __index__, too, but raise TypeError if they have several elements. */
    if (found >= 0 && number == NULL && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
        PyErr_Format(
            PyExc_TypeError,
            "stream: expected a handle of a CUDA stream (an integer) or an object that has one, got %s",
            Py_TYPE(stream)->tp_name);
    Py_XDECREF(handle);
    if (number == NULL)
        return -1;
    *out = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) /* a truncated handle would be an invalid pointer for the driver */
        return !PyErr_ExceptionMatches(PyExc_OverflowError)
                   ? -1
                   : PY_RAISE(PyExc_ValueError, "stream: %R is no handle of a CUDA stream", value);
    if (*out == GR_LEGACY_HANDLE)
        *out = 0;
    return 0;
}

static bool signal_pending(void *arg) {
    py_work *work = arg;
    /* While Python finalises, it ends a daemon thread that acquires the GIL. Worker threads still use its
       stack. */
    if (Py_IsFinalizing())
        return true;
    PyEval_RestoreThread(work->thread);
    const bool pending = PyErr_CheckSignals() < 0 || work->process != gr_process();
    work->thread = PyEval_SaveThread();
    return pending;
}

void py_begin(py_work *work) {
    work->error.status = GR_OK;
    work->interrupt = (gr_interrupt){.pending = signal_pending, .arg = work};
    work->process = gr_process();
    work->thread = PyEval_SaveThread();
}

int py_end(const py_state *state, py_work *work, gr_status status) {
    PyEval_RestoreThread(work->thread);
    if (status == GR_OK)
        return 0;
    if (status == GR_ERR_INTERRUPTED && work->process != gr_process() && !PyErr_Occurred())
        gr_fail(&work->error, GR_ERR_DEVICE,
                "a signal handler forked the process in the middle of a call; the child has no threads that "
                "could finish the call");
    return py_fail(state, &work->error);
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

PyObject *py_make_tuple(PyObject *make, PyObject *const *items, size_t count) {
    if (!PyType_Check(make) || !PyType_IsSubtype((PyTypeObject *)make, &PyTuple_Type))
        return PyObject_Vectorcall(make, items, count, NULL);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; ++i)
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, Py_NewRef(items[i]));
    PyObject *arguments = tuple == NULL ? NULL : PyTuple_Pack(1, tuple);
    PyObject *made = arguments == NULL ? NULL : PyTuple_Type.tp_new((PyTypeObject *)make, arguments, NULL);
    Py_XDECREF(arguments);
    Py_XDECREF(tuple);
    return made;
}

PyObject *py_tuple_of_integers(const int64_t *values, size_t step, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; ++i) {
        PyObject *value = PyLong_FromLongLong(values[(size_t)i * step]);
        if (value == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, value);
    }
    return tuple;
}

PyObject *py_list_of_doubles(const double *values, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; ++i)
        py_append(&list, PyFloat_FromDouble(values[i]));
    return list;
}

PyObject *py_time_passes(const py_state *state, PyObject *timing, py_timer timer, void *arg) {
    enum { MAX_REPEATS = 100000 };
    Py_ssize_t buffers, rounds, repeats;
    if (!PyTuple_Check(timing))
        return PyErr_Format(PyExc_TypeError, "timing: expected a tuple");
    if (!PyArg_ParseTuple(timing, "nnn", &buffers, &rounds, &repeats))
        return NULL;
    if (buffers < 1 || rounds < 1 || repeats < 1 || buffers > MAX_REPEATS || rounds > MAX_REPEATS ||
        repeats > MAX_REPEATS)
        return PyErr_Format(PyExc_ValueError, "buffers, rounds and repeats must be 1 to %d", MAX_REPEATS);
    double *times = calloc(2 * (size_t)repeats, sizeof *times);
    if (times == NULL)
        return PyErr_NoMemory();
    const gr_timing counts = {
        .buffers = (size_t)buffers, .rounds = (size_t)rounds, .repeats = (size_t)repeats};
    PyObject *result = NULL;
    py_work work;
    py_begin(&work);
    const gr_status status = timer(arg, &counts, times, times + repeats, &work.error);
    if (py_end(state, &work, status) == 0)
        result = Py_BuildValue("(NN)", py_list_of_doubles(times, (size_t)repeats),
                               py_list_of_doubles(times + repeats, (size_t)repeats));
    free(times);
    return result;
}

static _Thread_local unsigned long long runs;

void py_count_run(void) {
    ++runs;
}

PyObject *py_runs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    return PyLong_FromUnsignedLongLong(runs);
}
