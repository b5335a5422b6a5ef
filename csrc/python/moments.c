/* Implements moments.h: mean, variance, skewness and kurtosis from sums of powers, with the operations of
   gpureduce/_reduce/power_sums.py in their order, so that both give the same bits. */
#include "python/moments.h"

#include <math.h>
#include <string.h>

#include "executor/executor.h"
#include "python/dtype.h"

/* Numbers per result that the operator "moments" computes. The count is negative if a NaN was left out. */
enum { COUNT, SHIFT, FIRST, SECOND, THIRD, FOURTH, SUMS };

enum { PARTS = 5 /* count, mean, variance, skewness, kurtosis */ };

/* Sums of squares between these have squares and fourth powers that neither over- nor underflow. */
static const double smallest = 1e-140, largest = 1e140;
/* Elements of this size are equal if the squares of their differences are 0. */
static const double fine = 1e-120;

/* Moves the sums of one result to the mean: the second to fourth power of the elements less the mean. */
static void centre(const double *sums, double *second, double *third, double *fourth) {
    const double n = fabs(sums[COUNT]), e = -(sums[FIRST] / n);
    *second = sums[SECOND] + e * (2 * sums[FIRST] + n * e);
    *third = sums[THIRD] + e * (3 * sums[SECOND] + e * (3 * sums[FIRST] + n * e));
    *fourth = sums[FOURTH] + e * (4 * sums[THIRD] + e * (6 * sums[SECOND] + e * (4 * sums[FIRST] + n * e)));
}

/* Whether powers of float64 elements may have over- or underflowed: Python scales the elements. */
static bool is_doubtful(const double *sums) {
    double second, third, fourth;
    bool finite = true;
    for (size_t i = 0; i < SUMS; ++i)
        finite = finite && isfinite(sums[i]);
    centre(sums, &second, &third, &fourth);
    return (!finite || second > largest || second < smallest) &&
           (second != 0 || !(fabs(sums[SHIFT]) >= fine));
}

static bool is_left_to_python(const py_moments *self, const double *sums, size_t results) {
    bool left = false;
    for (size_t i = 0; !left && i < results; ++i, sums += SUMS)
        left = (self->source == GR_DTYPE_f64 && is_doubtful(sums)) ||
               (self->order > 1 && self->ddof >= fabs(sums[COUNT]));
    return left;
}

/* Returns the second powers to the power of 1.5, by NumPy: other libraries round them otherwise. NULL with an
   exception set. */
static PyObject *power(const double *sums, size_t results) {
    const npy_intp count = (npy_intp)results;
    double third, fourth;
    PyObject *seconds = PyArray_SimpleNew(1, &count, NPY_DOUBLE), *exponent = PyFloat_FromDouble(1.5);
    PyObject *powers = NULL;
    for (size_t i = 0; seconds != NULL && i < results; ++i) {
        double *const second = (double *)PyArray_DATA((PyArrayObject *)seconds) + i;
        centre(sums + i * SUMS, second, &third, &fourth);
        *second = *second < 0 ? 0 : *second;
    }
    if (seconds != NULL && exponent != NULL)
        powers = PyNumber_Power(seconds, exponent, Py_None);
    Py_XDECREF(seconds);
    Py_XDECREF(exponent);
    return powers;
}

/* Computes the parts of one result, but the count, in float64. `power`: that of the second one, for the
   skewness. */
static void compute(const py_moments *self, const double *sums, double power_of_second, double *parts) {
    const double n = fabs(sums[COUNT]), nan = signbit(sums[COUNT]) && !self->omits_nan ? NAN : 0.0;
    const double mean = sums[SHIFT] + sums[FIRST] / n, less = n - self->ddof;
    double second, third, fourth;
    centre(sums, &second, &third, &fourth);
    second = second < 0 ? 0 : second;
    const double tiny = 1e-15 * mean, constant = second / n <= tiny * tiny ? NAN : nan;
    double skewness = third * sqrt(n) / power_of_second, kurtosis = n * fourth / (second * second);
    if (!self->bias && n > 2)
        skewness *= sqrt(n * (n - 1)) / (n - 2);
    if (!self->bias && n > 3)
        kurtosis = ((n * n - 1) * kurtosis - 3 * ((n - 1) * (n - 1))) / ((n - 2) * (n - 3)) + 3;
    parts[1] = mean + nan;
    parts[2] = second / (less > 0 ? less : 0) + nan;
    parts[3] = skewness + constant;
    parts[4] = kurtosis - (self->fisher ? 3 : 0) + constant;
}

