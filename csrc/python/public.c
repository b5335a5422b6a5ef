/* The public reductions as far as they need no Python: whatever is not understood here is left, before
   anything was done, to the functions of the package, which convert, cast, warn and refuse. */
#include <string.h>

#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

static const char CAPSULE[] = "gpureduce.reducer";

/* One of the public functions: its operator and parameters. */
typedef struct reducer {
    py_state *state;
    gr_op op;
    size_t positional;
    py_name place[PY_ARGUMENTS]; /* of each positional parameter */
    bool takes[PY_ARGUMENTS];
} reducer;

typedef PyObject *arguments[PY_ARGUMENTS]; /* NULL: not given */

static py_name find_name(const py_state *state, PyObject *name) {
    for (int i = 0; i < PY_ARGUMENTS; ++i)
        if (state->names[i] == name)
            return (py_name)i;
    for (int i = 0; i < PY_ARGUMENTS; ++i)
        if (PyUnicode_Compare(state->names[i], name) == 0)
            return (py_name)i;
    return PY_ARGUMENTS;
}

/* False where they are not those of the function. */
static bool sort_arguments(const reducer *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                           arguments given) {
    memset(given, 0, sizeof(arguments));
    if ((size_t)count > self->positional)
        return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        given[self->place[i]] = args[i];
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); ++i) {
        const py_name name = find_name(self->state, PyTuple_GET_ITEM(names, i));
        if (name == PY_ARGUMENTS || !self->takes[name] || given[name] != NULL)
            return false;
        given[name] = args[count + i];
    }
    return given[PY_NAME_a] != NULL;
}

static bool is_none(PyObject *given) {
    return given == NULL || given == Py_None;
}

/* Whether all options that need Python were left as they are. */
static bool is_plain(const reducer *self, const arguments given) {
    PyObject *const initial = given[PY_NAME_initial], *const variant = given[PY_NAME_variant];
    return is_none(given[PY_NAME_dtype]) && is_none(given[PY_NAME_block_size]) &&
           is_none(given[PY_NAME_grid_size]) && is_none(given[PY_NAME_progress]) &&
           (initial == NULL || initial == self->state->no_value) &&
           (variant == NULL ||
            (PyUnicode_CheckExact(variant) && PyUnicode_CompareWithASCIIString(variant, "auto") == 0));
}

/* Marks the axis that an int names. */
static bool mark_axis(PyObject *axis, size_t ndim, bool *reduced) {
    if (!PyLong_CheckExact(axis))
        return false;
    int overflow;
    const long given = PyLong_AsLongAndOverflow(axis, &overflow), length = (long)ndim;
    if (overflow != 0 || given < -length || given >= length)
        return false;
    bool *mark = &reduced[given < 0 ? given + length : given];
    const bool first = !*mark;
    *mark = true;
    return first;
}

static bool take_axes(PyObject *axis, py_call *call) {
    const size_t ndim = call->source.ndim;
    bool *reduced = call->reduction.layout.reduced;
    if (is_none(axis)) {
        memset(reduced, true, ndim);
        return true;
    }
    if (!PyTuple_CheckExact(axis))
        return mark_axis(axis, ndim, reduced);
    bool good = !gr_op_in_order(call->reduction.op);
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(axis); ++i)
        good = mark_axis(PyTuple_GET_ITEM(axis, i), ndim, reduced);
    return good;
}

/* Which device `text` means, as the kind and index; false where it may mean none. */
static bool read_device(PyObject *text, gr_device_kind *kind, long *index) {
    Py_ssize_t length;
    const char *name = PyUnicode_CheckExact(text) ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    *kind = GR_DEVICE_CUDA;
    *index = 0;
    if (name == NULL)
        return false;
    if (strcmp(name, "sim") == 0) {
        *kind = GR_DEVICE_SIM;
        return length == 3;
    }
    if (strncmp(name, "cuda", 4) != 0 || length > 7 || length == 5 || (length > 5 && name[4] != ':'))
        return false;
    for (Py_ssize_t i = 5; i < length; ++i) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        *index = *index * 10 + (name[i] - '0');
    }
    return true;
}

/* 1: taken; 0: elsewhere, or not known yet; -1: it cannot be opened. */
static int take_device(PyObject *given, py_call *call) {
    py_state *state = call->state;
    const py_operand *source = &call->source;
    gr_device_kind kind = source->kind;
    long index = source->index;
    if (!is_none(given) && !read_device(given, &kind, &index))
        return 0;
    if (source->placed && (kind != source->kind || index != source->index))
        return 0;
    if (!source->placed && is_none(given)) {
        const int place = atomic_load_explicit(&state->default_device, memory_order_relaxed);
        if (place < 0)
            return 0;
        kind = place == 0 ? GR_DEVICE_SIM : GR_DEVICE_CUDA;
        index = place == 0 ? 0 : place - 1;
    }
    return py_open_device(state, kind, index, &call->device) < 0 ? -1 : 1;
}

static bool is_elsewhere(const py_call *call, const py_operand *operand) {
    const gr_device_info *info = &call->device->backend->info;
    return !operand->placed || operand->kind != info->kind || operand->index != info->index;
}

