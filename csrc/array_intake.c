#include "array_intake.h"

#include <string.h>

int py_intake_init(py_state *state) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        PyObject *name = PyUnicode_FromString(gr_dtypes[i].numpy_name);
        PyArray_Descr *descr = NULL;
        if (name == NULL || PyArray_DescrConverter(name, &descr) == NPY_FAIL) {
            Py_XDECREF(name);
            return -1;
        }
        state->type_numbers[i] = descr->type_num;
        Py_DECREF(descr);
        Py_DECREF(name);
    }
    return 0;
}

static int find_dtype(const py_state *state, PyArrayObject *array, gr_dtype *out) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        if (PyArray_EquivTypenums(PyArray_TYPE(array), state->type_numbers[i])) {
            *out = (gr_dtype)i;
            return 0;
        }
    }
    char supported[256] = "";
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        strncat(supported, i ? ", " : "", sizeof supported - strlen(supported) - 1);
        strncat(supported, gr_dtypes[i].numpy_name, sizeof supported - strlen(supported) - 1);
    }
    PyErr_Format(PyExc_TypeError, "a: dtype %S is not supported; supported: %s", PyArray_DESCR(array),
                 supported);
    return -1;
}

int py_array_intake(const py_state *state, PyObject *object, gr_array *out) {
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(object);
    if (array == NULL)
        return -1;
    if (find_dtype(state, array, &out->dtype) < 0) {
        Py_DECREF(array);
        return -1;
    }
    const int contiguous = PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
    if (!contiguous || !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) {
        PyArray_Descr *native = PyArray_DescrFromType(state->type_numbers[out->dtype]);
        PyArrayObject *copy =
            native == NULL ? NULL
                           : (PyArrayObject *)PyArray_FromArray(array, native,
                                                                NPY_ARRAY_CARRAY_RO | NPY_ARRAY_ENSUREARRAY);
        Py_DECREF(array);
        if (copy == NULL)
            return -1;
        array = copy;
    }
    out->owner = (PyObject *)array;
    out->data = PyArray_DATA(array);
    out->n = (uint64_t)PyArray_SIZE(array);
    return 0;
}

void gr_array_release(gr_array *array) {
    Py_CLEAR(array->owner);
}

PyObject *py_result(const py_state *state, gr_dtype dtype, gr_scalar value) {
    PyArray_Descr *descr = PyArray_DescrFromType(state->type_numbers[gr_dtypes[dtype].partial]);
    if (descr == NULL)
        return NULL;
    PyObject *scalar = PyArray_Scalar(&value, descr, NULL);
    Py_DECREF(descr);
    return scalar;
}
