/* The fast paths of functions that are reductions along the last axis of views: vecdot and inner, whose other
   axes are broadcast, and trace, of diagonals; and of softmax_denominator, whose results are two numbers
   each. They take arrays on a device whose results stay there; all others are left to Python. */
#include <string.h>

#include "python/args.h"
#include "python/call.h"
#include "python/signature.h"

/* Converts the elements or the second vectors. 1: converted, in device memory; 0: fall back to Python; -1
   with an exception set. */
static int take(py_call *call, PyObject *object, const char *name, py_operand *out) {
    if (py_is_none(object))
        return 0;
    const int parsed =
        py_operand_from_object(call->job.state, object, call->job.conversion, GR_SCOPE_GENERAL, name, out);
    return parsed > 0 ? out->on_device : parsed;
}

/* Whether nothing is passed that only Python handles. */
static bool has_default_options(const py_arguments arguments) {
    return py_is_none(arguments[PY_NAME_dtype]) && py_is_none(arguments[PY_NAME_out]);
}

/* Parses device and stream, and plans the reduction along the marked axes. 1: planned; 0: fall back to
   Python; -1 with an exception set. */
static int plan(py_call *call, const py_arguments arguments, bool on_device) {
    py_job *job = &call->job;
    gr_reduction *reduction = &call->reduction;
    const py_operand *source = &job->inputs[PY_SOURCE];
    reduction->dtype = source->dtype;
    if (!gr_op_takes(reduction->op, source->dtype) || py_operand_count(source, NULL) == 0)
        return 0;
    py_call_infer_result(call);
    int parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    if (parsed > 0 && reduction->layout.has_second &&
        (py_job_is_apart(job, &job->inputs[PY_SECOND]) || !py_call_has_fitting_second(call)))
        return 0;
    if (parsed > 0)
        parsed = py_job_parse_out_and_stream(job, arguments, on_device);
    if (parsed <= 0 || !job->on_device)
        return parsed < 0 ? -1 : 0;
    return py_call_plan(call) < 0 ? -1 : 1;
}

static int plan_last_axis(py_call *call, const py_arguments arguments, bool on_device) {
    call->reduction.layout.reduced[call->job.inputs[PY_SOURCE].ndim - 1] = true;
    return plan(call, arguments, on_device);
}

static PyObject *run(py_call *call, int parsed) {
    PyObject *result = parsed > 0 ? py_call_run(call) : parsed == 0 ? Py_NewRef(Py_NotImplemented) : NULL;
    py_call_release(call);
    return result;
}

/* Moves an axis behind the others. */
static void move_last(py_operand *operand, size_t axis) {
    const uint64_t extent = operand->extent[axis];
    const int64_t stride = operand->stride[axis];
    const size_t behind = operand->ndim - 1 - axis;
    memmove(&operand->extent[axis], &operand->extent[axis + 1], behind * sizeof operand->extent[0]);
    memmove(&operand->stride[axis], &operand->stride[axis + 1], behind * sizeof operand->stride[0]);
    operand->extent[operand->ndim - 1] = extent;
    operand->stride[operand->ndim - 1] = stride;
}

/* Broadcasts two operands to their common shape. False if they have none. */
static bool broadcast_both(py_operand *first, py_operand *second) {
    uint64_t extent[GR_MAX_NDIM];
    const size_t ndim = first->ndim > second->ndim ? first->ndim : second->ndim;
    for (size_t i = 1; i <= ndim; ++i) {
        const uint64_t one = i <= first->ndim ? first->extent[first->ndim - i] : 1;
        const uint64_t other = i <= second->ndim ? second->extent[second->ndim - i] : 1;
        extent[ndim - i] = one == 1 ? other : one;
    }
    return py_operand_broadcast(first, ndim, extent) && py_operand_broadcast(second, ndim, extent);
}

/* Converts two operands with axes for dot. 1: converted; 0: fall back to Python; -1 with an exception set. */
static int take_pair(py_call *call, const py_arguments arguments) {
    py_operand *first = &call->job.inputs[PY_SOURCE], *second = &call->job.inputs[PY_SECOND];
    call->reduction.op = GR_OP_dot;
    if (!has_default_options(arguments))
        return 0;
    int parsed = take(call, arguments[PY_NAME_a], "a", first);
    if (parsed > 0)
        parsed = take(call, arguments[PY_NAME_b], "b", second);
    call->reduction.layout.has_second = true;
    return parsed > 0 ? first->ndim > 0 && second->ndim > 0 : parsed;
}

/* Gives two operands of inner the axes of both, with the vectors behind. False if they have too many. */
static bool spread(py_operand *first, py_operand *second) {
    const size_t before = first->ndim - 1, ndim = before + second->ndim;
    if (ndim > GR_MAX_NDIM || first->extent[before] != second->extent[second->ndim - 1])
        return false;
    for (size_t d = second->ndim; d-- > 0;) {
        second->extent[before + d] = second->extent[d];
        second->stride[before + d] = second->stride[d];
    }
    first->stride[ndim - 1] = first->stride[before];
    first->extent[ndim - 1] = first->extent[before];
    for (size_t d = 0; d < ndim - 1; ++d) {
        if (d < before) {
            second->extent[d] = first->extent[d];
            second->stride[d] = 0;
        } else {
            first->extent[d] = second->extent[d];
            first->stride[d] = 0;
        }
    }
    first->ndim = second->ndim = ndim;
    return true;
}

