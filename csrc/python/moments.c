/* Implements moments.h: mean, variance, skewness and kurtosis from sums of powers, with the operations of
   gpureduce/_reduce/power_sums.py in their order, so that both give the same bits; for results on the device,
   in a kernel after the reduction. */
#include "python/moments.h"

#include <math.h>
#include <string.h>

#include "executor/executor.h"
#include "python/dtype.h"
#include "reduce/moments/moments.h"

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

/* Computes the parts of one result, but the count, in float64. */
static void compute(const py_moments *self, const double *sums, double *parts) {
    const double n = fabs(sums[COUNT]), nan = signbit(sums[COUNT]) && !self->omits_nan ? NAN : 0.0;
    const double mean = sums[SHIFT] + sums[FIRST] / n, less = n - self->ddof;
    double second, third, fourth;
    centre(sums, &second, &third, &fourth);
    second = second < 0 ? 0 : second;
    const double tiny = 1e-15 * mean, constant = second / n <= tiny * tiny ? NAN : nan;
    double skewness = third * sqrt(n) / (second * sqrt(second)), kurtosis = n * fourth / (second * second);
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
static void write_parts(const py_moments *self, const double *sums, size_t results, PyObject *const *arrays) {
    double parts[PARTS];
    for (size_t i = 0; i < results; ++i, sums += SUMS) {
        compute(self, sums, parts);
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

/* Fills in None for moments beyond the order, and makes the tuple. NULL with an exception set. */
static PyObject *make_result(const py_moments *self, PyObject **arrays, PyObject *make_tuple) {
    for (size_t k = self->order + 1; k < PARTS; ++k)
        arrays[k] = Py_NewRef(Py_None);
    return py_make_tuple(make_tuple, arrays, PARTS);
}

PyObject *py_moments_from_sums(const py_moments *self, const py_job *job, PyArrayObject *sums,
                               PyObject *make_tuple) {
    const size_t results = (size_t)PyArray_SIZE(sums) / SUMS;
    const double *const elements = PyArray_DATA(sums);
    if (is_left_to_python(self, elements, results))
        return Py_NewRef(Py_NotImplemented);
    PyObject *arrays[PARTS] = {NULL}, *result = NULL;
    bool good = true;
    for (size_t k = 0; good && k <= self->order; ++k) {
        arrays[k] = new_part(job, k == 0 ? GR_DTYPE_i64 : self->dtype, sums);
        good = arrays[k] != NULL;
    }
    if (good) {
        write_parts(self, elements, results, arrays);
        good = place(self, job, arrays) == 0;
    }
    if (good)
        result = make_result(self, arrays, make_tuple);
    for (size_t k = 0; k < PARTS; ++k)
        Py_XDECREF(arrays[k]);
    return result;
}

/* ---- on the device ---- */

typedef struct device_moments {
    py_call *call;
    py_array *sums; /* temporary */
    gr_moments moments;
} device_moments;

/* Sums up the powers, and computes the moments from the sums, in the stream of the call. */
static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const device_moments *self = arg;
    gr_binding summing = *binding, finishing = *binding;
    gr_status status = py_array_allocate(self->sums, device, error);
    if (status != GR_OK)
        return status;
    summing.device_out = self->sums->pointer;
    summing.out_bytes = (size_t)self->moments.params.results * SUMS * sizeof(double);
    status = gr_reduction_run(device, &self->call->reduction, &summing, NULL, interrupt, error);
    finishing.inputs[0] = (gr_source){.host = NULL, .origin = self->sums->pointer};
    if (status == GR_OK)
        status = gr_moments_run(device, &self->moments, &finishing, interrupt, error);
    return status == GR_OK ? py_array_detach_stream(self->sums, device, error) : status;
}

/* Returns a view of array k of the moments, which all have the shape of the results. NULL with an exception
 * set. */
static PyObject *view_part(const py_moments *self, py_array *block, size_t k, uint64_t pitch, size_t ndim,
                           const uint64_t *extent) {
    py_array *view = py_array_new_view(block, k == 0 ? GR_DTYPE_i64 : self->dtype, ndim, extent);
    if (view != NULL)
        view->pointer = block->pointer + pitch * k;
    return (PyObject *)view;
}

PyObject *py_moments_on_device(const py_moments *self, py_call *call, PyObject *make_tuple) {
    py_job *job = &call->job;
    const size_t ndim = job->ndim - 1;
    uint64_t extent[GR_MAX_NDIM], count = 1;
    memcpy(extent, job->extent, job->ndim * sizeof extent[0]);
    for (size_t d = 0; d < ndim; ++d)
        count *= extent[d];
    const uint64_t pitch = gr_moments_pitch(count), words = pitch / sizeof(double) * (self->order + 1);
    device_moments run = {
        .call = call,
        .moments = {.params = {.results = count,
                               .pitch = pitch,
                               .ddof = self->ddof,
                               .order = (uint32_t)self->order,
                               .flags = (self->bias ? GR_MOMENTS_BIAS : 0) |
                                        (self->fisher ? GR_MOMENTS_FISHER : 0) |
                                        (self->omits_nan ? GR_MOMENTS_OMIT_NAN : 0) |
                                        (self->dtype == GR_DTYPE_f64 ? GR_MOMENTS_OF_DOUBLE : 0)}}};
    const gr_device_info *info = &job->device->backend->info;
    run.sums = py_array_new(job->state, info->kind, info->index, GR_DTYPE_f64, job->ndim, extent);
    if (run.sums == NULL)
        return NULL;
    py_array_set_stream(run.sums, job->stream, job->stream_owner, job->stream_persists);
    job->dtype = GR_DTYPE_i64; /* the block of all arrays */
    job->ndim = 1;
    job->extent[0] = words;
    PyObject *block = py_job_run(job, work, &run), *arrays[PARTS] = {NULL}, *result = NULL;
    bool good = block != NULL;
    for (size_t k = 0; good && k <= self->order; ++k) {
        arrays[k] = view_part(self, (py_array *)block, k, pitch, ndim, extent);
        good = arrays[k] != NULL;
    }
    if (good)
        result = make_result(self, arrays, make_tuple);
    for (size_t k = 0; k < PARTS; ++k)
        Py_XDECREF(arrays[k]);
    Py_XDECREF(block);
    Py_DECREF(run.sums);
    return result;
}