/* Writes the parts of all results to arrays, of int64 and of the dtype of the moments. */
static void write_parts(const py_moments *self, const double *sums, const double *powers, size_t results,
                        PyObject *const *arrays) {
    double parts[PARTS];
    for (size_t i = 0; i < results; ++i, sums += SUMS) {
        compute(self, sums, powers != NULL ? powers[i] : 1, parts);
        ((int64_t *)PyArray_DATA((PyArrayObject *)arrays[0]))[i] = (int64_t)fabs(sums[COUNT]);
        for (size_t k = 1; k <= self->order; ++k) {
            void *const to = PyArray_DATA((PyArrayObject *)arrays[k]);
            if (self->dtype == GR_DTYPE_f32)
                ((float *)to)[i] = (float)parts[k];
            else
                ((double *)to)[i] = parts[k];
        }
    }
}

/* Returns a new device array with the elements of a NumPy array. NULL with an exception set. */
static PyObject *upload(const py_job *job, gr_dtype dtype, PyArrayObject *elements) {
    const gr_device_info *info = &job->device->backend->info;
    uint64_t extent[GR_MAX_NDIM];
    for (int d = 0; d < PyArray_NDIM(elements); ++d)
        extent[d] = (uint64_t)PyArray_DIM(elements, d);
    py_array *array =
        py_array_new(job->state, info->kind, info->index, dtype, (size_t)PyArray_NDIM(elements), extent);
    if (array == NULL)
        return NULL;
    const gr_source source = {.host = PyArray_DATA(elements), .bytes = (size_t)PyArray_NBYTES(elements)};
    py_work work;
    py_begin(&work);
    gr_status status = py_array_allocate(array, job->device, &work.error);
    if (status == GR_OK && source.bytes > 0)
        status = gr_upload(job->device, &source, array->pointer, 0, &work.interrupt, &work.error);
    if (py_end(job->state, &work, status) < 0)
        Py_CLEAR(array);
    return (PyObject *)array;
}

/* Replaces the arrays by what the caller gets: scalars, arrays, or device arrays. -1 with an exception set.
 */
static int place(const py_moments *self, const py_job *job, PyObject **arrays) {
    for (size_t k = 0; k <= self->order; ++k) {
        PyArrayObject *const array = (PyArrayObject *)arrays[k];
        if (!self->on_device) {
            arrays[k] = PyArray_Return(array); /* steals the reference */
        } else {
            arrays[k] = upload(job, k == 0 ? GR_DTYPE_i64 : self->dtype, array);
            Py_DECREF(array);
        }
        if (arrays[k] == NULL)
            return -1;
    }
    return 0;
}

/* Returns a new array of the results, in the memory order of the sums. NULL with an exception set. */
static PyObject *new_part(const py_job *job, gr_dtype dtype, PyArrayObject *sums) {
    npy_intp stride[GR_MAX_NDIM];
    const int ndim = PyArray_NDIM(sums) - 1;
    for (int d = 0; d < ndim; ++d)
        stride[d] = PyArray_STRIDE(sums, d) / (npy_intp)(SUMS * sizeof(double)) *
                    (npy_intp)gr_dtypes[dtype].item_bytes;
    PyArray_Descr *descr = py_descr(job->state, dtype);
    return descr == NULL
               ? NULL
               : PyArray_NewFromDescr(&PyArray_Type, descr, ndim, PyArray_DIMS(sums), stride, NULL, 0, NULL);
}

PyObject *py_moments_from_sums(const py_moments *self, const py_job *job, PyArrayObject *sums,
                               PyObject *make_tuple) {
    const size_t results = (size_t)PyArray_SIZE(sums) / SUMS;
    const double *const elements = PyArray_DATA(sums);
    if (is_left_to_python(self, elements, results))
        return Py_NewRef(Py_NotImplemented);
    PyObject *arrays[PARTS] = {NULL}, *result = NULL;
    PyObject *powers = self->order > 2 ? power(elements, results) : NULL;
    bool good = self->order <= 2 || powers != NULL;
    for (size_t k = 0; good && k <= self->order; ++k) {
        arrays[k] = new_part(job, k == 0 ? GR_DTYPE_i64 : self->dtype, sums);
        good = arrays[k] != NULL;
    }
    if (good) {
        write_parts(self, elements, powers == NULL ? NULL : PyArray_DATA((PyArrayObject *)powers), results,
                    arrays);
        good = place(self, job, arrays) == 0;
    }
    for (size_t k = self->order + 1; good && k < PARTS; ++k)
        arrays[k] = Py_NewRef(Py_None);
    if (good)
        result = PyObject_CallFunctionObjArgs(make_tuple, arrays[0], arrays[1], arrays[2], arrays[3],
                                              arrays[4], NULL);
    for (size_t k = 0; k < PARTS; ++k)
        Py_XDECREF(arrays[k]);
    Py_XDECREF(powers);
    return result;
}
