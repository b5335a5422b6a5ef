/* Arguments that several functions of the core take, and what their calls have in common. */
#ifndef GR_PYTHON_ARGS_H
#define GR_PYTHON_ARGS_H

#include "python/state.h"
#include "reduce/reduce.h"

/* The text of a str, or NULL with an exception set. One that holds a NUL is no name of ours and must not pass
   for what stands before the NUL. */
const char *py_text_argument(PyObject *value, const char *name);

/* The text of a str; NULL without an exception where UTF-8 cannot encode it, as a lone surrogate. */
const char *py_utf8(PyObject *value, Py_ssize_t *length);
/* None is 0, and 0 is GR_GIVEN_ZERO; anything else is an integer (operator.index, so NumPy integers too, but
   no bool). An integer past 64 bits is clamped: every check of the value refuses it anyway, naming what is
   valid. */
int py_size_argument(PyObject *value, const char *name, int64_t *out);

/* The operator of a name. -1 with an exception set. */
int py_find_op(PyObject *name, gr_op *out);

/* The device of a kind (the module's constants CUDA and SIM) and index, opened if need be. -1 with an
   exception set. */
int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out);
int py_take_device(py_state *state, PyObject *kind, PyObject *index, gr_device **out);

/* A stream by its handle, or by an object that has one: `__cuda_stream__`, PyTorch's `cuda_stream`, CuPy's
   `ptr`. The legacy one is 0. -1 with an exception set. */
int py_stream_argument(const py_state *state, PyObject *given, gr_stream *out);

/* Work of the core, done without the GIL between py_begin and py_end. */
typedef struct py_work {
    gr_error error;
    gr_interrupt interrupt; /* a signal stops the work */
    PyThreadState *thread;  /* of the caller, for callbacks */
    int process;            /* in which the work began */
} py_work;

void py_begin(py_work *work);
/* -1 with an exception set where the work failed. */
int py_end(const py_state *state, py_work *work, gr_status status);

/* Appends to a new list and takes the item's reference; without item, or memory, the list is no more. */
void py_append(PyObject **list, PyObject *item);
/* A tuple of what is in the list, whose reference it takes. NULL for NULL. */
PyObject *py_as_tuple(PyObject *list);
PyObject *py_list_of_doubles(const double *values, size_t count);

/* For py_runs; called by reductions that succeed. */
void py_count_run(void);

#endif
