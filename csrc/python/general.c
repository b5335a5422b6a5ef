/* Reductions over any axes whose arguments Python has already checked and converted: what gpureduce/_reduce
   calls when the fast path falls back. Also returns plans without running them, and times kernels with CUDA
   events. */
#include "python/methods.h"

#include <stdlib.h>
#include <string.h>

#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"

static int parse_second(PyObject *object, py_call *self) {
    const py_operand *source = &self->job.inputs[PY_SOURCE];
    py_operand *second = &self->job.inputs[PY_SECOND];
    const bool pair = gr_op_is_pair(self->reduction.op);
    if (self->states && pair && object == Py_True) {
        self->reduction.layout.has_second = self->squares = true;
        return 0;
    }
    if (object == Py_None)
        return pair ? PY_RAISE(PyExc_TypeError, "second: expected the other vector") : 0;
    if (py_operand_from_object(self->job.state, object, PY_NATIVE, GR_SCOPE_GENERAL, "second", second) < 0)
        return -1;
    self->reduction.layout.has_second = true;
    if (py_call_has_fitting_second(self))
        return 0;
    return py_operand_same_shape(second, source)
               ? PY_RAISE(PyExc_TypeError, "second: unexpected dtype %s", gr_dtypes[second->dtype].numpy_name)
               : PY_RAISE(PyExc_ValueError, "second: expected the shape of the source");
}

static int parse_initial(PyObject *initial, py_call *self) {
    if (initial == Py_None)
        return 0;
    gr_dtype dtype = GR_DTYPE_COUNT;
    if (!PyArray_Check(initial) ||
        py_find_dtype(self->job.state, (PyArrayObject *)initial, GR_SCOPE_GENERAL, "initial", &dtype) < 0 ||
        dtype != self->job.dtype || PyArray_SIZE((PyArrayObject *)initial) != 1 ||
        !PyArray_ISNOTSWAPPED((PyArrayObject *)initial)) {
        return PyErr_Occurred()
                   ? -1
                   : PY_RAISE(PyExc_TypeError, "initial: expected one element of the result's dtype");
    }
    self->reduction.initial = PyArray_DATA((PyArrayObject *)initial);
    return 0;
}

/* Parses (a, op, axes, second, initial, out, device_kind, device_index) and makes the plan. Without a device
   (device_kind is NULL) only the plan is used. */
static int parse_call(py_state *state, PyObject *const *args, py_call *self) {
    py_operand *source = &self->job.inputs[PY_SOURCE];
    if (py_find_op(args[1], &self->reduction.op) < 0 ||
        py_operand_from_object(state, args[0], PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0)
        return -1;
    self->job.as_array = true;
    self->reduction.dtype = source->dtype;
    if (!gr_op_takes(self->reduction.op, self->reduction.dtype))
        return PY_RAISE(PyExc_TypeError, "a: %s takes %s, not %s", gr_ops[self->reduction.op].name,
                        gr_ops[self->reduction.op].takes == GR_DTYPES_BITS ? "bool and integers"
                                                                           : "floating numbers",
                        gr_dtypes[self->reduction.dtype].numpy_name);
    if (self->exact && !gr_exact_takes(self->reduction.op, self->reduction.dtype))
        return PY_RAISE(PyExc_TypeError, "a: there is no exact %s of %s", gr_ops[self->reduction.op].name,
                        gr_dtypes[self->reduction.dtype].numpy_name);
    if (py_parse_axes(args[2], source->ndim, self->reduction.layout.reduced) < 0)
        return -1;
    py_call_infer_result(self);
    if (gr_op_numbers(self->reduction.op) > 1 &&
        (source->ndim == GR_MAX_NDIM || (args[6] != NULL && args[5] != Py_None)))
        return PY_RAISE(PyExc_ValueError, "%s: its results are for the host, of at most %d dimensions",
                        gr_ops[self->reduction.op].name, GR_MAX_NDIM - 1);
    if (parse_second(args[3], self) < 0 || parse_initial(args[4], self) < 0)
        return -1;
    if (args[6] != NULL && (py_parse_device(state, args[6], args[7], &self->job.device) < 0 ||
                            py_job_parse_device_out(&self->job, args[5]) < 0))
        return -1;
    return py_call_plan(self);
}

/* Parses the operator parameter, which kernels get instead of the number of elements. */
static int parse_parameter(PyObject *value, gr_reduction *reduction) {
    reduction->parameter = PyLong_AsUnsignedLongLong(value);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count < 9 || count > 11)
        return PyErr_Format(PyExc_TypeError, "expected 9 to 11 arguments, got %zd", count);
    py_call now;
    py_call_init(&now, state);
    PyObject *result = NULL;
    if (parse_call(state, args, &now) == 0 &&
        (count < 10 || py_stream_argument(state, args[9], &now.job.stream) == 0) &&
        (count < 11 || parse_parameter(args[10], &now.reduction) == 0)) {
        now.progress = args[8] != Py_None ? args[8] : NULL;
        result = py_call_run(&now);
    }
    py_call_release(&now);
    return result;
}

