#include "python/intake/operand.h"

#include <string.h>

#include "python/intake/array.h"

static size_t item_bytes(const py_operand *self) {
    return gr_dtypes[self->dtype].item_bytes;
}

int py_operand_view(PyObject *view, const char *name, py_operand *out) {
    unsigned long long pointer = 0;
    PyObject *shape = NULL, *strides = NULL;
    const char *dtype = NULL;
    if (!PyArg_ParseTuple(view, "KO!O!s", &pointer, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &dtype))
        return -1;
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim > GR_MAX_NDIM || PyTuple_GET_SIZE(strides) != ndim) {
        PyErr_Format(PyExc_ValueError, "%s: a view has %zd dimensions and %zd strides", name, ndim,
                     PyTuple_GET_SIZE(strides));
        return -1;
    }
    out->ndim = (size_t)ndim;
    for (Py_ssize_t d = 0; d < ndim; ++d) {
        out->extent[d] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shape, d));
        out->stride[d] = PyErr_Occurred() ? 0 : PyLong_AsLongLong(PyTuple_GET_ITEM(strides, d));
        if (PyErr_Occurred())
            return -1;
    }
    out->source = (gr_source){.host = NULL, .origin = pointer};
    return py_find_dtype_name(dtype, name, &out->dtype);
}

/* The bytes from the lowest to the highest element; false when an array that is packed would have fewer, or
   when an element is not where a kernel can load it. */
static bool span_of_array(PyArrayObject *array, py_operand *out) {
    const size_t item = item_bytes(out);
    int64_t low = 0, high = (int64_t)item;
    bool aligned = true;
    for (size_t d = 0; d < out->ndim; ++d) {
        if (out->extent[d] == 0) {
            out->source = (gr_source){.host = PyArray_DATA(array)};
            return true;
        }
        const int64_t reach = out->stride[d] * (int64_t)(out->extent[d] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
        aligned = aligned && (out->extent[d] == 1 || out->stride[d] % (int64_t)item == 0);
    }
    out->source = (gr_source){.host = (const char *)PyArray_DATA(array) + low,
                              .bytes = (size_t)(high - low),
                              .origin = (uint64_t)-low};
    return aligned && out->source.bytes <= (size_t)PyArray_SIZE(array) * item;
}

static void describe(PyArrayObject *array, py_operand *out) {
    out->ndim = (size_t)PyArray_NDIM(array);
    for (size_t d = 0; d < out->ndim; ++d) {
        out->extent[d] = (uint64_t)PyArray_DIM(array, (int)d);
        out->stride[d] = PyArray_STRIDE(array, (int)d);
    }
}

/* Takes the place of out->owner by a copy in C order, and describes that. */
static int pack(py_operand *out) {
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)out->owner, NPY_CORDER);
    if (copy == NULL)
        return -1;
    Py_SETREF(out->owner, (PyObject *)copy);
    describe(copy, out);
    span_of_array(copy, out);
    return 0;
}

static int array_operand(const py_state *state, PyObject *object, const char *name, py_operand *out) {
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a NumPy array or a view of device memory, got %s", name,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if (py_find_dtype(state, array, GR_SCOPE_GENERAL, name, &out->dtype) < 0)
        return -1;
    if (!PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) {
        PyErr_Format(PyExc_ValueError, "%s: expected an aligned array in native byte order", name);
        return -1;
    }
    if (PyArray_NDIM(array) > GR_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s: %d dimensions are too many", name, PyArray_NDIM(array));
        return -1;
    }
    out->owner = Py_NewRef(object);
    out->pin = py_pin(array);
    if (out->pin == NULL)
        return -1;
    describe(array, out);
    return span_of_array(array, out) ? 0 : pack(out);
}

int py_operand_take(const py_state *state, PyObject *object, const char *name, py_operand *out) {
    return PyTuple_Check(object) ? py_operand_view(object, name, out)
                                 : array_operand(state, object, name, out);
}

void py_operand_release(py_operand *self) {
    Py_CLEAR(self->pin);
    Py_CLEAR(self->owner);
}

int py_take_axes(PyObject *axes, size_t ndim, bool *reduced) {
    if (!PyTuple_Check(axes)) {
        PyErr_SetString(PyExc_TypeError, "axes: expected a tuple");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); ++i) {
        const Py_ssize_t axis = PyNumber_AsSsize_t(PyTuple_GET_ITEM(axes, i), PyExc_ValueError);
        if (axis == -1 && PyErr_Occurred())
            return -1;
        if (axis < 0 || (size_t)axis >= ndim || reduced[axis]) {
            PyErr_Format(PyExc_ValueError, "axes: %zd is no axis, or named twice", axis);
            return -1;
        }
        reduced[axis] = true;
    }
    return 0;
}

/* Has the owner's axes in another order, and packs. Results were counted by the lengths taken first: an array
   that got others since then is refused. */
static int turn(py_operand *self, npy_intp *order, int ndim) {
    uint64_t extent[GR_MAX_NDIM];
    for (int d = 0; d < ndim; ++d)
        extent[d] = self->extent[order[d]];
    PyArray_Dims axes = {order, ndim};
    PyObject *turned = PyArray_Transpose((PyArrayObject *)self->owner, &axes);
    if (turned == NULL)
        return -1;
    Py_SETREF(self->owner, turned);
    if (pack(self) < 0)
        return -1;
    if (memcmp(self->extent, extent, (size_t)ndim * sizeof extent[0]) == 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a: the array was given another shape during the call");
    return -1;
}

int py_operands_pack(py_operand *const *operands, size_t count, bool *reduced) {
    npy_intp order[GR_MAX_NDIM];
    const size_t all = operands[0]->ndim;
    int ndim = 0, kept;
    for (size_t d = 0; d < all; ++d)
        if (!reduced[d])
            order[ndim++] = (npy_intp)d;
    kept = ndim;
    for (size_t d = 0; d < all; ++d)
        if (reduced[d])
            order[ndim++] = (npy_intp)d;
    for (size_t i = 0; i < count; ++i) {
        if (operands[i]->owner == NULL) {
            PyErr_SetString(PyExc_ValueError,
                            "a: a device array with such strides cannot be reduced over these "
                            "axes; copy it to C order first");
            return -1;
        }
        if (turn(operands[i], order, ndim) < 0)
            return -1;
    }
    for (int d = 0; d < ndim; ++d)
        reduced[d] = d >= kept;
    return 0;
}
