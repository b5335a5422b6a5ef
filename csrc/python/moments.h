/* The moments of a reduction, computed from the sums of powers on the host or on the device. */
#ifndef GR_PYTHON_MOMENTS_H
#define GR_PYTHON_MOMENTS_H

#include "python/call.h"

typedef struct py_moments {
    gr_dtype source; /* of the elements */
    gr_dtype dtype;  /* of the moments: f32 or f64 */
    size_t order;    /* of the highest moment: 1 to 4 */
    double ddof;
    bool bias, fisher, omits_nan, on_device;
} py_moments;

/* Returns make_tuple(count, mean, var, skewness, kurtosis) of the operator's sums, with None for moments
   beyond the order; NotImplemented if Python has to scale the elements or to warn; NULL with an exception
   set. */
PyObject *py_moments_from_sums(const py_moments *self, const py_job *job, PyArrayObject *sums,
                               PyObject *make_tuple);

/* Runs the planned call of the operator "moments", of at least one result, and returns the same tuple of
   arrays on the device, for which the host does not wait. Not for float64, whose powers may over- or
   underflow. */
PyObject *py_moments_on_device(const py_moments *self, py_call *call, PyObject *make_tuple);

#endif