/* Parses an integer from 0 to `max`. */
static int parse_number(PyObject *value, const char *name, uint32_t max, uint32_t *out) {
    const unsigned long number = PyLong_AsUnsignedLong(value);
    if (PyErr_Occurred())
        return -1;
    *out = (uint32_t)number;
    return number <= max ? 0 : PY_RAISE(PyExc_ValueError, "%s: expected up to %u", name, (unsigned)max);
}

PyObject *py_exact(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    enum { MAX_BLOCKS = 65535 }; /* limit of gridDim.y */
    py_state *state = PyModule_GetState(module);
    if (count != 11)
        return PyErr_Format(PyExc_TypeError, "expected 11 arguments, got %zd", count);
    py_call now;
    py_call_init(&now, state);
    now.exact = true;
    PyObject *result = NULL;
    if (parse_call(state, args, &now) == 0 && py_stream_argument(state, args[8], &now.job.stream) == 0 &&
        parse_number(args[9], "fold", INT32_MAX, &now.fold) == 0 &&
        parse_number(args[10], "blocks", MAX_BLOCKS, &now.blocks) == 0)
        result = py_call_run(&now);
    py_call_release(&now);
    return result;
}

PyObject *py_exact_states(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count < 7 || count > 8)
        return PyErr_Format(PyExc_TypeError, "expected 7 or 8 arguments, got %zd", count);
    PyObject *const all[] = {args[0], args[1], args[2], args[3], Py_None, Py_None, args[4], args[5]};
    py_call now;
    py_call_init(&now, state);
    now.exact = now.states = true;
    PyObject *result = NULL;
    if (parse_call(state, all, &now) == 0 && py_stream_argument(state, args[6], &now.job.stream) == 0) {
        const gr_exact_size size = py_call_infer_states(&now);
        if (!py_job_set_c_strides(&now.job))
            PyErr_NoMemory();
        else if (count < 8 || py_job_parse_device_out(&now.job, args[7]) == 0)
            result = py_call_run(&now);
        if (result != NULL && !now.job.on_device)
            gr_exact_states_normalise(PyArray_DATA((PyArrayObject *)result),
                                      (size_t)(now.job.extent[0] * now.job.extent[1]), size);
    }
    py_call_release(&now);
    return result;
}

/* Returns the name of the branch of a kernel that a launch uses. */
static const char *launch_mode(uint32_t flags) {
    return flags & GR_FOLD ? "fold" : flags & GR_UNALIGNED_ROWS ? "ragged" : "";
}

PyObject *py_plan_general(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *all[] = {NULL, NULL, NULL, NULL, Py_None, NULL, NULL, NULL};
    if (!PyArg_ParseTuple(args, "OOOO", &all[0], &all[1], &all[2], &all[3]))
        return NULL;
    py_call now;
    py_call_init(&now, state);
    PyObject *list = parse_call(state, all, &now) < 0 ? NULL : PyList_New(0);
    const size_t launches = gr_reduction_is_only_position(&now.reduction) ? 0 : now.reduction.plan.count;
    for (size_t i = 0; list != NULL && i < launches; ++i) {
        const gr_general_launch *launch = &now.reduction.plan.launches[i];
        char entry[GR_KERNEL_NAME_BYTES];
        gr_reduction_general_entry(&now.reduction, i, entry);
        py_append(&list, Py_BuildValue("(ssIIs)", launch->kernel, launch_mode(launch->params.flags),
                                       launch->grid_x, launch->grid_y, entry));
    }
    py_call_release(&now);
    return list;
}

/* Lists the addresses of views, which must have the dtype, the shape and the strides of `like`. */
static int parse_addresses(py_state *state, PyObject *views, const char *name, const py_operand *like,
                           gr_devptr *out) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(views); ++i) {
        py_operand view;
        const int parsed = py_operand_from_object(state, PyTuple_GET_ITEM(views, i), PY_NATIVE,
                                                  GR_SCOPE_GENERAL, name, &view);
        py_operand_release(&view);
        if (parsed < 0)
            return -1;
        const size_t bytes = view.ndim * sizeof view.extent[0];
        if (view.source.host != NULL || view.dtype != like->dtype || view.ndim != like->ndim ||
            memcmp(view.extent, like->extent, bytes) != 0 || memcmp(view.stride, like->stride, bytes) != 0)
            return PY_RAISE(PyExc_ValueError, "%s: expected views that differ in their address alone", name);
        out[i] = view.source.origin;
    }
    return 0;
}