PyObject *py_fast_vecdot(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    py_operand *first = &call.job.inputs[PY_SOURCE], *second = &call.job.inputs[PY_SECOND];
    PyObject *const axis = arguments[PY_NAME_axis];
    size_t at, other;
    int parsed = take_pair(&call, arguments);
    if (parsed > 0) {
        parsed = !gr_dtype_is_complex(first->dtype) && axis != NULL &&
                 py_parse_axis(axis, first->ndim, &at) && py_parse_axis(axis, second->ndim, &other) &&
                 first->extent[at] == second->extent[other];
        if (parsed > 0) {
            move_last(first, at);
            move_last(second, other);
            parsed = broadcast_both(first, second);
        }
    }
    return run(&call, parsed > 0 ? plan_last_axis(&call, arguments, first->ndim > 1) : parsed);
}

PyObject *py_fast_inner(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    py_operand *first = &call.job.inputs[PY_SOURCE], *second = &call.job.inputs[PY_SECOND];
    int parsed = take_pair(&call, arguments);
    if (parsed > 0)
        parsed = spread(first, second);
    return run(&call, parsed > 0 ? plan_last_axis(&call, arguments, first->ndim > 1) : parsed);
}

static bool parse_int(PyObject *value, long *out) {
    int overflow = 0;
    *out = value == NULL              ? 0
           : PyLong_CheckExact(value) ? PyLong_AsLongAndOverflow(value, &overflow)
                                      : INT64_MAX;
    return overflow == 0 && *out >= INT32_MIN && *out <= INT32_MAX;
}

/* Makes the elements those of diagonals: the two axes become one, behind the others. False without elements.
 */
static bool take_diagonals(py_operand *source, long offset, size_t first, size_t second) {
    const int64_t down = offset < 0 ? -(int64_t)offset : 0, right = offset > 0 ? offset : 0;
    const int64_t rows = (int64_t)source->extent[first] - down;
    const int64_t columns = (int64_t)source->extent[second] - right;
    const int64_t length = rows < columns ? rows : columns;
    if (length <= 0)
        return false;
    source->source.origin += (uint64_t)(down * source->stride[first] + right * source->stride[second]);
    const int64_t stride = source->stride[first] + source->stride[second];
    size_t kept = 0;
    for (size_t d = 0; d < source->ndim; ++d) {
        if (d == first || d == second)
            continue;
        source->extent[kept] = source->extent[d];
        source->stride[kept++] = source->stride[d];
    }
    source->extent[kept] = (uint64_t)length;
    source->stride[kept] = stride;
    source->ndim = kept + 1;
    return true;
}

PyObject *py_fast_trace(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    py_operand *source = &call.job.inputs[PY_SOURCE];
    PyObject *const axis1 = arguments[PY_NAME_axis1], *const axis2 = arguments[PY_NAME_axis2];
    size_t first = 0, second = 1;
    long offset;
    call.reduction.op = GR_OP_sum;
    int parsed = has_default_options(arguments) ? take(&call, arguments[PY_NAME_a], "a", source) : 0;
    if (parsed > 0)
        parsed = source->ndim > 1 && parse_int(arguments[PY_NAME_offset], &offset) &&
                 (axis1 == NULL || py_parse_axis(axis1, source->ndim, &first)) &&
                 (axis2 == NULL || py_parse_axis(axis2, source->ndim, &second)) && first != second &&
                 take_diagonals(source, offset, first, second);
    return run(&call, parsed > 0 ? plan_last_axis(&call, arguments, source->ndim > 1) : parsed);
}

/* Returns a view of the elements that have the index k along the last axis. NULL with an exception set. */
static PyObject *view_last_axis(py_array *array, unsigned k) {
    const size_t ndim = py_array_ndim(array) - 1;
    uint64_t extent[GR_MAX_NDIM];
    for (size_t d = 0; d < ndim; ++d)
        extent[d] = array->axis[d].extent;
    py_array *view = py_array_new_view(array, array->dtype, ndim, extent);
    if (view == NULL)
        return NULL;
    for (size_t d = 0; d < ndim; ++d)
        view->axis[d].stride = array->axis[d].stride;
    view->pointer = array->pointer == 0 ? 0 : array->pointer + k * gr_dtypes[array->dtype].item_bytes;
    return (PyObject *)view;
}

static PyObject *pair_of_views(py_array *both) {
    PyObject *largest = view_last_axis(both, 0), *total = view_last_axis(both, 1);
    PyObject *pair = largest != NULL && total != NULL ? PyTuple_Pack(2, largest, total) : NULL;
    Py_XDECREF(largest);
    Py_XDECREF(total);
    return pair;
}

PyObject *py_fast_softmax_denominator(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    py_job *job = &call.job;
    PyObject *const axis = arguments[PY_NAME_axis];
    call.reduction.op = GR_OP_softmax;
    int parsed = py_parse_bool(arguments[PY_NAME_keepdims], false, &call.keepdims)
                     ? take(&call, arguments[PY_NAME_a], "a", &job->inputs[PY_SOURCE])
                     : 0;
    if (parsed > 0)
        parsed = py_parse_axes_argument(axis, job->inputs[PY_SOURCE].ndim, call.reduction.layout.reduced);
    if (parsed > 0)
        parsed = plan(&call, arguments, !py_is_none(axis));
    if (parsed > 0 && job->ndim == GR_MAX_NDIM)
        parsed = 0;
    if (parsed > 0) { /* the parts of a complex number along an axis of their own */
        job->dtype = job->dtype == GR_DTYPE_c64 ? GR_DTYPE_f32 : GR_DTYPE_f64;
        job->extent[job->ndim++] = 2;
    }
    PyObject *both = run(&call, parsed);
    if (both != NULL && parsed > 0)
        Py_SETREF(both, pair_of_views((py_array *)both));
    return both;
}
