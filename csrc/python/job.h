/* What all calls on arrays have in common, whatever they work out: the device and the stream, the order with
   the streams of others, and room for the result. */
#ifndef GR_PYTHON_JOB_H
#define GR_PYTHON_JOB_H

#include "python/args.h"
#include "python/intake/operand.h"

enum { PY_JOB_INPUTS = 2 };

typedef struct py_job {
    py_state *state;
    py_operand inputs[PY_JOB_INPUTS]; /* of a reduction its elements, and a mask or the other vector */
    size_t input_count;
    py_operand place; /* `out` on a device */
    gr_device *device;
    gr_stream stream;       /* in which it works; the legacy one is 0 */
    bool lasts;             /* the stream, as in array.h */
    PyObject *stream_owner; /* what keeps it, or NULL; borrowed, as what follows */
    PyObject *out;          /* what the caller gave for the result, or NULL */
    bool on_device;         /* the result stays there */
    bool as_array;          /* also a result of no dimensions */
    bool places;            /* results are positions, and negative where there is none */
    bool rounded;           /* the result may be infinite or NaN where no input is */
    bool doubtful;          /* it is, and on the host: NumPy's state is to know of it */
    bool alone;             /* the device is not attached meanwhile: a callback may use others, too */
    gr_dtype dtype;         /* of the result */
    size_t ndim;            /* of the result, with its lengths and, in host memory, strides */
    uint64_t extent[GR_MAX_NDIM];
    npy_intp stride[GR_MAX_NDIM];
    py_work work;
} py_job;

/* One of which nothing is taken yet. */
void py_job_begin(py_job *self, py_state *state);
void py_job_release(py_job *self);

/* The arguments of the public functions as far as they need no Python. 1: taken; 0: to be left to Python; -1
   with an exception set. First the inputs are taken, then the device, at last the stream; a result of the
   shape and dtype in `self` before py_job_take_out. */
int py_job_take_device(py_job *self, PyObject *given);
int py_job_take_out(py_job *self, PyObject *out, PyObject *as_device, bool on_device);
int py_job_take_stream(py_job *self, PyObject *given);
/* Whether elements lie elsewhere than on the device of the job. */
bool py_job_is_elsewhere(const py_job *self, const py_operand *operand);

/* Has the result in C order. False where it is too large for any memory. */
bool py_job_stride_result(py_job *self);
/* Takes the view that the result, described before, goes to on a device; None: none. -1 with an exception
 * set. */
int py_job_take_place(py_job *self, PyObject *out);
/* Whether the place of the result, on the device, overlaps with what is read there. */
bool py_job_overlaps(const py_job *self);

static inline bool py_is_none(PyObject *given) {
    return given == NULL || given == Py_None;
}

/* Puts the work into the stream; what is in host memory is waited for. */
typedef gr_status (*py_job_work)(void *arg, gr_device *device, const gr_binding *binding,
                                 const gr_interrupt *interrupt, gr_error *error);

/* Does the work, with the device attached, between what others do in their streams before and after it.
   `made`: an array on the device that is to get its memory, or NULL. Without the GIL, after py_begin. */
gr_status py_job_do(py_job *self, py_job_work work, void *arg, py_array *made, gr_binding *binding,
                    gr_error *error);

/* Does the work and returns the result, a new reference. */
PyObject *py_job_run(py_job *self, py_job_work work, void *arg);

#endif
