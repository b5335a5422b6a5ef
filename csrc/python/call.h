/* One reduction over any axes, from converted arguments to its result: infers shape and dtype of the result,
   makes the plan and runs it. Both entry points use it: the fast path in C and the one behind the Python
   fallback. */
#ifndef GR_PYTHON_CALL_H
#define GR_PYTHON_CALL_H

#include "exact/exact.h"
#include "python/job.h"

/* Indices of the job's inputs: the elements; a mask, or the second vector of a dot product. */
enum { PY_SOURCE, PY_SECOND };

typedef struct py_call {
    py_job job;
    gr_reduction reduction;
    unsigned char initial[sizeof(double)]; /* where reduction.initial of the fast path points */
    PyObject *progress;                    /* the callback, or NULL; borrowed */
    bool keepdims;
    bool exact;            /* computed by exact/ instead of reduce/ */
    uint32_t fold, blocks; /* tuning of an exact sum, as in gr_exact; 0: chosen by the planner */
    bool squares;          /* the second vector of a dot is the first */
    bool states;           /* the results are states of exact sums, not rounded numbers */
} py_call;

/* Initialises an empty call. */
void py_call_init(py_call *self, py_state *state);
void py_call_release(py_call *self);

/* Whether the second input fits the elements: a mask, or a vector of their dtype, of their shape. */
bool py_call_has_fitting_second(const py_call *self);

/* Sets dtype and shape of the result, from operator, dtype, axes and elements. */
void py_call_infer_result(py_call *self);

/* Makes the results of a planned call states of exact sums, (results, parts, words) of int64 in C order.
   Returns the size of a state. */
gr_exact_size py_call_infer_states(py_call *self);

/* Makes the plan. Copies host arrays first if their strides need more dimensions than the kernels have. -1
   with an exception set. */
int py_call_plan(py_call *self);

/* Plans the program of a py_call that has at least one result. */
gr_planner py_call_program;

/* Whether a stream of the call is unusable, or is being captured into a graph, which takes no work on the
   host: Python raises the error. */
bool py_call_is_captured(const py_call *self);

/* Enqueues the work of a planned py_call, its argument; a py_job_work. */
gr_status py_call_work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                       gr_error *error);

/* Runs the call. Returns a new reference to the result, or NULL with an exception set. */
PyObject *py_call_run(py_call *self);

#endif
