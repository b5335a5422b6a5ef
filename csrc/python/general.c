#include "python/general.h"

#include <stdlib.h>
#include <string.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/intake/operand.h"
#include "reduce/reduce.h"

typedef struct call {
    py_operand source, second;
    PyObject *out_array; /* the results in host memory, or NULL */
    gr_reduction reduction;
    gr_binding binding;
    gr_device *device;
} call;

static void call_release(call *self) {
    py_operand_release(&self->source);
    py_operand_release(&self->second);
}

static int take_second(const py_state *state, PyObject *object, call *self) {
    const bool pair = gr_ops[self->reduction.op].takes == GR_TAKES_PAIR;
    if (object == Py_None) {
        if (pair)
            PyErr_SetString(PyExc_TypeError, "second: expected the other vector");
        return pair ? -1 : 0;
    }
    if (py_operand_take(state, object, PY_TAKE, GR_SCOPE_GENERAL, "second", &self->second) < 0)
        return -1;
    self->reduction.layout.has_second = true;
    if (self->second.dtype != (pair ? self->source.dtype : GR_DTYPE_b8)) {
        PyErr_Format(PyExc_TypeError, "second: unexpected dtype %s",
                     gr_dtypes[self->second.dtype].numpy_name);
        return -1;
    }
    bool same = self->second.ndim == self->source.ndim;
    for (size_t d = 0; same && d < self->source.ndim; ++d)
        same = self->second.extent[d] == self->source.extent[d];
    if (!same)
        PyErr_SetString(PyExc_ValueError, "second: expected the shape of the source");
    return same ? 0 : -1;
}

static gr_dtype result_dtype(const call *self) {
    return gr_op_result(self->reduction.op, self->reduction.dtype);
}

/* A new array for the results, of the kept dimensions. */
static PyObject *new_results(const py_state *state, const call *self) {
    npy_intp shape[GR_MAX_NDIM];
    int ndim = 0;
    for (size_t d = 0; d < self->source.ndim; ++d)
        if (!self->reduction.layout.reduced[d])
            shape[ndim++] = (npy_intp)self->source.extent[d];
    PyArray_Descr *descr = py_descr(state, result_dtype(self));
    return descr == NULL ? NULL : PyArray_SimpleNewFromDescr(ndim, shape, descr);
}

static int take_initial(const py_state *state, PyObject *initial, call *self) {
    if (initial == Py_None)
        return 0;
    gr_dtype dtype = GR_DTYPE_COUNT;
    if (!PyArray_Check(initial) ||
        py_find_dtype(state, (PyArrayObject *)initial, GR_SCOPE_GENERAL, "initial", &dtype) < 0 ||
        dtype != result_dtype(self) || PyArray_SIZE((PyArrayObject *)initial) != 1 ||
        !PyArray_ISNOTSWAPPED((PyArrayObject *)initial)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "initial: expected one element of the result's dtype");
        return -1;
    }
    self->reduction.initial = PyArray_DATA((PyArrayObject *)initial);
    return 0;
}

static int take_out(const py_state *state, PyObject *out, call *self) {
    if (out == Py_None) {
        self->out_array = new_results(state, self);
        if (self->out_array == NULL)
            return -1;
        self->binding.host_out = PyArray_DATA((PyArrayObject *)self->out_array);
        return 0;
    }
    py_operand view;
    if (!PyTuple_Check(out)) {
        PyErr_SetString(PyExc_TypeError, "out: expected a view of device memory or None");
        return -1;
    }
    if (py_operand_take(state, out, PY_TAKE, GR_SCOPE_GENERAL, "out", &view) < 0)
        return -1;
    uint64_t wanted = 1;
    for (size_t d = 0; d < self->source.ndim; ++d)
        wanted *= self->reduction.layout.reduced[d] ? 1 : self->source.extent[d];
    if (py_operand_count(&view) != wanted || view.dtype != result_dtype(self)) {
        PyErr_SetString(PyExc_ValueError, "out: unexpected shape or dtype");
        return -1;
    }
    self->binding.device_out = view.source.origin;
    return 0;
}

/* The layout that the plan asks for when strides do not merge. */
static int repack(call *self) {
    py_operand *const operands[] = {&self->source, &self->second};
    gr_layout *layout = &self->reduction.layout;
    return py_operands_pack(operands, layout->has_second ? 2 : 1, layout->reduced);
}

static void fill_layout(call *self) {
    gr_layout *layout = &self->reduction.layout;
    layout->ndim = self->source.ndim;
    layout->item_bytes = gr_dtypes[self->source.dtype].item_bytes;
    layout->result_bytes = gr_dtypes[result_dtype(self)].item_bytes;
    layout->origin =
        self->source.source.origin % 256; /* host elements go to memory that begins so, or better */
    layout->in_order = self->reduction.op == GR_OP_argmin || self->reduction.op == GR_OP_argmax;
    layout->pair = gr_ops[self->reduction.op].takes == GR_TAKES_PAIR;
    layout->packed = !layout->pair;
    layout->single_pass = true;
    memcpy(layout->extent, self->source.extent, sizeof layout->extent);
    memcpy(layout->stride, self->source.stride, sizeof layout->stride);
    memcpy(layout->second_stride, self->second.stride, sizeof layout->second_stride);
    self->binding.inputs[0] = self->source.source;
    self->binding.inputs[1] = self->second.source;
}

