/* A reduction from the arguments of Python to its result, whoever took the arguments. */
#ifndef GR_PYTHON_CALL_H
#define GR_PYTHON_CALL_H

#include "exact/exact.h"
#include "python/job.h"

enum { PY_SOURCE, PY_SECOND }; /* the inputs of its job: the elements, and a mask or the other vector */

typedef struct py_call {
    py_job job;
    gr_reduction reduction;
    PyObject *progress; /* a callback, or NULL; borrowed */
    bool keepdims;
    bool exact;            /* by exact/ rather than reduce/ */
    uint32_t fold, blocks; /* of an exact one, as in gr_exact */
    bool squares, states;
} py_call;

/* One of which nothing is taken yet. */
void py_call_begin(py_call *self, py_state *state);
void py_call_release(py_call *self);

/* Says of which dtype and shape the result is, once operator, dtype, axes and elements are known. */
void py_call_shape(py_call *self);

/* Has the results be states, which follow each other in C order; of one that is planned. */
gr_exact_size py_call_shape_states(py_call *self);

/* Makes the plan, of copies where the strides of arrays do not merge. -1 with an exception set. */
int py_call_plan(py_call *self);

/* What it asks for where it is an exact one; points into it. */
gr_exact py_call_exact(const py_call *self);

/* Runs it and returns the result, a new reference. */
PyObject *py_call_run(py_call *self);

#endif
