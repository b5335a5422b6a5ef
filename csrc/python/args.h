/* Conversion of single arguments (text, integers, operators, devices, streams) from Python objects to C
   values, and helpers that every function of the extension module uses: releasing the GIL around work,
   building lists, and counting runs. */
#ifndef GR_PYTHON_ARGS_H
#define GR_PYTHON_ARGS_H

#include "matmul/matmul.h"
#include "python/state.h"
#include "reduce/reduce.h"

/* Returns the UTF-8 text of a str, or NULL with an exception set. Returns "" for a text that contains a NUL:
   C would compare only the part before it. */
const char *py_text_argument(PyObject *value, const char *name);

/* Returns the UTF-8 text of a str, or NULL without an exception if UTF-8 cannot encode it (a lone surrogate).
   `length` is in bytes. */
const char *py_utf8(PyObject *value, Py_ssize_t *length);

/* Converts an optional size: None to 0, the number 0 to GR_EXPLICIT_ZERO, an integer (operator.index: also
   NumPy's, but not bool) to itself. Clamps integers beyond 64 bits, because the later range check rejects
   them anyway and names the valid range. -1 with an exception set. */
int py_size_argument(PyObject *value, const char *name, int64_t *out);

/* Finds a precision by its name; None leaves *out as it is. -1 with an exception set. */
int py_precision_argument(PyObject *name, gr_precision *out);

/* Finds a precision by its name on the fast path; None and NULL leave *out as it is. False if the dtype does
   not support the precision, or if there is none of this name: fall back to Python. */
bool py_parse_precision(PyObject *name, gr_dtype dtype, gr_precision *out);

/* Returns the text of a str; NULL if `value` is NULL or no str. */
const char *py_text_of(PyObject *value);

/* Parses an axis of an array given as an int, on the fast path. False if it is no int or out of range: fall
   back to Python. */
bool py_parse_axis(PyObject *axis, size_t ndim, size_t *out);

/* Marks the axes of `axis=` of a reduction, which are all (None), an int or a tuple of ints, on the fast
   path. False if they are none of these, out of range or named twice: fall back to Python. */
bool py_parse_axes_argument(PyObject *axis, size_t ndim, bool *reduced);

/* Copies integers of the host along one axis, a NumPy array or a list or tuple of ints, to a new contiguous
   array of int64. 1: copied; 0: no such integers: fall back to Python; -1 with an exception set. */
int py_host_integers(PyObject *object, PyObject **out);

/* Parses a bool of a fast path, whose default is `missing`. False if it is no bool: fall back to Python. */
bool py_parse_bool(PyObject *value, bool missing, bool *out);

/* Finds an operator by its name. -1 with an exception set. */
int py_find_op(PyObject *name, gr_op *out);

/* Parses the dict `fields` of the argument `name` by the format and the names of
   PyArg_ParseTupleAndKeywords; results are borrowed from the dict. False with an exception set. */
bool py_parse_fields(PyObject *fields, const char *name, const char *format, char **names, ...);

/* Returns the device of a kind (the module's constants CUDA and SIM) and an index, and opens it on first use.
   -1 with an exception set. */
int py_open_device(py_state *state, gr_device_kind kind, long index, gr_device **out);
/* Opens a device like py_open_device. `kind` may also be a capsule that py_profile_device made, which stands
   for its simulator. */
#define PY_PROFILE_CAPSULE "gpureduce.profile"
int py_parse_device(py_state *state, PyObject *kind, PyObject *index, gr_device **out);

/* Returns a capsule that keeps the module alive, which owns devices and the name of the folder of kernels;
   its destructor releases the capsule's context. NULL with an exception set. */
PyObject *py_capsule_new(PyObject *module, void *pointer, const char *name, PyCapsule_Destructor destructor);

/* Converts a stream: an integer handle, or an object with `__cuda_stream__`, `cuda_stream` (PyTorch) or `ptr`
   (CuPy). The legacy default stream becomes 0. -1 with an exception set. */
int py_stream_argument(const py_state *state, PyObject *value, gr_stream *out);

/* Work that runs without the GIL, between py_begin and py_end. */
typedef struct py_work {
    gr_error error;
    gr_interrupt interrupt; /* polled by the work; true once Python has a pending signal */
    PyThreadState *thread;  /* the caller's thread state, which callbacks restore */
    int process;            /* process id at py_begin: a signal handler may fork */
} py_work;

void py_begin(py_work *work);
/* Restores the GIL. -1 with an exception set if `status` is an error or the process was forked meanwhile. */
int py_end(const py_state *state, py_work *work, gr_status status);

/* Appends an item to a list and steals the reference to the item. Sets *list to NULL if item is NULL or
   memory runs out. */
void py_append(PyObject **list, PyObject *item);
/* Converts a list to a tuple and steals the reference to the list. Returns NULL for NULL. */
PyObject *py_as_tuple(PyObject *list);
/* Returns make(*items); a named tuple is made without its Python code. NULL with an exception set. */
PyObject *py_make_tuple(PyObject *make, PyObject *const *items, size_t count);
/* Return `count` numbers; NULL with an exception set. Integers are `step` elements apart in memory. */
PyObject *py_tuple_of_integers(const int64_t *values, size_t step, Py_ssize_t count);
PyObject *py_list_of_doubles(const double *values, size_t count);

/* Times work by `timer`, which writes one figure per repeat to both arrays. `timing` is the tuple (buffers,
   rounds, repeats). Returns (first pass, all passes), or NULL with an exception set. */
typedef gr_status (*py_timer)(void *arg, const gr_timing *timing, double *first_pass, double *all_passes,
                              gr_error *error);
PyObject *py_time_passes(const py_state *state, PyObject *timing, py_timer timer, void *arg);

/* Increments this thread's counter of successful runs, which py_runs returns. */
void py_count_run(void);

#endif
