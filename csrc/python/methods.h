/* Declares the functions of the extension module gpureduce._core, py_<name> for each row of methods.def, and
   functions of files that have no header. */
#ifndef GR_PYTHON_METHODS_H
#define GR_PYTHON_METHODS_H

#include "python/state.h"

#define PY_PARAMETERS_NOARGS PyObject *module, PyObject *ignored
#define PY_PARAMETERS_O PyObject *module, PyObject *argument
#define PY_PARAMETERS_VARARGS PyObject *module, PyObject *args
#define PY_PARAMETERS_NAMED PyObject *module, PyObject *args, PyObject *named
#define PY_PARAMETERS_FASTCALL PyObject *module, PyObject *const *args, Py_ssize_t count
#define METHOD(name, convention) PyObject *py_##name(PY_PARAMETERS_##convention);
#include "python/methods.def"
#undef METHOD

/* Append a tuple per rung of a ladder (py_rung_record) to a list, by py_append. */
void py_append_ladder(PyObject **list);
void py_append_matmul(PyObject **list);
void py_append_conv(PyObject **list);
void py_append_exact(PyObject **list);
void py_append_groups(PyObject **list);
void py_append_scans(PyObject **list);

/* Returns the kernels of a capsule that py_custom_load made. NULL with an exception set. */
struct gr_custom *py_custom_from_capsule(PyObject *kernels);

int py_default_device_init(py_state *state);

/* Lets Python's module lzma unpack kernels where there is no liblzma. */
void py_unpack_init(void);

/* Finds the device of calls on host arrays that name none: 1, or 0 if Python code has to find out which
   devices exist; -1 with an exception set. */
int py_find_default_device(py_state *state, int *kind, int *index);

/* Keeps an object alive until the work that was enqueued in a stream is done; not if the stream is being
   captured into a graph. -1 with an exception set. */
int py_defer_release(py_state *state, gr_device *device, gr_stream stream, PyObject *object);

/* Waits for the work behind all deferred releases of this process, and releases the objects. */
void py_deferred_release_wait(py_state *state);

#endif