/* Whether there are kernels, and a result of so many elements. */
static bool has_result(py_call *call) {
    gr_reduction *reduction = &call->reduction;
    reduction->dtype = call->source.dtype;
    if (!gr_op_takes(reduction->op, reduction->dtype))
        return false;
    switch (reduction->op) {
    case GR_OP_min:
    case GR_OP_max:
    case GR_OP_argmin:
    case GR_OP_argmax:
    case GR_OP_mean:
        for (size_t d = 0; d < call->source.ndim; ++d)
            if (reduction->layout.reduced[d] && call->source.extent[d] == 0)
                return false; /* an error, or a warning */
        return true;
    default:
        return true;
    }
}

static bool is_pair(gr_op op) {
    return gr_ops[op].takes == GR_TAKES_PAIR;
}

/* The other vector of a dot product, as the first. */
static int take_other(PyObject *b, py_call *call) {
    const py_operand *source = &call->source;
    py_operand *other = &call->second;
    if (b == NULL || source->ndim != 1)
        return 0;
    const int taken = py_operand_take(call->state, b, PY_LOOK, GR_SCOPE_GENERAL, "b", other);
    if (taken <= 0)
        return taken;
    call->reduction.layout.has_second = true;
    return (source->placed ? !is_elsewhere(call, other) : !other->placed) && other->dtype == source->dtype &&
           other->ndim == 1 && other->extent[0] == source->extent[0];
}

/* A mask on the device, repeated over the elements. 1: taken, or none. */
static int take_mask(PyObject *where, py_call *call) {
    if (where == NULL || where == Py_True)
        return 1;
    const gr_op op = call->reduction.op;
    if (!call->source.placed || op == GR_OP_min || op == GR_OP_max)
        return 0;
    py_operand *mask = &call->second;
    const int taken = py_operand_take(call->state, where, PY_LOOK, GR_SCOPE_GENERAL, "where", mask);
    if (taken <= 0)
        return taken;
    call->reduction.layout.has_second = true;
    return !is_elsewhere(call, mask) && mask->dtype == GR_DTYPE_b8 &&
           py_operand_broadcast(mask, call->source.ndim, call->source.extent);
}

static bool has_shape_of_result(const py_call *call, size_t ndim, const uint64_t *extent) {
    size_t next = 0;
    for (size_t d = 0; d < call->source.ndim; ++d) {
        const bool reduced = call->reduction.layout.reduced[d];
        if (reduced && !call->keepdims)
            continue;
        if (next == ndim || extent[next++] != (reduced ? 1 : call->source.extent[d]))
            return false;
    }
    return next == ndim;
}

/* An array of the host that can take the result as it is. */
static bool take_host_out(py_call *call) {
    PyArrayObject *array = (PyArrayObject *)call->out;
    uint64_t extent[GR_MAX_NDIM];
    gr_dtype dtype = GR_DTYPE_COUNT;
    if (!PyArray_CheckExact(call->out) || PyArray_NDIM(array) > GR_MAX_NDIM || !PyArray_ISWRITEABLE(array) ||
        !PyArray_ISNOTSWAPPED(array))
        return false;
    for (int d = 0; d < PyArray_NDIM(array); ++d)
        extent[d] = (uint64_t)PyArray_DIM(array, d);
    const bool found = py_find_dtype(call->state, array, GR_SCOPE_GENERAL, "out", &dtype) == 0;
    PyErr_Clear();
    return found && dtype == py_call_dtype(call) &&
           has_shape_of_result(call, (size_t)PyArray_NDIM(array), extent);
}

static int take_out(PyObject *out, PyObject *as_device, PyObject *axis, py_call *call) {
    if (!is_none(as_device) && !PyBool_Check(as_device))
        return 0;
    call->on_device = is_none(as_device) ? call->source.placed && !is_none(axis) : as_device == Py_True;
    if (is_none(out))
        return 1;
    call->out = out;
    const bool of_host = PyArray_Check(out);
    if (!is_none(as_device) && call->on_device == of_host)
        return 0;
    call->on_device = !of_host;
    if (of_host)
        return take_host_out(call);
    py_operand *place = &call->place;
    const int taken = py_operand_take(call->state, out, PY_LOOK, GR_SCOPE_GENERAL, "out", place);
    if (taken <= 0)
        return taken;
    return !is_elsewhere(call, place) && !place->read_only && place->dtype == py_call_dtype(call) &&
           has_shape_of_result(call, place->ndim, place->extent) && py_operand_packed(place, true);
}

/* The stream that the caller names, else that of the first array on a device. */
static int take_stream(PyObject *given, py_call *call) {
    if (is_none(given)) {
        const py_operand *first = call->source.placed ? &call->source : &call->place;
        if (first->placed) {
            call->stream = first->stream;
            call->stream_owner = first->stream_owner;
            call->lasts = first->lasts;
        }
        return 1;
    }
    call->lasts = !PyLong_Check(given);
    call->stream_owner = call->lasts ? given : NULL;
    return py_stream_argument(call->state, given, &call->stream) < 0 ? -1 : 1;
}

