/* Implements dtype.h: the table of NumPy type numbers, the search in it, and the message that lists supported
   dtypes. */
#include "python/dtype.h"

#include <string.h>

#include "python/errors.h"

/* NumPy assigns this dtype's type number when ml_dtypes is imported. */
#define BFLOAT16 "bfloat16"

enum { NO_TYPE_NUMBER = -1 };

static PyArray_Descr *descr_from_name(const char *numpy_name) {
    PyObject *name = PyUnicode_FromString(numpy_name);
    PyArray_Descr *descr = NULL;
    if (name != NULL && PyArray_DescrConverter(name, &descr) == NPY_FAIL)
        descr = NULL;
    Py_XDECREF(name);
    return descr;
}

int py_dtypes_init(py_state *state) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        state->type_numbers[i] = NO_TYPE_NUMBER;
        if (strcmp(gr_dtypes[i].numpy_name, BFLOAT16) == 0)
            continue;
        PyArray_Descr *descr = descr_from_name(gr_dtypes[i].numpy_name);
        if (descr == NULL)
            return -1;
        state->type_numbers[i] = descr->type_num;
        Py_DECREF(descr);
    }
    return 0;
}

PyArray_Descr *py_descr(const py_state *state, gr_dtype dtype) {
    return state->type_numbers[dtype] != NO_TYPE_NUMBER
               ? PyArray_DescrFromType(state->type_numbers[dtype])
               : descr_from_name(gr_dtypes[dtype].numpy_name); /* an error until ml_dtypes is imported */
}

static bool is_bfloat16(PyArrayObject *array) {
    if (!PyTypeNum_ISUSERDEF(PyArray_TYPE(array)) || PyArray_ITEMSIZE(array) != 2)
        return false;
    PyObject *name = PyObject_Str((PyObject *)PyArray_DESCR(array));
    const bool found = name != NULL && PyUnicode_CompareWithASCIIString(name, BFLOAT16) == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

static void append(char *list, size_t size, const char *text) {
    strncat(list, text, size - strlen(list) - 1);
}

static int raise_unsupported(PyObject *dtype, gr_scope scope, const char *argument) {
    char supported[512] = "";
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        if (scope == GR_SCOPE_LADDER && gr_dtypes[i].scope != GR_SCOPE_LADDER)
            continue;
        append(supported, sizeof supported, *supported ? ", " : "");
        append(supported, sizeof supported, gr_dtypes[i].numpy_name);
    }
    return PY_RAISE(PyExc_TypeError, "%s: dtype %S is not supported; supported: %s", argument, dtype,
                    supported);
}

int py_find_dtype(const py_state *state, PyArrayObject *array, gr_scope scope, const char *argument,
                  gr_dtype *out) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        const bool found = state->type_numbers[i] == NO_TYPE_NUMBER
                               ? is_bfloat16(array)
                               : PyArray_EquivTypenums(PyArray_TYPE(array), state->type_numbers[i]);
        if (found && (scope == GR_SCOPE_GENERAL || gr_dtypes[i].scope == GR_SCOPE_LADDER)) {
            *out = (gr_dtype)i;
            return 0;
        }
    }
    return raise_unsupported((PyObject *)PyArray_DESCR(array), scope, argument);
}

int py_find_dtype_name(const char *name, const char *argument, gr_dtype *out) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        if (strcmp(gr_dtypes[i].numpy_name, name) == 0) {
            *out = (gr_dtype)i;
            return 0;
        }
    }
    PyObject *text = PyUnicode_FromString(name);
    if (text != NULL)
        raise_unsupported(text, GR_SCOPE_GENERAL, argument);
    Py_XDECREF(text);
    return -1;
}

PyObject *py_all_finite(PyObject *module, PyObject *object) {
    const py_state *state = PyModule_GetState(module);
    gr_dtype dtype = GR_DTYPE_COUNT;
    if (!PyArray_Check(object) || !PyArray_ISNOTSWAPPED((PyArrayObject *)object))
        return PyErr_Format(PyExc_TypeError, "array: expected a NumPy array in native byte order");
    if (py_find_dtype(state, (PyArrayObject *)object, GR_SCOPE_GENERAL, "array", &dtype) < 0)
        return NULL;
    PyObject *flat = PyArray_Ravel((PyArrayObject *)object, NPY_KEEPORDER); /* no copy if contiguous */
    if (flat == NULL)
        return NULL;
    PyArrayObject *array = (PyArrayObject *)flat;
    const bool finite = gr_all_finite(dtype, PyArray_DATA(array), (size_t)PyArray_SIZE(array));
    Py_DECREF(flat);
    return PyBool_FromLong(finite);
}

PyObject *py_result(const py_state *state, gr_dtype dtype, gr_scalar value) {
    PyArray_Descr *descr = py_descr(state, dtype);
    if (descr == NULL)
        return NULL;
    PyObject *scalar = PyArray_Scalar(&value, descr, NULL);
    Py_DECREF(descr);
    return scalar;
}
