/* States of exact sums in NumPy arrays, (n, words) of int64 in C order: merges them, rounds them to
   floating-point numbers, and normalises the carries of states that were computed on a device. */
#include "exact/exact.h"
#include "python/errors.h"
#include "python/methods.h"

/* Reads the number and the size of states from an array's shape. -1 with an exception set if the dtype, the
   shape or the order is wrong. */
static int parse_rows(PyArrayObject *array, const char *name, size_t *count, gr_exact_size *size) {
    if (PyArray_TYPE(array) != NPY_INT64 || PyArray_NDIM(array) != 2 || !PyArray_ISCARRAY_RO(array) ||
        PyArray_DIM(array, 1) < 3 || PyArray_DIM(array, 1) > GR_EXACT_WIDEST_WORDS)
        return PY_RAISE(PyExc_ValueError, "%s: expected int64 of shape (any, words) in C order", name);
    *count = (size_t)PyArray_DIM(array, 0);
    size->words = (uint32_t)PyArray_DIM(array, 1);
    return 0;
}

/* parse_rows, and checks that the rows are normalised states. */
static int parse_states(PyArrayObject *array, const char *name, size_t *count, gr_exact_size *size) {
    if (parse_rows(array, name, count, size) < 0)
        return -1;
    if (!gr_exact_states_are_normalised(PyArray_DATA(array), *count, *size))
        return PY_RAISE(PyExc_ValueError, "%s: these are no states", name);
    return 0;
}

PyObject *py_exact_merge(PyObject *Py_UNUSED(module), PyObject *args) {
    PyArrayObject *states, *others;
    size_t count, other_count;
    gr_exact_size size = {0, 0}, other = {0, 0};
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &states, &PyArray_Type, &others) ||
        parse_states(states, "states", &count, &size) < 0 ||
        parse_states(others, "others", &other_count, &other) < 0)
        return NULL;
    if (count != other_count || size.words != other.words || !PyArray_ISWRITEABLE(states))
        return PyErr_Format(PyExc_ValueError, "states: expected as many of one size, to write to");
    if (!gr_exact_states_merge(PyArray_DATA(states), PyArray_DATA(others), count, size))
        return PyErr_Format(PyExc_OverflowError, "states: the sum exceeds the range of a state");
    Py_RETURN_NONE;
}

PyObject *py_exact_carry(PyObject *Py_UNUSED(module), PyObject *args) {
    PyArrayObject *states;
    size_t count;
    gr_exact_size size = {0, 0};
    if (!PyArg_ParseTuple(args, "O!", &PyArray_Type, &states) ||
        parse_rows(states, "states", &count, &size) < 0)
        return NULL;
    if (!PyArray_ISWRITEABLE(states))
        return PyErr_Format(PyExc_ValueError, "states: expected an array to write to");
    gr_exact_states_normalise(PyArray_DATA(states), count, size);
    return PyBool_FromLong(gr_exact_states_are_normalised(PyArray_DATA(states), count, size));
}

/* Reads a format. -1 with an exception set. */
static int parse_format(unsigned precision, unsigned exponent_bits, gr_exact_format *format) {
    if (precision < 2 || precision > 53 || exponent_bits < 2 || exponent_bits > 11)
        return PY_RAISE(PyExc_ValueError, "precision, exponent_bits: no format of a float");
    *format = (gr_exact_format){precision, exponent_bits};
    return 0;
}

PyObject *py_exact_round(PyObject *Py_UNUSED(module), PyObject *args) {
    PyArrayObject *states, *divisors;
    size_t count;
    gr_exact_size size = {0, 0};
    unsigned below, precision, exponent_bits;
    if (!PyArg_ParseTuple(args, "O!O!III", &PyArray_Type, &states, &PyArray_Type, &divisors, &below,
                          &precision, &exponent_bits) ||
        parse_states(states, "states", &count, &size) < 0)
        return NULL;
    if (PyArray_TYPE(divisors) != NPY_UINT64 || PyArray_NDIM(divisors) != 1 ||
        !PyArray_ISCARRAY_RO(divisors) || (size_t)PyArray_DIM(divisors, 0) != count)
        return PyErr_Format(PyExc_ValueError, "divisors: expected a uint64 for each state");
    for (size_t i = 0; i < count; ++i)
        if (((const uint64_t *)PyArray_DATA(divisors))[i] > INT64_MAX)
            return PyErr_Format(PyExc_ValueError, "divisors: expected up to 2^63 - 1");
    gr_exact_format format;
    if (parse_format(precision, exponent_bits, &format) < 0)
        return NULL;
    if (below > 32 * GR_EXACT_WIDEST_WORDS)
        return PyErr_Format(PyExc_ValueError, "below: no bits of a state");
    const npy_intp length = (npy_intp)count;
    PyObject *bits = PyArray_SimpleNew(1, &length, NPY_UINT64);
    if (bits == NULL)
        return NULL;
    size.below = below;
    gr_exact_states_round(PyArray_DATA(states), PyArray_DATA(divisors), count, size, format,
                          PyArray_DATA((PyArrayObject *)bits));
    return bits;
}

