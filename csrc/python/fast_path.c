/* The fast path of the public reductions (sum, mean, var, dot, argmin ...): parses common arguments in C and
   launches the kernels without calling Python code. For any other argument it returns NotImplemented before
   anything was launched: the call falls back to gpureduce/_reduce, which converts, casts, warns or raises. */
#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "normalize/normalize.h"
#include "python/args.h"
#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/moments.h"
#include "python/parity.h"
#include "python/signature.h"
#include "scan/scan.h"

static bool is_default(const py_signature *self, const PyObject *value) {
    return value == NULL || value == self->state->no_value;
}

/* Whether all options that only Python handles have their defaults. */
static bool has_default_options(const py_signature *self, const py_arguments arguments) {
    PyObject *const variant = arguments[PY_NAME_variant];
    return py_is_none(arguments[PY_NAME_dtype]) && py_is_none(arguments[PY_NAME_block_size]) &&
           py_is_none(arguments[PY_NAME_grid_size]) && py_is_none(arguments[PY_NAME_progress]) &&
           is_default(self, arguments[PY_NAME_mean]) &&
           (variant == NULL ||
            (PyUnicode_CheckExact(variant) && PyUnicode_CompareWithASCIIString(variant, "auto") == 0));
}

static bool parse_axes(PyObject *axis, py_call *call) {
    return !(gr_op_is_positional(call->reduction.op) && axis != NULL && PyTuple_CheckExact(axis)) &&
           py_parse_axes_argument(axis, call->job.inputs[PY_SOURCE].ndim, call->reduction.layout.reduced);
}

/* Elements per result. */
static double reduced_count(const py_call *call) {
    double count = 1;
    for (size_t d = 0; d < call->job.inputs[PY_SOURCE].ndim; ++d)
        count *= call->reduction.layout.reduced[d] ? (double)call->job.inputs[PY_SOURCE].extent[d] : 1.0;
    return count;
}

/* Whether the operator supports the dtype, and has a result for this number of elements: a reduction of no
   elements may raise or warn. */
static bool has_result(py_call *call) {
    gr_reduction *reduction = &call->reduction;
    reduction->dtype = call->job.inputs[PY_SOURCE].dtype;
    return gr_op_takes(reduction->op, reduction->dtype) &&
           (!gr_op_has(reduction->op, GR_NONEMPTY) || reduced_count(call) > 0);
}

/* Parses `exact=`. False: fall back to Python, which computes what exact/ does not support, and uploads long
   host arrays in chunks. */
static bool parse_exact(const py_signature *self, PyObject *value, py_call *call) {
    const py_operand *source = &call->job.inputs[PY_SOURCE];
    const gr_reduction *reduction = &call->reduction;
    call->exact = value == NULL ? self->exact : value == Py_True;
    if (!call->exact)
        return value == NULL || value == Py_False;
    if (!source->on_device && source->source.bytes > GR_ZERO_COPY_BYTES)
        return false;
    if (gr_exact_takes(reduction->op, reduction->dtype))
        return true;
    /* Up to this count, the kernels for exact=False return the same result. */
    const uint64_t max_count = gr_op_max_exact_count(reduction->op, reduction->dtype);
    call->exact = false;
    return max_count > 0 && py_operand_count(source, NULL) <= max_count;
}

/* Whether an integer is in the range of a dtype of up to 8 bytes; integers above INT64_MAX are left out. */
static bool is_in_range(int64_t value, gr_dtype dtype) {
    const unsigned bits = 8 * (unsigned)gr_dtypes[dtype].item_bytes;
    if (!gr_dtype_is_signed_integer(dtype))
        return value >= 0 && (bits == 64 || value >> bits == 0);
    return value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
}

/* Packs a Python number into a float32 or float64; an integer has to be exact in float32. */
static bool pack_real(PyObject *value, gr_dtype dtype, unsigned char *out) {
    const bool is_single = dtype == GR_DTYPE_f32;
    int overflow = 0;
    double real;
    if (PyFloat_CheckExact(value))
        real = PyFloat_AS_DOUBLE(value);
    else if (PyLong_CheckExact(value))
        real = (double)PyLong_AsLongLongAndOverflow(value, &overflow);
    else
        return false;
    const float single = (float)real;
    memcpy(out, is_single ? (const void *)&single : &real, gr_dtypes[dtype].item_bytes);
    if (PyLong_CheckExact(value) && (overflow != 0 || (double)single != real))
        return false;
    return isfinite(is_single ? (double)single : real);
}