static gr_status make_plan(call *self, gr_error *error) {
    fill_layout(self);
    const gr_status status =
        gr_general_plan_make(&self->reduction.layout, &gr_reference_limits, &self->reduction.plan, error);
    self->binding.out_bytes =
        (size_t)self->reduction.plan.results * gr_reduction_result_bytes(&self->reduction);
    return status;
}

static int take_call(py_state *state, PyObject *const *args, call *self) {
    const char *op = PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    if (op == NULL || !gr_op_find(op, &self->reduction.op)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "op: unknown operator %R", args[1]);
        return -1;
    }
    if (py_operand_take(state, args[0], PY_TAKE, GR_SCOPE_GENERAL, "a", &self->source) < 0)
        return -1;
    self->reduction.dtype = self->source.dtype;
    if (!gr_op_takes(self->reduction.op, self->reduction.dtype)) {
        PyErr_Format(PyExc_TypeError, "a: %s takes bool and integers, not %s", op,
                     gr_dtypes[self->reduction.dtype].numpy_name);
        return -1;
    }
    if (py_take_axes(args[2], self->source.ndim, self->reduction.layout.reduced) < 0 ||
        take_second(state, args[3], self) < 0 || take_initial(state, args[4], self) < 0 ||
        py_take_device(state, args[6], args[7], &self->device) < 0 || take_out(state, args[5], self) < 0)
        return -1;
    gr_error error = {GR_OK, ""};
    if (make_plan(self, &error) == GR_OK)
        return 0;
    if (repack(self) < 0)
        return -1;
    if (make_plan(self, &error) == GR_OK)
        return 0;
    py_raise(state, &error);
    return -1;
}

/* The callback of a progress report, and the thread that is to call it. */
typedef struct reporter {
    PyThreadState **thread;
    PyObject *callback;
} reporter;

static bool report(void *arg, uint64_t done, uint64_t total) {
    const reporter *self = arg;
    PyEval_RestoreThread(*self->thread);
    PyObject *result =
        PyObject_CallFunction(self->callback, "KK", (unsigned long long)done, (unsigned long long)total);
    const bool failed = result == NULL;
    Py_XDECREF(result);
    *self->thread = PyEval_SaveThread();
    return failed;
}

PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 9) {
        PyErr_Format(PyExc_TypeError, "expected 9 arguments, got %zd", count);
        return NULL;
    }
    call now = {.out_array = NULL};
    PyThreadState *thread = NULL;
    reporter told = {.thread = &thread, .callback = args[8]};
    PyObject *result = NULL;
    if (take_call(state, args, &now) < 0)
        goto cleanup;
    gr_error error = {GR_OK, ""};
    const gr_interrupt interrupt = {.pending = py_signal_pending, .arg = &thread};
    const gr_progress progress = {.report = report, .arg = &told};
    thread = PyEval_SaveThread();
    const gr_status status = gr_reduction_run(now.device, &now.reduction, &now.binding,
                                              args[8] != Py_None ? &progress : NULL, &interrupt, &error);
    PyEval_RestoreThread(thread);
    if (status != GR_OK) {
        py_raise(state, &error);
        goto cleanup;
    }
    py_count_run();
    result = Py_NewRef(now.out_array != NULL ? now.out_array : Py_None);
cleanup:
    Py_XDECREF(now.out_array);
    call_release(&now);
    return result;
}

/* Which of a kernel's ways of working a launch takes. */
static const char *way_of(uint32_t flags) {
    return flags & GR_WHOLE ? "whole" : flags & GR_FOLD ? "fold" : flags & GR_RAGGED ? "ragged" : "";
}

PyObject *py_plan_general(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *source, *op, *axes, *second;
    if (!PyArg_ParseTuple(args, "OOOO", &source, &op, &axes, &second))
        return NULL;
    PyObject *kind = PyLong_FromLong(GR_DEVICE_SIM), *index = PyLong_FromLong(0), *list = NULL;
    call now = {.out_array = NULL};
    if (kind == NULL || index == NULL)
        goto cleanup;
    PyObject *const all[] = {source, op, axes, second, Py_None, Py_None, kind, index};
    if (take_call(state, all, &now) < 0)
        goto cleanup;
    list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < now.reduction.plan.count; ++i) {
        const gr_general_launch *launch = &now.reduction.plan.launches[i];
        PyObject *row = Py_BuildValue("(ssII)", launch->kernel, way_of(launch->params.flags), launch->grid_x,
                                      launch->grid_y);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
cleanup:
    call_release(&now);
    Py_XDECREF(now.out_array);
    Py_XDECREF(kind);
    Py_XDECREF(index);
    return list;
}