/* Reads (counts, sums, squares) of variances, or (None, None, squares) of norms. */
static int parse_variances(PyObject *counts, PyObject *sums, PyArrayObject *squares, gr_exact_variances *self,
                           size_t *count) {
    if (parse_states(squares, "squares", count, &self->square_size) < 0)
        return -1;
    self->squares = PyArray_DATA(squares);
    if (counts == Py_None && sums == Py_None)
        return 0;
    size_t parts;
    if (!PyArray_Check(counts) || !PyArray_Check(sums) ||
        parse_states((PyArrayObject *)sums, "sums", &parts, &self->sum_size) < 0)
        return PyErr_Occurred() ? -1 : PY_RAISE(PyExc_TypeError, "counts, sums: expected arrays or None");
    PyArrayObject *numbers = (PyArrayObject *)counts;
    if (PyArray_TYPE(numbers) != NPY_UINT64 || PyArray_NDIM(numbers) != 1 || !PyArray_ISCARRAY_RO(numbers) ||
        (size_t)PyArray_DIM(numbers, 0) != *count || parts != *count * self->parts)
        return PY_RAISE(PyExc_ValueError, "counts: expected a uint64, and `parts` sums, for each result");
    self->counts = PyArray_DATA(numbers);
    self->sums = PyArray_DATA((PyArrayObject *)sums);
    for (size_t i = 0; i < *count; ++i)
        if (self->counts[i] > 1ull << 62)
            return PY_RAISE(PyExc_ValueError, "counts: expected up to 2^62");
    return 0;
}

PyObject *py_exact_variances(PyObject *Py_UNUSED(module), PyObject *args) {
    PyArrayObject *squares;
    PyObject *counts, *sums;
    gr_exact_variances self = {.parts = 1};
    unsigned sum_below, square_below, precision, exponent_bits;
    long long ddof;
    int root;
    size_t count;
    if (!PyArg_ParseTuple(args, "OOO!IIIIILp", &counts, &sums, &PyArray_Type, &squares, &self.parts,
                          &sum_below, &square_below, &precision, &exponent_bits, &ddof, &root) ||
        parse_format(precision, exponent_bits, &self.format) < 0)
        return NULL;
    if (self.parts < 1 || self.parts > 2 || sum_below > square_below / 2 ||
        square_below > 32 * GR_EXACT_WIDEST_WORDS || (square_below - 2 * sum_below) % 32 != 0)
        return PyErr_Format(PyExc_ValueError, "parts, sum_below, square_below: no sums and their squares");
    if (ddof < -(1ll << 62) || ddof > 1ll << 62)
        return PyErr_Format(PyExc_ValueError, "ddof: expected -2^62 to 2^62");
    if (parse_variances(counts, sums, squares, &self, &count) < 0)
        return NULL;
    if (self.sums != NULL &&
        2 * self.sum_size.words + (square_below - 2 * sum_below) / 32 > self.square_size.words + 4)
        return PyErr_Format(PyExc_ValueError, "sums: their squares exceed the squares");
    self.sum_size.below = sum_below;
    self.square_size.below = square_below;
    self.ddof = ddof;
    self.root = root != 0;
    const npy_intp length = (npy_intp)count;
    PyObject *bits = PyArray_SimpleNew(1, &length, NPY_UINT64);
    if (bits != NULL)
        gr_exact_variances_round(&self, count, PyArray_DATA((PyArrayObject *)bits));
    return bits;
}