static bool pack_integer(PyObject *value, gr_dtype dtype, unsigned char *out) {
    int overflow = 0;
    if (!PyLong_CheckExact(value))
        return false;
    const int64_t whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    memcpy(out, &whole, gr_dtypes[dtype].item_bytes);
    return overflow == 0 && is_in_range(whole, dtype);
}

/* Parses `initial=`: a Python number that the result's dtype, float32, float64 or an integer, has. False:
   fall back to Python. */
static bool parse_initial(const py_signature *self, PyObject *value, py_call *call) {
    const gr_dtype dtype = call->job.dtype;
    if (is_default(self, value))
        return true;
    call->reduction.initial = call->initial;
    if (call->exact)
        return false;
    if (dtype == GR_DTYPE_f32 || dtype == GR_DTYPE_f64)
        return pack_real(value, dtype, call->initial);
    return gr_dtypes[dtype].kind == GR_KIND_BITS && dtype != GR_DTYPE_b8 &&
           pack_integer(value, dtype, call->initial);
}

/* Whether `axis` and `b` are for an average along any axes, or for a dot product of two vectors or, with an
   axis, of real vectors along it. */
static bool has_vectors(const py_arguments arguments, gr_op op, const py_operand *source) {
    PyObject *const axis = arguments[PY_NAME_axis];
    if (py_is_none(arguments[PY_NAME_b]))
        return false;
    if (gr_op_has(op, GR_SHARES_FILE))
        return true;
    return py_is_none(axis)
               ? source->ndim == 1
               : source->ndim != 1 && PyLong_CheckExact(axis) && !gr_dtype_is_complex(source->dtype);
}

/* Repeats weights, which lie along the axes of `axis` in that order, to the shape of the elements. False if
   their shape does not fit: fall back to Python. */
static bool spread_weights(PyObject *axis, const py_operand *source, py_operand *weights) {
    const bool several = axis != NULL && PyTuple_CheckExact(axis);
    int64_t stride[GR_MAX_NDIM] = {0};
    if (weights->ndim != (several ? (size_t)PyTuple_GET_SIZE(axis) : 1))
        return false;
    for (size_t i = 0; i < weights->ndim; ++i) {
        size_t d;
        if (!py_parse_axis(several ? PyTuple_GET_ITEM(axis, (Py_ssize_t)i) : axis, source->ndim, &d) ||
            weights->extent[i] != source->extent[d])
            return false;
        stride[d] = weights->stride[i];
    }
    weights->ndim = source->ndim;
    memcpy(weights->extent, source->extent, source->ndim * sizeof source->extent[0]);
    memcpy(weights->stride, stride, sizeof stride);
    return true;
}

/* Whether `where=` selects all elements. Functions of tensors take only tensors and None. */
static bool selects_all(const py_signature *self, const PyObject *where) {
    return where == NULL || where == (self->tensors == NULL ? Py_True : Py_None);
}

/* Whether Python has to take the mask: functions of tensors refuse masks of other types, and cast elements
   before an exact sum. */
static bool is_for_python(const py_signature *self, const py_call *call, PyObject *where) {
    return self->tensors != NULL && (call->exact || !py_tensors_has_type(self->tensors, where));
}

/* Parses the second vector of a dot product, or `where=`: a boolean mask for elements on a device, which is
   broadcast to their shape. 1: parsed, or no mask; 0: fall back to Python; -1 with an exception set. */
static int parse_second(const py_signature *self, const py_arguments arguments, py_call *call) {
    const py_operand *source = &call->job.inputs[PY_SOURCE];
    py_operand *second = &call->job.inputs[PY_SECOND];
    const bool pair = gr_op_is_pair(call->reduction.op);
    PyObject *const object = arguments[pair ? PY_NAME_b : PY_NAME_where];
    if (!pair && selects_all(self, object))
        return 1;
    if (pair ? !has_vectors(arguments, call->reduction.op, source)
             : !source->on_device ||
                   (gr_op_has(call->reduction.op, GR_SELECTS) && call->reduction.initial == NULL) ||
                   is_for_python(self, call, object))
        return 0;
    const int parsed = py_operand_from_object(call->job.state, object, call->job.conversion, GR_SCOPE_GENERAL,
                                              pair ? "b" : "where", second);
    if (parsed <= 0)
        return parsed;
    call->reduction.layout.has_second = true;
    if (call->reduction.op == GR_OP_average && !py_operand_same_shape(second, source) &&
        !spread_weights(arguments[PY_NAME_axis], source, second))
        return 0;
    return !py_job_is_apart(&call->job, second) &&
           (pair || py_operand_broadcast(second, source->ndim, source->extent)) &&
           py_call_has_fitting_second(call);
}