/* The addresses of views that are all like the first, which `self` describes, or like the results. */
static int take_addresses(const py_state *state, PyObject *views, const char *name, const py_operand *like,
                          gr_devptr *out) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(views); ++i) {
        py_operand view;
        const int taken =
            py_operand_take(state, PyTuple_GET_ITEM(views, i), PY_TAKE, GR_SCOPE_GENERAL, name, &view);
        py_operand_release(&view);
        if (taken < 0)
            return -1;
        const size_t bytes = view.ndim * sizeof view.extent[0];
        if (view.source.host != NULL || view.dtype != like->dtype || view.ndim != like->ndim ||
            memcmp(view.extent, like->extent, bytes) != 0 || memcmp(view.stride, like->stride, bytes) != 0) {
            PyErr_Format(PyExc_ValueError, "%s: expected views that differ in their address alone", name);
            return -1;
        }
        out[i] = view.source.origin;
    }
    return 0;
}

static PyObject *time_call(py_state *state, const call *now, const gr_timing *timing) {
    const gr_reduction *reduction = &now->reduction;
    const gr_abilities *can = &now->device->backend->info.can;
    gr_program program;
    gr_error refused = {GR_OK, ""};
    if (gr_program_clock(now->device, &refused) != GR_OK)
        return py_raise(state, &refused);
    if (reduction->plan.results == 0) {
        PyErr_SetString(PyExc_ValueError, "a: there are no results to time");
        return NULL;
    }
    if (reduction->shape != NULL && !gr_flat_shape_fits(reduction->shape, reduction->layout.pair, can)) {
        PyErr_SetString(PyExc_ValueError, "shape: not for this device or operator");
        return NULL;
    }
    gr_reduction_plan(reduction, can, &program);
    double *times = calloc(timing->repeats, sizeof *times);
    if (times == NULL)
        return PyErr_NoMemory();
    gr_error error = {GR_OK, ""};
    gr_status status;
    PyObject *result = NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = gr_program_time(now->device, &program, timing, times, &error);
    Py_END_ALLOW_THREADS;
    if (status != GR_OK)
        py_raise(state, &error);
    else
        result = py_list_of_doubles(times, timing->repeats);
    free(times);
    return result;
}

PyObject *py_flat_shapes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_flat_shape_count; ++i) {
        const gr_flat_shape *shape = &gr_flat_shapes[i];
        PyObject *row =
            Py_BuildValue("(KsIIO)", (unsigned long long)shape->up_to_bytes, shape->kernel, shape->threads,
                          shape->most_blocks, shape->flags & GR_FLAT_EARLY ? Py_True : Py_False);
        if (row == NULL || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *py_time_general(PyObject *module, PyObject *args) {
    enum { MOST = 100000 };
    py_state *state = PyModule_GetState(module);
    PyObject *sources, *op, *axes, *outs, *kind, *index, *seconds = NULL, *result = NULL;
    Py_ssize_t rounds, repeats, shape = -1;
    if (!PyArg_ParseTuple(args, "O!OOO!OOnn|On", &PyTuple_Type, &sources, &op, &axes, &PyTuple_Type, &outs,
                          &kind, &index, &rounds, &repeats, &seconds, &shape))
        return NULL;
    if (seconds == Py_None)
        seconds = NULL;
    if (seconds != NULL && !PyTuple_Check(seconds)) {
        PyErr_SetString(PyExc_TypeError, "seconds: expected a tuple or None");
        return NULL;
    }
    if (shape < -1 || shape >= (Py_ssize_t)gr_flat_shape_count) {
        PyErr_Format(PyExc_ValueError, "shape: expected 0 to %zu, or -1 for the best",
                     gr_flat_shape_count - 1);
        return NULL;
    }
    const Py_ssize_t buffers = PyTuple_GET_SIZE(sources);
    if (buffers < 1 || buffers > MOST || PyTuple_GET_SIZE(outs) != buffers || rounds < 1 || rounds > MOST ||
        repeats < 1 || repeats > MOST || (seconds != NULL && PyTuple_GET_SIZE(seconds) != buffers)) {
        PyErr_Format(PyExc_ValueError,
                     "expected 1 to %d sources, rounds and repeats, and an out (and second) a source", MOST);
        return NULL;
    }
    call now = {.out_array = NULL};
    py_operand out;
    py_operand_clear(&out);
    gr_devptr *addresses = calloc((size_t)buffers * 3, sizeof *addresses);
    if (addresses == NULL)
        return PyErr_NoMemory();
    PyObject *const first[] = {PyTuple_GET_ITEM(sources, 0),
                               op,
                               axes,
                               seconds != NULL ? PyTuple_GET_ITEM(seconds, 0) : Py_None,
                               Py_None,
                               PyTuple_GET_ITEM(outs, 0),
                               kind,
                               index};
    if (take_call(state, first, &now) < 0 ||
        py_operand_take(state, first[5], PY_TAKE, GR_SCOPE_GENERAL, "outs", &out) < 0 ||
        take_addresses(state, sources, "sources", &now.source, addresses) < 0 ||
        take_addresses(state, outs, "outs", &out, addresses + buffers) < 0 ||
        (seconds != NULL &&
         take_addresses(state, seconds, "seconds", &now.second, addresses + 2 * buffers) < 0))
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
    call_release(&now);
    Py_XDECREF(now.out_array);
    return result;
}