/* 1: taken; 0: to be left to Python; -1 with an exception set. */
static int take(const reducer *self, const arguments given, py_call *call) {
    PyObject *const keepdims = given[PY_NAME_keepdims];
    call->keepdims = keepdims == Py_True;
    if (!is_plain(self, given) ||
        !(keepdims == NULL || PyBool_Check(keepdims) || keepdims == self->state->no_value))
        return 0;
    int taken = py_operand_take(self->state, given[PY_NAME_a], PY_LOOK, GR_SCOPE_GENERAL, "a", &call->source);
    if (taken <= 0)
        return taken;
    if (!take_axes(given[PY_NAME_axis], call) || !has_result(call))
        return 0;
    taken = take_device(given[PY_NAME_device], call);
    if (taken > 0)
        taken =
            is_pair(self->op) ? take_other(given[PY_NAME_b], call) : take_mask(given[PY_NAME_where], call);
    if (taken > 0)
        taken = take_out(given[PY_NAME_out], given[PY_NAME_as_device], given[PY_NAME_axis], call);
    if (call->reduction.op == GR_OP_mean && call->reduction.layout.has_second && !call->on_device)
        return 0; /* there may be slices to warn of */
    if (taken > 0)
        taken = take_stream(given[PY_NAME_stream], call);
    return taken > 0 && py_call_plan(call) < 0 ? -1 : taken;
}

/* Tells NumPy's floating-point state of a result, whose reference it takes. */
static PyObject *tell(const py_call *call, const arguments given, PyObject *result) {
    const gr_device_info *info = &call->device->backend->info;
    PyObject *const axis = given[PY_NAME_axis];
    PyObject *const second = given[is_pair(call->reduction.op) ? PY_NAME_b : PY_NAME_where];
    PyObject *floating = PyImport_ImportModule("gpureduce._reduce.floating");
    PyObject *told =
        floating == NULL
            ? NULL
            : PyObject_CallMethod(floating, "look_at", "sOOOOii", gr_ops[call->reduction.op].name, result,
                                  given[PY_NAME_a], axis != NULL ? axis : Py_None,
                                  call->reduction.layout.has_second ? second : Py_None, (int)info->kind,
                                  info->index);
    Py_XDECREF(floating);
    if (told == NULL)
        Py_CLEAR(result);
    Py_XDECREF(told);
    return result;
}

static PyObject *reduce(PyObject *capsule, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    const reducer *self = PyCapsule_GetPointer(capsule, CAPSULE);
    arguments given;
    if (!sort_arguments(self, args, count, names, given))
        return Py_NewRef(Py_NotImplemented);
    py_call call;
    py_call_begin(&call, self->state);
    call.reduction.op = self->op;
    const int taken = take(self, given, &call);
    PyObject *result = taken > 0 ? py_call_run(&call) : taken == 0 ? Py_NewRef(Py_NotImplemented) : NULL;
    if (result != NULL && taken > 0 && call.doubtful)
        result = tell(&call, given, result);
    py_call_release(&call);
    return result;
}

static void free_reducer(PyObject *capsule) {
    PyObject *module = PyCapsule_GetContext(capsule);
    PyMem_Free(PyCapsule_GetPointer(capsule, CAPSULE));
    Py_XDECREF(module);
}

/* Parameters of a function: the positional ones, then those that are given by their names. */
static int take_parameters(reducer *self, PyObject *names, bool positional) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const py_name found = PyUnicode_Check(name) ? find_name(self->state, name) : PY_ARGUMENTS;
        if (found == PY_ARGUMENTS || self->takes[found] || (found == PY_NAME_b && !is_pair(self->op)))
            return PY_REFUSE(PyExc_ValueError, "parameters: %R is none, or named twice", name);
        self->takes[found] = true;
        if (positional)
            self->place[self->positional++] = found;
    }
    return 0;
}

PyObject *py_reducer(PyObject *module, PyObject *args) {
    static PyMethodDef definition = {
        "reducer", (PyCFunction)(void (*)(void))reduce, METH_FASTCALL | METH_KEYWORDS,
        "The public function of the same parameters, or NotImplemented where that takes Python."};
    PyObject *op, *positional, *named;
    if (!PyArg_ParseTuple(args, "OO!O!", &op, &PyTuple_Type, &positional, &PyTuple_Type, &named))
        return NULL;
    reducer *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL)
        return PyErr_NoMemory();
    self->state = PyModule_GetState(module);
    PyObject *capsule = NULL;
    if (py_find_op(op, &self->op) == 0 && take_parameters(self, positional, true) == 0 &&
        take_parameters(self, named, false) == 0)
        capsule = PyCapsule_New(self, CAPSULE, free_reducer);
    if (capsule == NULL) {
        PyMem_Free(self);
        return NULL;
    }
    PyObject *function = PyCapsule_SetContext(capsule, Py_NewRef(module)) < 0
                             ? NULL
                             : PyCFunction_NewEx(&definition, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}