/* Parses ddof, whose default is PyTorch's for tensors. False if count <= ddof: the Python fallback emits the
   RuntimeWarning. */
static bool parse_ddof(const py_signature *self, const py_arguments arguments, const py_call *call,
                       double *out) {
    PyObject *const ddof = arguments[PY_NAME_ddof], *const correction = arguments[PY_NAME_correction];
    PyObject *const parsed = is_default(self, correction) ? ddof : correction;
    if (!is_default(self, correction) && ddof != NULL)
        return false;
    *out = self->tensors == NULL ? 0 : 1;
    if (parsed != NULL && PyFloat_CheckExact(parsed)) {
        *out = PyFloat_AS_DOUBLE(parsed);
    } else if (parsed != NULL) {
        int overflow;
        const long whole = PyLong_CheckExact(parsed) ? PyLong_AsLongAndOverflow(parsed, &overflow) : -1;
        if (whole < 0 || whole > INT32_MAX)
            return false;
        *out = (double)whole;
    }
    return *out < reduced_count(call);
}

/* Packs ddof into the kernel parameter (reduce/ops/variance.cuh). As parse_ddof. */
static bool pack_ddof(const py_signature *self, const py_arguments arguments, py_call *call) {
    double ddof;
    const bool parsed = parse_ddof(self, arguments, call, &ddof);
    if (parsed)
        memcpy(&call->reduction.parameter, &ddof, sizeof ddof);
    return parsed;
}

/* 1: parsed and planned; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(const py_signature *self, const py_arguments arguments, py_call *call) {
    PyObject *const keepdims = arguments[PY_NAME_keepdims];
    call->keepdims = keepdims == Py_True;
    if (!has_default_options(self, arguments) ||
        !(keepdims == NULL || PyBool_Check(keepdims) || keepdims == self->state->no_value))
        return 0;
    int parsed = py_operand_from_object(self->state, arguments[PY_NAME_a], call->job.conversion,
                                        GR_SCOPE_GENERAL, "a", &call->job.inputs[PY_SOURCE]);
    if (parsed <= 0)
        return parsed;
    if (!parse_axes(arguments[PY_NAME_axis], call) || !has_result(call) ||
        !parse_exact(self, arguments[PY_NAME_exact], call) ||
        (gr_op_is_variance(call->reduction.op) && !pack_ddof(self, arguments, call)))
        return 0;
    py_call_infer_result(call);
    if (!parse_initial(self, arguments[PY_NAME_initial], call))
        return 0;
    parsed = py_job_parse_device(&call->job, arguments[PY_NAME_device]);
    if (parsed > 0)
        parsed = parse_second(self, arguments, call);
    const bool on_device = call->job.inputs[PY_SOURCE].on_device && !py_is_none(arguments[PY_NAME_axis]);
    if (parsed > 0)
        parsed = py_job_parse_out_and_stream(&call->job, arguments, on_device);
    if (parsed <= 0 || py_call_plan(call) == 0)
        return parsed;
    if (!gr_op_is_positional(call->reduction.op) || !PyErr_ExceptionMatches(PyExc_ValueError))
        return -1;
    PyErr_Clear();
    return 0; /* the Python fallback copies a view with too many strides to C order */
}

/* Lets Python report a result with an infinity or NaN: warnings, NumPy's floating-point error state. Steals
   the reference to the result and returns it, or NULL with an exception set. */
static PyObject *report_nonfinite(const py_signature *self, const py_call *call, const py_arguments arguments,
                                  PyObject *result) {
    const gr_device_info *info = &call->job.device->backend->info;
    PyObject *const axis = arguments[PY_NAME_axis];
    PyObject *const second = arguments[gr_op_is_pair(self->op) ? PY_NAME_b : PY_NAME_where];
    double ddof = 0;
    if (gr_op_is_variance(self->op))
        memcpy(&ddof, &call->reduction.parameter, sizeof ddof);
    return py_reported(result, PyObject_CallFunction(self->report, "OOOOiid", result, arguments[PY_NAME_a],
                                                     axis != NULL ? axis : Py_None,
                                                     call->reduction.layout.has_second ? second : Py_None,
                                                     (int)info->kind, info->index, ddof));
}

