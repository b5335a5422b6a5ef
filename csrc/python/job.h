/* The part that all calls on arrays have in common: resolves device, stream and `out`, allocates the result,
   orders the work after and before the streams of the inputs, and runs it without the GIL. */
#ifndef GR_PYTHON_JOB_H
#define GR_PYTHON_JOB_H

#include "python/args.h"
#include "python/operands/operand.h"
#include "python/signature.h"

enum { PY_JOB_INPUTS = 3 };

typedef struct py_job {
    py_state *state;
    /* Of a reduction: the elements; a mask, or the second vector. Of a convolution: x, w, and a bias. */
    py_operand inputs[PY_JOB_INPUTS];
    size_t input_count;
    py_operand device_out; /* the caller's `out`, if it is device memory */
    gr_device *device;
    gr_stream stream;             /* the work is enqueued in it; 0: legacy default stream */
    bool stream_persists;         /* the stream outlives the result, as in array.h */
    PyObject *stream_owner;       /* keeps the stream alive, or NULL; borrowed */
    PyObject *out;                /* the caller's `out`, or NULL; borrowed */
    const py_tensors *tensors;    /* the result is a tensor by these rules; NULL: no tensor */
    py_conversion conversion;     /* of the inputs on the fast path: PY_NO_COPY, PY_DETACHED or PY_DEFERRED */
    PyObject *like;               /* the tensor of the elements, if tensors != NULL; borrowed */
    bool on_device;               /* the result stays on the device */
    bool as_array;                /* a result without dimensions is an array, not a scalar */
    bool is_index;                /* the results are positions; negative: none found */
    bool check_nonfinite;         /* the result may be infinite or NaN although no input is: to be checked */
    bool has_nonfinite;           /* set by py_job_run: a checked result is infinite, NaN or not found */
    bool detached;                /* the device stays detached: a progress callback may use other devices */
    gr_dtype dtype;               /* of the result */
    size_t ndim;                  /* of the result */
    uint64_t extent[GR_MAX_NDIM]; /* of the result, elements */
    npy_intp stride[GR_MAX_NDIM]; /* of the result in host memory, bytes */
    py_work work;
} py_job;

/* Initialises an empty job. */
void py_job_init(py_job *self, py_state *state);
/* Lets a job return a tensor if its signature says so. Called before the arguments are converted. */
void py_job_use_tensors(py_job *self, const py_signature *signature, PyObject *like);
/* Lets the inputs be arrays of JAX on the fast path (PY_DEFERRED), for a job that py_job_run runs. */
void py_job_accept_jax(py_job *self);
void py_job_release(py_job *self);

/* Parse `device=`, `stream=`, and `out=` with `as_device=` and `stream=`, of the public functions on the fast
   path. 1: parsed; 0: fall back to Python; -1 with an exception set. Call them in this order after the inputs
   are converted; dtype, ndim and extent of the result must be set before `out=` is parsed. Without
   `as_device=`, the result stays on the device if `on_device`. */
int py_job_parse_device(py_job *self, PyObject *value);
int py_job_parse_stream(py_job *self, PyObject *value);
int py_job_parse_out_and_stream(py_job *self, const py_arguments arguments, bool on_device);
/* Parses all three, for inputs that must all be on one device or all on the host; else 0. */
int py_job_parse_options(py_job *self, const py_arguments arguments);
/* Converts two inputs, whose strides become multiples of the element size. */
int py_job_parse_inputs(py_job *self, PyObject *const *inputs, const char *const *names,
                        py_conversion conversion);
/* Whether an operand is not on the job's device. */
bool py_job_is_on_other_device(const py_job *self, const py_operand *operand);
/* Whether an operand is not where the first input is: on the job's device, or on the host. */
bool py_job_is_apart(const py_job *self, const py_operand *operand);

/* Whether the result has no elements. */
bool py_job_is_empty(const py_job *self);
/* Gives the result strides of C order. False if its size in bytes overflows. */
bool py_job_set_c_strides(py_job *self);
/* Parses `out`, a view of device memory for the result, whose shape and dtype are set; None: no view. The
   view may have another shape with the same number of elements. -1 with an exception set. */
int py_job_parse_device_out(py_job *self, PyObject *out);
/* Parses where a call runs and puts its result: the tuple (out, device_kind, device_index, stream). -1 with
   an exception set. */
int py_job_parse_destination(py_job *self, PyObject *destination);
/* Whether two operands in device memory overlap. */
bool py_operands_overlap(const py_operand *a, const py_operand *b);
/* Whether `out` in device memory overlaps the input of an index, or any input. */
bool py_job_out_overlaps_input(const py_job *self, size_t input);
bool py_job_out_overlaps(const py_job *self);
/* Raises an error if `out` overlaps any input, which the message calls `name`. -1 with an exception set. */
int py_job_check_overlap(const py_job *self, const char *name);
/* Whether the result begins at a multiple of 16 bytes. */
bool py_job_out_is_aligned(const py_job *self);

static inline bool py_is_none(PyObject *value) {
    return value == NULL || value == Py_None;
}

/* Enqueues the work in the stream. Waits for the work if an input or the result is in host memory. */
typedef gr_status (*py_job_work)(void *arg, gr_device *device, const gr_binding *binding,
                                 const gr_interrupt *interrupt, gr_error *error);

/* Runs the work with the device attached, after earlier work in the inputs' streams and before later work
   in them. `new_array`: a new device array that gets its memory here, or NULL. Call without the GIL, after
   py_begin. */
gr_status py_job_execute(py_job *self, py_job_work work, void *arg, py_array *new_array, gr_binding *binding,
                         gr_error *error);

/* Allocates the result, runs the work and returns the result: a new reference, or NULL with an exception
   set. */
PyObject *py_job_run(py_job *self, py_job_work work, void *arg);
/* Reports an object that was written to its library, if the operand is a tensor: PyTorch's autograd counts
   the writes. -1 with an exception set. */
int py_job_mark_written(const py_job *self, const py_operand *operand, PyObject *object);
/* Returns a new device array as gr_labels_run writes it, of labels on the device of `call`, in the stream of
   this parsed call: the offsets of the groups, then the numbers of their rows. NULL with an exception set. */
PyObject *py_labels_to_segments(const py_job *call, PyObject *labels, Py_ssize_t groups);
/* Runs the work if the arguments were parsed (1), or returns NotImplemented (0) or NULL (-1). */
PyObject *py_job_run_parsed(py_job *self, int parsed, py_job_work work, void *arg);
/* Returns the result of a call whose Python fallback needs less memory: NotImplemented, with the exception
   cleared, where it is NULL because memory ran out. */
PyObject *py_job_fall_back_without_memory(PyObject *result);

#endif
