/* A reduction from the arguments of Python to its result, whoever took the arguments. */
#ifndef GR_PYTHON_CALL_H
#define GR_PYTHON_CALL_H

#include "python/args.h"
#include "python/intake/operand.h"

typedef struct py_call {
    py_state *state;
    py_operand source, second, place; /* the elements, a mask or the other vector, `out` on a device */
    gr_reduction reduction;
    gr_device *device;
    gr_stream stream;       /* in which it works; the legacy one is 0 */
    bool lasts;             /* the stream, as in array.h */
    PyObject *stream_owner; /* what keeps it, or NULL; borrowed, as what follows */
    PyObject *out;          /* what the caller gave for the result, or NULL */
    PyObject *progress;     /* a callback, or NULL */
    bool on_device;         /* the result stays there */
    bool keepdims;
    bool as_array; /* also a result of no dimensions */
    bool doubtful; /* a rounded result is on the host and not finite: NumPy's state is to know of it */
    size_t ndim;   /* of the result, with its lengths and, in host memory, strides */
    uint64_t extent[GR_MAX_NDIM];
    npy_intp stride[GR_MAX_NDIM];
    py_work work;
} py_call;

/* One of which nothing is taken yet. */
void py_call_begin(py_call *self, py_state *state);
void py_call_release(py_call *self);

/* The dtype of the result. */
gr_dtype py_call_dtype(const py_call *self);

/* Makes the plan, of copies where the strides of arrays do not merge. -1 with an exception set. */
int py_call_plan(py_call *self);

/* Runs it and returns the result, a new reference. */
PyObject *py_call_run(py_call *self);

#endif