static PyObject *fast_reduction(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    call.reduction.op = self->op;
    call.reduction.parameter = self->parameter;
    py_job_use_tensors(&call.job, self, arguments[PY_NAME_a]);
    py_job_accept_jax(&call.job);
    const int parsed = parse_arguments(self, arguments, &call);
    PyObject *result = parsed > 0 ? py_call_run(&call) : parsed == 0 ? Py_NewRef(Py_NotImplemented) : NULL;
    if (result != NULL && parsed > 0 && call.job.has_nonfinite && self->report != Py_None)
        result = report_nonfinite(self, &call, arguments, result);
    py_call_release(&call);
    return result;
}

/* ---- moments ---- */

static bool parse_nan_policy(PyObject *value, bool *omits_nan) {
    const char *text = value == NULL ? "propagate" : py_text_of(value);
    *omits_nan = text != NULL && strcmp(text, "omit") == 0;
    return text != NULL && (*omits_nan || strcmp(text, "propagate") == 0);
}

static bool parse_order(PyObject *value, size_t *out) {
    int overflow = 0;
    const long order = value == NULL              ? 4
                       : PyLong_CheckExact(value) ? PyLong_AsLongAndOverflow(value, &overflow)
                                                  : 0;
    *out = (size_t)order;
    return overflow == 0 && order >= 1 && order <= 4;
}

/* Parses what only moments have. False: fall back to Python, which sums up long host arrays piece by piece.
 */
static bool parse_moments(const py_signature *self, const py_arguments arguments, const py_call *call,
                          py_moments *moments) {
    enum { PIECE_BYTES = 256 << 20 };
    const py_operand *source = &call->job.inputs[PY_SOURCE];
    const gr_dtype dtype = source->dtype;
    moments->source = dtype;
    moments->dtype = dtype == GR_DTYPE_f32 ? GR_DTYPE_f32 : GR_DTYPE_f64;
    moments->on_device = call->job.on_device;
    return dtype != GR_DTYPE_f16 && dtype != GR_DTYPE_bf16 && source->ndim < GR_MAX_NDIM &&
           (source->on_device || source->source.bytes <= PIECE_BYTES) &&
           parse_order(arguments[PY_NAME_order], &moments->order) &&
           py_parse_bool(arguments[PY_NAME_bias], true, &moments->bias) &&
           py_parse_bool(arguments[PY_NAME_fisher], true, &moments->fisher) &&
           parse_nan_policy(arguments[PY_NAME_nan_policy], &moments->omits_nan) &&
           parse_ddof(self, arguments, call, &moments->ddof);
}

static PyObject *fast_moments(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_moments moments;
    PyObject *sums = NULL, *result = NULL;
    py_call_init(&call, self->state);
    call.reduction.op = GR_OP_moments;
    int parsed = parse_arguments(self, arguments, &call);
    if (parsed > 0 && (self->tensors != NULL || !parse_moments(self, arguments, &call, &moments)))
        parsed = 0;
    if (parsed > 0 && moments.on_device && call.job.inputs[PY_SOURCE].on_device &&
        moments.source != GR_DTYPE_f64 && !py_job_is_empty(&call.job)) {
        result = py_moments_on_device(&moments, &call, self->report);
        py_call_release(&call);
        return result;
    }
    if (parsed > 0 && py_call_is_captured(&call))
        parsed = 0;
    call.job.on_device = false;
    call.job.as_array = true;
    if (parsed > 0)
        sums = py_call_run(&call);
    if (parsed == 0)
        result = Py_NewRef(Py_NotImplemented);
    else if (sums != NULL)
        result = py_moments_from_sums(&moments, &call.job, (PyArrayObject *)sums, self->report);
    Py_XDECREF(sums);
    py_call_release(&call);
    return result;
}

/* ---- logical_xor ---- */

/* Makes the planned call of count_nonzero one of bitwise_xor, for bools. */
static int plan_xor_of_bools(py_call *call) {
    call->reduction.op = GR_OP_bitwise_xor;
    py_call_infer_result(call);
    return py_call_plan(call);
}

