/* The fast path of `partial`: states of an array on a device that stay there, of operators that one reduction
   computes. gpureduce/_states/device_state.py describes their memory; for all other arguments the function
   falls back to Python. */
#include <string.h>

#include "base/limits.h"
#include "exact/exact.h"
#include "python/args.h"
#include "python/call.h"
#include "python/dtype.h"
#include "python/signature.h"
#include "states/states.h"

/* How the states of an operator merge, and which fields they have in addition to what the reduction writes.
 */
static const struct {
    gr_op op;
    uint32_t merge_op;
    bool has_count;
} rules[] = {
    {GR_OP_sum, GR_STATE_NO_VALUE, false},
    {GR_OP_mean, GR_STATE_NO_VALUE, true},
    {GR_OP_min, GR_STATE_MIN, true},
    {GR_OP_max, GR_STATE_MAX, true},
    {GR_OP_any, GR_STATE_OR, false},
    {GR_OP_all, GR_STATE_AND, false},
    {GR_OP_count_nonzero, GR_STATE_ADD, false},
    {GR_OP_prod, GR_STATE_PROD, false},
    {GR_OP_bitwise_and, GR_STATE_AND, false},
    {GR_OP_bitwise_or, GR_STATE_OR, false},
    {GR_OP_bitwise_xor, GR_STATE_XOR, false},
};

typedef struct partial_call {
    py_call call;
    gr_states states;
    gr_states_input input;
    gr_devptr offset; /* of the field that the reduction writes, in bytes */
    bool has_sum;
    bool is_built; /* a kernel writes the counts after the reduction; sums without counts need no kernel,
                      because merges propagate their carries */
} partial_call;

/* Whether all arguments that only Python handles have their defaults. */
static bool has_default_options(const py_arguments arguments) {
    PyObject *const where = arguments[PY_NAME_where], *const offset = arguments[PY_NAME_offset];
    int overflow = 0;
    return py_is_none(arguments[PY_NAME_b]) && py_is_none(arguments[PY_NAME_dtype]) &&
           py_is_none(arguments[PY_NAME_within]) && py_is_none(arguments[PY_NAME_labels]) &&
           py_is_none(arguments[PY_NAME_num_groups]) && (where == NULL || where == Py_True) &&
           (offset == NULL ||
            (PyLong_CheckExact(offset) && PyLong_AsLongAndOverflow(offset, &overflow) == 0 && overflow == 0));
}

