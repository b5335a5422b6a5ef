/* Declares the functions of the extension module gpureduce._core that other files than module.c define. The
   method table in module.c lists all of them with their arguments and results. */
#ifndef GR_PYTHON_METHODS_H
#define GR_PYTHON_METHODS_H

#include "python/state.h"

/* The rungs of the ladder of reductions, and what runs one of them. */
PyObject *py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_time(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* Lists of records of rungs, a ladder each. */
PyObject *py_ladder_records(void);
PyObject *py_matmul_records(void);
PyObject *py_conv_records(void);
PyObject *py_exact_records(void);
PyObject *py_ladder_launches(PyObject *module, PyObject *ignored);
PyObject *py_general_coverage(PyObject *module, PyObject *ignored);

/* Reductions of any layout: functions that take the arguments of the public ones, with as little as possible
   before the launch, and one for what Python has made of such arguments. */
PyObject *py_reducer(PyObject *module, PyObject *args);
PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_exact(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* The states of exact sums: of elements, merged, and rounded. */
PyObject *py_exact_states(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_exact_merge(PyObject *module, PyObject *args);
PyObject *py_exact_round(PyObject *module, PyObject *args);
PyObject *py_exact_carry(PyObject *module, PyObject *args);
PyObject *py_exact_sharded(PyObject *module, PyObject *args);
/* Of whole arrays on several devices, launched at once: those, and results of other operators. */
PyObject *py_sharded_states(PyObject *module, PyObject *args);
PyObject *py_sharded_values(PyObject *module, PyObject *args);
PyObject *py_exact_rung(PyObject *module, PyObject *args);
/* States of any operator that stay on a device. */
PyObject *py_state_begin(PyObject *module, PyObject *args);
PyObject *py_state_merge(PyObject *module, PyObject *args);
PyObject *py_profile_exact(PyObject *module, PyObject *args);
PyObject *py_default_device(PyObject *module, PyObject *args);
PyObject *py_plan_general(PyObject *module, PyObject *args);
PyObject *py_flat_shapes(PyObject *module, PyObject *ignored);
PyObject *py_time_general(PyObject *module, PyObject *args);

/* Running sums and products along an axis; out, which is a view or None, is returned. */
PyObject *py_scan(PyObject *module, PyObject *args);
PyObject *py_profile_scan(PyObject *module, PyObject *args);

/* Reductions of segments along an axis, likewise. */
PyObject *py_segments(PyObject *module, PyObject *args);
PyObject *py_profile_segments(PyObject *module, PyObject *args);
PyObject *py_segment_coverage(PyObject *module, PyObject *ignored);
PyObject *py_label_order(PyObject *module, PyObject *args);
PyObject *py_profile_label_order(PyObject *module, PyObject *args);

/* Order statistics of lines: elements of given ranks, the first ones, and how many are no NaN. */
PyObject *py_order_select(PyObject *module, PyObject *args);
PyObject *py_order_firsts(PyObject *module, PyObject *args);
PyObject *py_order_valids(PyObject *module, PyObject *args);
PyObject *py_profile_order(PyObject *module, PyObject *args);
PyObject *py_profile_firsts(PyObject *module, PyObject *args);

/* Products of matrices, as py_reducer and py_general; out, which is a view or None, is returned. */
PyObject *py_multiplier(PyObject *module, PyObject *args);
PyObject *py_matmul(PyObject *module, PyObject *args);
PyObject *py_profile_matmul(PyObject *module, PyObject *args);
PyObject *py_cublas_problem(PyObject *module, PyObject *ignored);

/* Convolutions, likewise. */
PyObject *py_convolver(PyObject *module, PyObject *args);
PyObject *py_conv2d(PyObject *module, PyObject *args);
PyObject *py_profile_conv(PyObject *module, PyObject *args);
PyObject *py_cudnn_problem(PyObject *module, PyObject *ignored);

/* Reductions that were compiled while the program runs: a capsule that unloads the kernels at its end, and
   runs of it. Inputs are arrays or views of one shape, and bytes for the value of a scalar, in the order and
   of the dtypes that the kernels were compiled for; `by_position` is as in custom/params.h, `packed` as in
   general/layout.h, `out` a view or a C-contiguous array. */
PyObject *py_custom_load(PyObject *module, PyObject *args);
PyObject *py_custom_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
struct gr_custom *py_custom_from_capsule(PyObject *kernels); /* NULL with an exception set */

/* A user's kernel as a rung, on a device for which it was loaded; `data` and `out` are arrays of the host. */
PyObject *py_user_rung_run(PyObject *module, PyObject *args);
PyObject *py_user_rung_time(PyObject *module, PyObject *args);

/* Runs on the simulator with observers. */
PyObject *py_profile(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_simulate(PyObject *module, PyObject *args);
PyObject *py_kernel_params(PyObject *module, PyObject *args);

/* Arrays, memory and streams of a device. */
PyObject *py_array_class(PyObject *module, PyObject *class);
PyObject *py_on_low_memory(PyObject *module, PyObject *args);
PyObject *py_on_written(PyObject *module, PyObject *function);
PyObject *py_array_empty(PyObject *module, PyObject *args);
PyObject *py_array_view(PyObject *module, PyObject *args);
PyObject *py_convert(PyObject *module, PyObject *args);
PyObject *py_stream_handle(PyObject *module, PyObject *stream);
PyObject *py_stream_order(PyObject *module, PyObject *args);
PyObject *py_hold_until_done(PyObject *module, PyObject *args);
/* Waits for what is held so, and lets it go. */
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

   py_dlpack_import consumes a capsule named "dltensor" or "dltensor_versioned" and renames it "used_...". It
   returns (pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner): the
   elements are valid for as long as `owner` lives, whose end calls the producer's deleter. Shape and strides
   are handed over as the producer wrote them, except that an axis of at most one element has stride 0; the
   caller judges them. On an error the capsule is left to its producer: TypeError for something that is no
   such capsule or an element type without a NumPy name, BufferError for a capsule that was consumed, another
   major version or a broken structure.

   py_dlpack_exchange gives such a tuple and a stream, nothing of which was waited for; None where
   py_tensor_from_object gives 0.

   py_dlpack_export makes a capsule of C-ordered elements which holds `owner` until its consumer is done.
   `versioned` chooses the structure; `copied`, which only that one can say, that nobody else sees the
   elements. */
PyObject *py_dlpack_import(PyObject *module, PyObject *capsule);
PyObject *py_dlpack_exchange(PyObject *module, PyObject *object);
PyObject *py_dlpack_export(PyObject *module, PyObject *args);

/* How many reductions the calling thread has had done. */
PyObject *py_runs(PyObject *module, PyObject *ignored);

/* Whether an array holds no infinity and no NaN. */
PyObject *py_all_finite(PyObject *module, PyObject *array);

/* A tuple of the rows of dtypes.def: (name, NumPy's name, bytes of an element, kind, NumPy's names of the
   dtypes of sum and mean, scope, DLPack's type code and bits). */
PyObject *py_dtypes(PyObject *module, PyObject *ignored);

#endif
