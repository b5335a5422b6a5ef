/* The one argument parser of the functions that reduce. */
#ifndef GR_PYTHON_ARGS_H
#define GR_PYTHON_ARGS_H

#include "python/intake/array.h"
#include "reduce/general/general.h"
#include "reduce/ladder/plan.h"

typedef struct py_args {
    gr_array array;   /* the caller releases it */
    gr_source source; /* its elements, or those of a device view */
    gr_request request;
    gr_device *device;
} py_args;

/* The device of a kind (the module's constants CUDA and SIM) and index, opened if need be. -1 with an
   exception set. */
int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out);
int py_take_device(py_state *state, PyObject *kind, PyObject *index, gr_device **out);

/* For gr_interrupt: `arg` points to the saved thread state. A backend calls it on the calling thread while
   the GIL is released. */
bool py_signal_pending(void *arg);

/* Parses (a, op, variant, block_size, grid_size, device_kind, device_index, *extra): the first seven fill
   `out`, `extra` optional non-negative integers go to extra[]. With `views`, a tuple is a view of device
   memory whose elements lie side by side. -1 with an exception set. */
int py_parse_args(py_state *state, PyObject *const *args, Py_ssize_t count, py_args *out, bool views,
                  size_t *extra, Py_ssize_t extra_count);

/* A new list of Python floats. */
PyObject *py_list_of_doubles(const double *values, size_t count);

/* How many reductions the calling thread has had done; counted by those that succeed. */
void py_count_run(void);
unsigned long long py_runs(void);

#endif