/* Finds the operator among `rules`. False: fall back to Python. */
static bool find_rule(PyObject *name, size_t *out) {
    const char *text = py_text_of(name);
    for (size_t i = 0; text != NULL && i < sizeof rules / sizeof rules[0]; ++i)
        if (strcmp(text, gr_ops[rules[i].op].name) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* Appends a field of `each` bytes per result. Returns its offset. */
static uint64_t add_field(gr_states *states, uint32_t field, uint64_t each) {
    const uint64_t offset = states->bytes;
    states->params.has |= field;
    states->bytes += gr_ceil_div(states->params.results * each, 16) * 16;
    return offset;
}

/* Lays out the fields in the order of gpureduce/_states/device_state.py: the value, the count, the sum. */
static void lay_out(partial_call *self, size_t rule, uint64_t results) {
    py_call *call = &self->call;
    gr_state_params *p = &self->states.params;
    memset(&self->states, 0, sizeof self->states);
    memset(&self->input, 0, sizeof self->input);
    p->results = results;
    p->merge_op = rules[rule].merge_op;
    p->dtype = (uint32_t)(self->has_sum ? GR_DTYPE_i64 : call->job.dtype);
    if (!self->has_sum)
        p->value = add_field(&self->states, GR_STATE_HAS_VALUE, gr_dtypes[call->job.dtype].item_bytes);
    if (rules[rule].has_count)
        p->count = add_field(&self->states, GR_STATE_HAS_COUNT, sizeof(uint64_t));
    if (self->has_sum) {
        const gr_exact_size size = py_call_infer_states(call);
        p->sum_words = size.words;
        p->sum_result_words = size.words * (uint32_t)call->job.extent[1];
        p->sum = add_field(&self->states, GR_STATE_HAS_SUM, sizeof(int64_t) * p->sum_result_words);
    }
    gr_error error;
    (void)gr_states_check(&self->states, &error); /* sets item_bytes; this layout has all fields */
    self->offset = self->has_sum ? p->sum : p->value;
    self->is_built = rules[rule].has_count;
    self->input.params.flags = GR_STATE_EQUAL_COUNTS;
}

/* Parses and plans the reduction. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(const py_arguments arguments, partial_call *self, size_t *rule) {
    py_call *call = &self->call;
    py_job *job = &call->job;
    py_operand *source = &job->inputs[PY_SOURCE];
    if (arguments[PY_NAME_as_device] != Py_True || !has_default_options(arguments) ||
        !find_rule(arguments[PY_NAME_op], rule) ||
        !py_parse_bool(arguments[PY_NAME_keepdims], false, &call->keepdims))
        return 0;
    int parsed = py_operand_from_object(job->state, arguments[PY_NAME_a], job->conversion, GR_SCOPE_GENERAL,
                                        "a", source);
    if (parsed <= 0)
        return parsed;
    gr_reduction *reduction = &call->reduction;
    reduction->op = rules[*rule].op;
    reduction->dtype = source->dtype;
    self->has_sum = reduction->op == GR_OP_sum || reduction->op == GR_OP_mean;
    if (!source->on_device || !gr_op_takes(reduction->op, reduction->dtype) ||
        (self->has_sum && !gr_exact_takes(reduction->op, reduction->dtype)) ||
        (reduction->op == GR_OP_prod && gr_op_result(reduction->op, reduction->dtype) != reduction->dtype) ||
        !py_parse_axes_argument(arguments[PY_NAME_axis], source->ndim, reduction->layout.reduced))
        return 0;
    call->exact = call->states = self->has_sum;
    py_call_infer_result(call);
    parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    if (parsed > 0)
        parsed = py_job_parse_stream(job, arguments[PY_NAME_stream]);
    job->on_device = true;
    if (parsed <= 0)
        return parsed;
    return py_call_plan(call) < 0 ? -1 : 1;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    partial_call *self = arg;
    gr_binding reducing = *binding;
    reducing.device_out += self->offset;
    reducing.out_bytes -= self->offset;
    const gr_status status = py_call_work(&self->call, device, &reducing, interrupt, error);
    return status == GR_OK && self->is_built
               ? gr_states_begin_run(device, &self->states, &self->input, binding, interrupt, error)
               : status;
}

/* Returns report(op, dtype of the elements, shape, memory). NULL with an exception set. */
static PyObject *run(const py_signature *signature, const py_arguments arguments, partial_call *self,
                     size_t rule) {
    py_job *job = &self->call.job;
    const py_operand *source = &job->inputs[PY_SOURCE];
    PyObject *shape = PyTuple_New((Py_ssize_t)job->ndim);
    uint64_t results = 1;
    for (size_t d = 0; shape != NULL && d < job->ndim; ++d) {
        PyObject *length = PyLong_FromUnsignedLongLong(job->extent[d]);
        if (length == NULL)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, (Py_ssize_t)d, length);
        results *= job->extent[d];
    }
    if (shape == NULL)
        return NULL;
    const uint64_t elements = py_operand_count(source, NULL);
    PyObject *result = NULL;
    lay_out(self, rule, results);
    self->input.params.elements = elements / results;
    job->dtype = GR_DTYPE_i64;
    job->ndim = 1;
    job->extent[0] = self->states.bytes / sizeof(int64_t);
    PyObject *memory = py_job_run(job, work, self);
    if (memory != NULL)
        result = PyObject_CallFunction(signature->report, "OsOO", arguments[PY_NAME_op],
                                       gr_dtypes[source->dtype].numpy_name, shape, memory);
    Py_XDECREF(memory);
    Py_DECREF(shape);
    return result;
}

PyObject *py_fast_partial(const py_signature *signature, const py_arguments arguments) {
    partial_call self;
    size_t rule;
    py_call_init(&self.call, signature->state);
    int parsed = parse_arguments(arguments, &self, &rule);
    if (parsed > 0 &&
        (py_job_is_empty(&self.call.job) || py_operand_count(&self.call.job.inputs[PY_SOURCE], NULL) == 0 ||
         py_call_is_captured(&self.call)))
        parsed = 0;
    PyObject *result = parsed > 0    ? run(signature, arguments, &self, rule)
                       : parsed == 0 ? Py_NewRef(Py_NotImplemented)
                                     : NULL;
    py_call_release(&self.call);
    return result;
}
