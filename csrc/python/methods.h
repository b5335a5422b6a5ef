/* Declares the functions of the extension module gpureduce._core that other files than module.c define. The
   method table in module.c lists all of them with their arguments and results. */
#ifndef GR_PYTHON_METHODS_H
#define GR_PYTHON_METHODS_H

#include "python/state.h"

/* Runs and times one rung of the reduction ladder. */
PyObject *py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_time(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* Return a list of one tuple per rung of a ladder (py_rung_record). */
PyObject *py_ladder_records(void);
PyObject *py_matmul_records(void);
PyObject *py_conv_records(void);
PyObject *py_exact_records(void);
PyObject *py_ladder_launches(PyObject *module, PyObject *ignored);
PyObject *py_general_coverage(PyObject *module, PyObject *ignored);

/* Reductions over any axes: py_reducer makes fast-path functions that parse the public arguments in C;
   py_general is called behind the Python fallback. */
PyObject *py_reducer(PyObject *module, PyObject *args);
PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_exact(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* States of exact sums: computed from elements, merged and rounded. */
PyObject *py_exact_states(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_exact_merge(PyObject *module, PyObject *args);
PyObject *py_exact_round(PyObject *module, PyObject *args);
PyObject *py_exact_carry(PyObject *module, PyObject *args);
PyObject *py_exact_sharded(PyObject *module, PyObject *args);
/* Reductions of sharded arrays: states of exact sums, and results of other operators. */
PyObject *py_sharded_states(PyObject *module, PyObject *args);
PyObject *py_sharded_values(PyObject *module, PyObject *args);
PyObject *py_exact_rung(PyObject *module, PyObject *args);
/* States of any operator in device memory. */
PyObject *py_state_begin(PyObject *module, PyObject *args);
PyObject *py_state_merge(PyObject *module, PyObject *args);
PyObject *py_default_device(PyObject *module, PyObject *args);
PyObject *py_plan_general(PyObject *module, PyObject *args);
PyObject *py_flat_shapes(PyObject *module, PyObject *ignored);
PyObject *py_time_general(PyObject *module, PyObject *args);

/* Prefix sums and products along an axis; returns `out` if it is a view, not None. */
PyObject *py_scan(PyObject *module, PyObject *args);

/* Segmented reductions along an axis, and the order of labels. */
PyObject *py_segments(PyObject *module, PyObject *args);
PyObject *py_segment_coverage(PyObject *module, PyObject *ignored);
PyObject *py_label_order(PyObject *module, PyObject *args);

/* Order statistics along the last axis: elements of given ranks, the k first, and the number of elements that
   are not NaN. */
PyObject *py_order_select(PyObject *module, PyObject *args);
PyObject *py_order_firsts(PyObject *module, PyObject *args);
PyObject *py_order_valids(PyObject *module, PyObject *args);

/* Matrix multiplication: py_multiplier makes the fast path, py_matmul is called behind the Python
   fallback. */
PyObject *py_multiplier(PyObject *module, PyObject *args);
PyObject *py_matmul(PyObject *module, PyObject *args);
PyObject *py_cublas_problem(PyObject *module, PyObject *ignored);

/* Convolution: py_convolver makes the fast path, py_conv2d is called behind the Python fallback. */
PyObject *py_convolver(PyObject *module, PyObject *args);
PyObject *py_conv2d(PyObject *module, PyObject *args);
PyObject *py_cudnn_problem(PyObject *module, PyObject *ignored);

/* ReductionKernel: py_custom_load returns a capsule, which unloads the kernels when it is collected;
   py_custom_run runs them. Inputs are arrays or views of one shape, and bytes for the value of a scalar, in
   the order and of the dtypes for which the kernels were compiled. `by_position` is as in custom/params.h,
   `packed` as in general/layout.h; each output is a view or a C-contiguous array. */
PyObject *py_custom_load(PyObject *module, PyObject *args);
PyObject *py_custom_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
struct gr_custom *py_custom_from_capsule(PyObject *kernels); /* NULL with an exception set */

/* Runs and times a user's kernel as a rung, on the device for which it was loaded; `data` and `out` are
   NumPy arrays. */
PyObject *py_user_rung_run(PyObject *module, PyObject *args);
PyObject *py_user_rung_time(PyObject *module, PyObject *args);

/* Runs on the simulator with instrumentation. */
PyObject *py_profile_device(PyObject *module, PyObject *instruments);
PyObject *py_profile_launches(PyObject *module, PyObject *profile);
PyObject *py_simulate(PyObject *module, PyObject *args);
PyObject *py_parse_ptx(PyObject *module, PyObject *args);
PyObject *py_kernel_params(PyObject *module, PyObject *args);

/* Device arrays, device memory and streams. */
PyObject *py_array_class(PyObject *module, PyObject *class);
PyObject *py_on_low_memory(PyObject *module, PyObject *args);
PyObject *py_on_written(PyObject *module, PyObject *function);
PyObject *py_array_empty(PyObject *module, PyObject *args);
PyObject *py_array_view(PyObject *module, PyObject *args);
PyObject *py_convert(PyObject *module, PyObject *args);
PyObject *py_stream_handle(PyObject *module, PyObject *stream);
PyObject *py_stream_order(PyObject *module, PyObject *args);
PyObject *py_hold_until_done(PyObject *module, PyObject *args);
/* Waits for the work behind all deferred releases of this process, and releases the objects. */
void py_deferred_release_wait(py_state *state);
PyObject *py_device_alloc(PyObject *module, PyObject *args);
PyObject *py_device_free(PyObject *module, PyObject *args);
PyObject *py_device_write(PyObject *module, PyObject *args);
PyObject *py_device_read(PyObject *module, PyObject *args);
PyObject *py_stream_wait(PyObject *module, PyObject *args);
PyObject *py_stream_captured(PyObject *module, PyObject *args);
PyObject *py_call_on(PyObject *module, PyObject *args);
PyObject *py_pointer_device(PyObject *module, PyObject *pointer);

/* Exchange of arrays with other libraries.

   py_dlpack_import consumes a capsule named "dltensor" or "dltensor_versioned" and renames it "used_...".
   It returns (pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner):
   the elements are valid while `owner` is alive, and the producer's deleter is called when `owner` is
   collected. Shape and strides are returned unchecked; an axis of at most one element has stride 0. After an
   error the capsule still owns the tensor: TypeError if the object is not such a capsule or the element type
   has no NumPy name, BufferError if the capsule was consumed before, has another major version or an invalid
   structure.

   py_dlpack_exchange returns such a tuple and the producer's stream, for which the caller has to wait; None
   if py_tensor_from_object returns 0.

   py_dlpack_export returns a capsule that keeps `owner` alive until the consumer calls the deleter.
   `versioned` selects the structure; `copied` sets the flag of the versioned structure which says that the
   elements are a copy. */
PyObject *py_dlpack_import(PyObject *module, PyObject *capsule);
PyObject *py_dlpack_exchange(PyObject *module, PyObject *object);
PyObject *py_dlpack_export(PyObject *module, PyObject *args);

/* Returns the number of successful runs of the calling thread. */
PyObject *py_runs(PyObject *module, PyObject *ignored);

/* Whether an array has no infinity and no NaN. */
PyObject *py_all_finite(PyObject *module, PyObject *array);

/* Returns the rows of dtypes.def: (name, NumPy's name, bytes per element, kind, NumPy's names of the dtypes
   of sum and mean, scope, DLPack's type code and bits). */
PyObject *py_dtypes(PyObject *module, PyObject *ignored);

#endif