static PyObject *time_call(py_state *state, const py_call *now, const gr_timing *timing) {
    const gr_reduction *reduction = &now->reduction;
    const gr_device_caps *caps = &now->job.device->backend->info.caps;
    py_work work;
    if (gr_program_clock(now->job.device, &work.error) != GR_OK)
        return py_raise(state, &work.error);
    if (reduction->plan.results == 0)
        return PyErr_Format(PyExc_ValueError, "a: there are no results to time");
    if (reduction->shape != NULL && !gr_flat_shape_fits(reduction->shape, reduction->layout.pair, caps))
        return PyErr_Format(PyExc_ValueError, "shape: not for this device or operator");
    double *times = calloc(timing->repeats, sizeof *times);
    if (times == NULL)
        return PyErr_NoMemory();
    gr_program *program;
    PyObject *result = NULL;
    py_begin(&work);
    gr_status status = gr_program_make(now->job.device, py_call_program, now, &program, &work.error);
    if (status == GR_OK)
        status = gr_program_time(now->job.device, program, timing, times, &work.error);
    if (py_end(state, &work, status) == 0)
        result = py_list_of_doubles(times, timing->repeats);
    free(program);
    free(times);
    return result;
}

PyObject *py_flat_shapes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_flat_shape_count; ++i) {
        const gr_flat_shape *shape = &gr_flat_shapes[i];
        py_append(&list, Py_BuildValue("(KsIIO)", (unsigned long long)shape->up_to_bytes, shape->kernel,
                                       shape->threads, shape->max_blocks,
                                       shape->flags & GR_FLAT_TRIGGER_EARLY ? Py_True : Py_False));
    }
    return list;
}

PyObject *py_time_general(PyObject *module, PyObject *args) {
    enum { MAX_REPEATS = 100000 };
    py_state *state = PyModule_GetState(module);
    PyObject *sources, *op, *axes, *outs, *kind, *index, *seconds = NULL, *result = NULL;
    Py_ssize_t rounds, repeats, shape = -1;
    int exact = 0;
    if (!PyArg_ParseTuple(args, "O!OOO!OOnn|Onp", &PyTuple_Type, &sources, &op, &axes, &PyTuple_Type, &outs,
                          &kind, &index, &rounds, &repeats, &seconds, &shape, &exact))
        return NULL;
    if (seconds == Py_None)
        seconds = NULL;
    if (seconds != NULL && !PyTuple_Check(seconds))
        return PyErr_Format(PyExc_TypeError, "seconds: expected a tuple or None");
    if (shape < -1 || shape >= (Py_ssize_t)gr_flat_shape_count)
        return PyErr_Format(PyExc_ValueError, "shape: expected 0 to %zu, or -1 for the best",
                            gr_flat_shape_count - 1);
    const Py_ssize_t buffers = PyTuple_GET_SIZE(sources);
    if (buffers < 1 || buffers > MAX_REPEATS || PyTuple_GET_SIZE(outs) != buffers || rounds < 1 ||
        rounds > MAX_REPEATS || repeats < 1 || repeats > MAX_REPEATS ||
        (seconds != NULL && PyTuple_GET_SIZE(seconds) != buffers))
        return PyErr_Format(PyExc_ValueError,
                            "expected 1 to %d sources, rounds and repeats, and an out (and second) a source",
                            MAX_REPEATS);
    py_call now;
    py_operand out;
    py_call_init(&now, state);
    now.exact = exact != 0;
    py_operand_init(&out);
    gr_devptr *addresses = calloc((size_t)buffers * 3, sizeof *addresses);
    if (addresses == NULL)
        return PyErr_NoMemory();
    PyObject *source = PyTuple_GET_ITEM(sources, 0), *first_out = PyTuple_GET_ITEM(outs, 0);
    PyObject *second = seconds != NULL ? PyTuple_GET_ITEM(seconds, 0) : Py_None;
    PyObject *const first[] = {source, op, axes, second, Py_None, first_out, kind, index};
    if (parse_call(state, first, &now) < 0 ||
        py_operand_from_object(state, first_out, PY_NATIVE, GR_SCOPE_GENERAL, "outs", &out) < 0 ||
        parse_addresses(state, sources, "sources", &now.job.inputs[PY_SOURCE], addresses) < 0 ||
        parse_addresses(state, outs, "outs", &out, addresses + buffers) < 0 ||
        (seconds != NULL &&
         parse_addresses(state, seconds, "seconds", &now.job.inputs[PY_SECOND], addresses + 2 * buffers) < 0))
        goto cleanup;
    now.reduction.shape = shape < 0 ? NULL : &gr_flat_shapes[shape];
    const gr_timing timing = {.buffers = (size_t)buffers,
                              .inputs = {addresses, seconds != NULL ? addresses + 2 * buffers : NULL},
                              .outs = addresses + buffers,
                              .rounds = (size_t)rounds,
                              .repeats = (size_t)repeats};
    result = time_call(state, &now, &timing);
cleanup:
    free(addresses);
    py_operand_release(&out);
    py_call_release(&now);
    return result;
}
