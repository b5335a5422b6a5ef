/* Implements interface.h. Accepts only exact ints, tuples, strs and dicts, so that reading the interface
   never calls code of another library. */
#include "python/operands/interface.h"

#include <limits.h>
#include <string.h>

#include "python/args.h"

/* Returns an entry of the dict, borrowed; NULL if absent. */
static PyObject *entry(const py_state *state, PyObject *interface, py_name name) {
    return PyDict_GetItemWithError(interface, state->names[name]);
}

/* Converts an exact int that fits into 64 bits, without calling code of another library. */
static bool parse_int(PyObject *value, int64_t *out) {
    int overflow = 0;
    if (value == NULL || !PyLong_CheckExact(value))
        return false;
    *out = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0;
}

static bool parse_ints(PyObject *tuple, size_t ndim, int64_t *out) {
    if (tuple == NULL || !PyTuple_CheckExact(tuple) || (size_t)PyTuple_GET_SIZE(tuple) != ndim)
        return false;
    for (size_t d = 0; d < ndim; ++d)
        if (!parse_int(PyTuple_GET_ITEM(tuple, (Py_ssize_t)d), &out[d]))
            return false;
    return true;
}

/* Parses a typestr: byte order, kind, bytes per element, as in "<f4". */
static bool parse_type(PyObject *text, gr_dtype *out) {
    static const char kinds[] = "iuf  cb"; /* indexed by DLPack's type code */
    if (text == NULL || !PyUnicode_CheckExact(text))
        return false;
    Py_ssize_t length;
    const char *type = py_utf8(text, &length);
    if (type == NULL || length < 3 || length > 4 || type[1] == ' ' || (type[0] != '<' && type[0] != '|'))
        return false;
    const char *kind = strchr(kinds, type[1]);
    int bytes = 0;
    for (Py_ssize_t i = 2; i < length; ++i)
        bytes = type[i] >= '0' && type[i] <= '9' ? bytes * 10 + (type[i] - '0') : CHAR_MAX;
    if (kind == NULL || *kind == 0 || bytes > 16 || (bytes > 1 && type[0] == '|'))
        return false;
    return dl_find_dtype((dl_dtype){(uint8_t)(kind - kinds), (uint8_t)(bytes * CHAR_BIT), 1}, out);
}

static bool parse_data(PyObject *data, py_interface *out) {
    if (data == NULL || !PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) != 2 ||
        !PyBool_Check(PyTuple_GET_ITEM(data, 1)))
        return false;
    int64_t pointer;
    out->read_only = PyTuple_GET_ITEM(data, 1) == Py_True;
    const bool parsed = parse_int(PyTuple_GET_ITEM(data, 0), &pointer) && pointer > 0;
    out->pointer = parsed ? (gr_devptr)pointer : 0;
    return parsed;
}

static bool parse(const py_state *state, PyObject *interface, py_interface *out) {
    PyObject *shape = entry(state, interface, PY_NAME_shape);
    PyObject *strides = entry(state, interface, PY_NAME_strides);
    PyObject *mask = entry(state, interface, PY_NAME_mask);
    int64_t version, stream;
    if (!parse_int(entry(state, interface, PY_NAME_version), &version) || version != 3 ||
        (mask != NULL && mask != Py_None) || shape == NULL || !PyTuple_CheckExact(shape) ||
        PyTuple_GET_SIZE(shape) > DL_MAX_NDIM ||
        !parse_int(entry(state, interface, PY_NAME_stream), &stream) || stream <= 0)
        return false;
    out->stream = stream == GR_LEGACY_HANDLE ? 0 : (gr_stream)stream;
    out->ndim = (size_t)PyTuple_GET_SIZE(shape);
    out->c_order = strides == NULL || strides == Py_None;
    return parse_ints(shape, out->ndim, out->shape) &&
           (out->c_order || parse_ints(strides, out->ndim, out->strides)) &&
           parse_type(entry(state, interface, PY_NAME_typestr), &out->dtype) &&
           parse_data(entry(state, interface, PY_NAME_data), out);
}

int py_interface_from_object(const py_state *state, PyObject *object, py_interface *out) {
    PyObject *interface = PyObject_GetAttr(object, state->names[PY_NAME___cuda_array_interface__]);
    if (interface == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear(); /* the Python fallback reads the attribute again and reports the error */
        return 0;
    }
    const bool parsed = PyDict_CheckExact(interface) && parse(state, interface, out);
    Py_DECREF(interface);
    PyErr_Clear();
    return parsed;
}