/* Counts on the host become bools by `report`. */
static PyObject *fast_logical_xor(const py_signature *self, const py_arguments arguments) {
    py_call call;
    py_call_init(&call, self->state);
    call.reduction.op = GR_OP_count_nonzero;
    PyObject *result = NULL;
    int parsed = py_is_none(arguments[PY_NAME_out]) && is_default(self, arguments[PY_NAME_initial])
                     ? parse_arguments(self, arguments, &call)
                     : 0;
    const bool is_bool = parsed > 0 && call.reduction.dtype == GR_DTYPE_b8;
    if (is_bool && plan_xor_of_bools(&call) < 0)
        parsed = -1;
    if (parsed == 0) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (parsed > 0 && (is_bool || !call.job.on_device || py_job_is_empty(&call.job))) {
        call.job.dtype = is_bool || call.job.on_device ? GR_DTYPE_b8 : call.job.dtype;
        result = py_call_run(&call);
    } else if (parsed > 0) {
        result = py_parity_on_device(&call);
    }
    if (result != NULL && parsed > 0 && !is_bool && !call.job.on_device) {
        PyObject *const counts = result;
        result = PyObject_CallOneArg(self->report, counts);
        Py_DECREF(counts);
    }
    py_call_release(&call);
    return result;
}

/* The functions that are no reductions by one operator. */
static const struct {
    const char *name;
    PyObject *(*implementation)(const py_signature *self, const py_arguments arguments);
    uint64_t parameter;
} functions[] = {
    {"moments", fast_moments, 0},
    {"logical_xor", fast_logical_xor, 0},
    {"vecdot", py_fast_vecdot, 0},
    {"inner", py_fast_inner, 0},
    {"trace", py_fast_trace, 0},
    {"softmax_denominator", py_fast_softmax_denominator, 0},
    {"matmul", py_fast_matmul, 0},
    {"conv2d", py_fast_conv2d, 0},
    {"cumulative_sum", py_fast_scan, GR_SCAN_SUM},
    {"cumulative_prod", py_fast_scan, GR_SCAN_PROD},
    {"nancumsum", py_fast_scan, GR_SCAN_SUM | PY_SCAN_VALID},
    {"nancumprod", py_fast_scan, GR_SCAN_PROD | PY_SCAN_VALID},
    {"cummax", py_fast_scan, GR_SCAN_MAX},
    {"cummin", py_fast_scan, GR_SCAN_MIN},
    {"median", py_fast_quantiles, PY_MEDIAN},
    {"nanmedian", py_fast_quantiles, PY_NANMEDIAN},
    {"quantile", py_fast_quantiles, PY_QUANTILE},
    {"percentile", py_fast_quantiles, PY_PERCENTILE},
    {"nanquantile", py_fast_quantiles, PY_NANQUANTILE},
    {"nanpercentile", py_fast_quantiles, PY_NANPERCENTILE},
    {"topk", py_fast_topk, PY_TOPK},
    {"sort", py_fast_topk, PY_SORT},
    {"argsort", py_fast_topk, PY_ARGSORT},
    {"softmax", py_fast_normalize, GR_NORMALIZE_softmax},
    {"log_softmax", py_fast_normalize, GR_NORMALIZE_log_softmax},
    {"rms_norm", py_fast_normalize, GR_NORMALIZE_rms_norm},
    {"layer_norm", py_fast_normalize, GR_NORMALIZE_layer_norm},
    {"segment_reduce", py_fast_segments, PY_BY_OFFSETS},
    {"reduceat", py_fast_segments, PY_BY_INDICES},
    {"group_reduce", py_fast_segments, PY_BY_LABELS},
    {"bincount", py_fast_bincount, 0},
    {"partial", py_fast_partial, 0},
};

/* Finds a function by its name, else an operator. -1 with an exception set. */
static int find_implementation(PyObject *name, py_signature *self) {
    const char *text = py_text_of(name);
    self->op = GR_OP_COUNT;
    for (size_t i = 0; text != NULL && i < sizeof functions / sizeof functions[0]; ++i)
        if (strcmp(text, functions[i].name) == 0) {
            self->implementation = functions[i].implementation;
            self->parameter = functions[i].parameter;
            return 0;
        }
    self->implementation = fast_reduction;
    return py_find_op(name, &self->op);
}

PyObject *py_fast_path(PyObject *module, PyObject *args) {
    PyObject *name, *positional, *named, *tensors = Py_None;
    py_signature like = {.state = PyModule_GetState(module), .report = Py_None};
    unsigned long long parameter = 0;
    int exact = 0;
    if (!PyArg_ParseTuple(args, "OO!O!|OKpO", &name, &PyTuple_Type, &positional, &PyTuple_Type, &named,
                          &like.report, &parameter, &exact, &tensors) ||
        find_implementation(name, &like) < 0)
        return NULL;
    if (like.op != GR_OP_COUNT)
        like.parameter = parameter;
    like.exact = exact != 0;
    like.tensors = tensors == Py_None ? NULL : py_tensors_parse(tensors);
    if (PyErr_Occurred())
        return NULL;
    return py_signature_function(module, &like, positional, named);
}
