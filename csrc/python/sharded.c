/* Reductions of a sharded array, whose shards are whole arrays on one or several devices: launches one
   reduction per shard and operator, waits for all, and merges the results or the states of exact sums on the
   host. A short host array can be the only shard. One thread launches all of them, because a launch takes
   less time than waking another thread. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

enum { MAX_SHARDS = 64, MAX_OPS = 2, MAX_STATES = 2 /* per sum: the real and the imaginary part */ };

/* Precision and exponent bits of real numbers, or of the parts of complex numbers. */
static const gr_exact_format formats[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f16] = {11, 5},  [GR_DTYPE_bf16] = {8, 8}, [GR_DTYPE_f32] = {24, 8},
    [GR_DTYPE_f64] = {53, 11}, [GR_DTYPE_c64] = {24, 8}, [GR_DTYPE_c128] = {53, 11}};

typedef struct shard {
    py_call call;
    gr_execution execution; /* once launched */
    bool is_launched;
} shard;

/* One operator, and its results of all shards. */
typedef struct op_results {
    gr_op op;
    gr_dtype dtype;     /* of the results */
    size_t bytes;       /* of the result, or states, of one shard */
    gr_exact_size size; /* of a state */
    uint32_t each;      /* states per shard: 2 for the parts of complex numbers, else 1 */
    void *out;          /* one result per shard, or the merged states */
    PyObject *array;    /* the NumPy array that owns `out`, or NULL */
} op_results;

typedef struct sharded_call {
    py_state *state;
    PyObject *arrays, *others; /* tuples of shards; others: the second vectors of dot, or NULL */
    PyObject *device;          /* `device=` of the call, or NULL; borrowed */
    size_t count, op_count;    /* number of shards, number of operators */
    bool states;               /* the results are states of exact sums */
    op_results op_results[MAX_OPS];
    shard *shard;      /* `count` per operator */
    uint64_t elements; /* of all shards */
    gr_dtype dtype;    /* of the elements */
} sharded_call;

/* ---- arguments ---- */

/* Parses the second vector of a dot product. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_other(sharded_call *self, size_t number, py_call *call) {
    const py_operand *source = &call->job.inputs[PY_SOURCE];
    py_operand *other = &call->job.inputs[PY_SECOND];
    call->reduction.layout.has_second = true;
    if (self->others == NULL) { /* sums of squares; |z|^2 of complex numbers is not z * z */
        uint32_t each;
        gr_exact_state_size(GR_OP_dot, source->dtype, &each);
        call->squares = true;
        return each == 1;
    }
    PyObject *array = PyTuple_GET_ITEM(self->others, (Py_ssize_t)number);
    const int parsed =
        py_operand_from_object(self->state, array, PY_NO_COPY, GR_SCOPE_GENERAL, "others", other);
    if (parsed <= 0)
        return parsed;
    return source->ndim == 1 && py_call_has_fitting_second(call) && !py_job_is_apart(&call->job, other);
}

/* Whether kernels exist whose results are exact, or that round only products. */
static bool has_kernels(const sharded_call *self, gr_op op, gr_dtype dtype, uint64_t elements) {
    if (self->states)
        return gr_exact_takes(op, dtype);
    const bool whole = gr_dtypes[dtype].kind == GR_KIND_BITS;
    if (gr_op_is_sum(op)) /* in 64 bits, without wrapping */
        return whole && gr_dtypes[dtype].item_bytes <= 4 && elements <= INT32_MAX;
    return !gr_op_is_mean(op) && !gr_op_is_pair(op) && !gr_op_has_parameter(op) && gr_op_numbers(op) == 1 &&
           gr_op_takes(op, dtype);
}

static bool is_in_place(const sharded_call *self, const py_operand *source) {
    return source->on_device || (self->count == 1 && source->source.bytes <= GR_ZERO_COPY_BYTES);
}

static int parse_shard(sharded_call *self, const op_results *one, size_t number, py_call *call) {
    PyObject *array = PyTuple_GET_ITEM(self->arrays, (Py_ssize_t)number);
    py_operand *source = &call->job.inputs[PY_SOURCE];
    int parsed = py_operand_from_object(self->state, array, PY_NO_COPY, GR_SCOPE_GENERAL, "parts", source);
    if (parsed <= 0)
        return parsed;
    const uint64_t elements = py_operand_count(source, NULL);
    if (!is_in_place(self, source) || elements == 0 || (self->elements > 0 && source->dtype != self->dtype))
        return 0;
    self->dtype = source->dtype;
    if (one == self->op_results &&
        (__builtin_add_overflow(self->elements, elements, &self->elements) || self->elements > INT64_MAX))
        return 0;
    if (!has_kernels(self, one->op, source->dtype, elements))
        return 0;
    call->reduction.op = one->op;
    call->reduction.dtype = source->dtype;
    for (size_t d = 0; d < source->ndim; ++d)
        call->reduction.layout.reduced[d] = true;
    call->exact = call->states = self->states;
    py_call_infer_result(call);
    parsed = py_job_parse_device(&call->job, self->device);
    if (parsed > 0 && gr_op_is_pair(one->op))
        parsed = parse_other(self, number, call);
    if (parsed <= 0)
        return parsed;
    return py_call_plan(call) < 0 ? -1 : py_job_parse_stream(&call->job, NULL);
}

/* Parses all shards for all operators. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_all(sharded_call *self) {
    for (size_t w = 0; w < self->op_count; ++w) {
        op_results *one = &self->op_results[w];
        for (size_t i = 0; i < self->count; ++i) {
            const int parsed = parse_shard(self, one, i, &self->shard[w * self->count + i].call);
            if (parsed <= 0)
                return parsed;
        }
        one->dtype = gr_op_result(one->op, self->dtype);
        one->bytes = gr_dtypes[one->dtype].item_bytes;
        if (self->states) {
            one->size = gr_exact_state_size(one->op, self->dtype, &one->each);
            one->bytes = one->each * one->size.words * sizeof(int64_t);
        }
        if (one->bytes > GR_ASYNC_RESULT_BYTES)
            return 0;
    }
    return 1;
}

/* Initialises and parses all calls. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int init(sharded_call *self) {
    self->count = (size_t)PyTuple_GET_SIZE(self->arrays);
    if (self->count == 0 || self->count > MAX_SHARDS)
        return 0;
    if (self->others != NULL && (size_t)PyTuple_GET_SIZE(self->others) != self->count)
        return PY_RAISE(PyExc_ValueError, "others: expected as many as parts");
    self->shard = malloc(self->count * self->op_count * sizeof *self->shard);
    if (self->shard == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->count * self->op_count; ++i) {
        py_call_init(&self->shard[i].call, self->state);
        self->shard[i].is_launched = false;
    }
    return parse_all(self);
}

static void release(sharded_call *self) {
    for (size_t i = 0; self->shard != NULL && i < self->count * self->op_count; ++i)
        py_call_release(&self->shard[i].call);
    free(self->shard);
    for (size_t w = 0; w < MAX_OPS; ++w)
        Py_XDECREF(self->op_results[w].array);
}

/* ---- the run ---- */

static gr_status launch(void *arg, gr_device *device, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    shard *self = arg;
    const gr_status status =
        gr_execution_begin(device, py_call_program, &self->call, binding, interrupt, &self->execution, error);
    self->is_launched = status == GR_OK;
    return status;
}

static gr_status launch_all(sharded_call *self, py_work *work) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < self->count * self->op_count; ++i) {
        py_job *job = &self->shard[i].call.job;
        gr_binding binding = {.host_out = self->shard,
                              .out_bytes = self->op_results[i / self->count].bytes,
                              .stream = job->stream};
        for (size_t k = 0; k < job->input_count; ++k)
            binding.inputs[k] = job->inputs[k].source;
        job->work.interrupt = work->interrupt;
        status = py_job_execute(job, launch, &self->shard[i], NULL, &binding, &work->error);
    }
    return status;
}

/* Waits for a shard, and stores its result or merges its states. */
static gr_status collect(const sharded_call *self, const op_results *one, size_t number, shard *results,
                         gr_error *error) {
    int64_t words[MAX_STATES * GR_EXACT_WIDEST_WORDS];
    void *out = self->states ? (void *)words : (char *)one->out + number * one->bytes;
    const gr_status status = gr_execution_end(&results->execution, out, error);
    if (status != GR_OK || !self->states || gr_exact_states_merge(one->out, words, one->each, one->size))
        return status;
    return gr_fail(error, GR_ERR_VALUE, "parts: the sum exceeds the range of a state");
}

/* Launches all and waits for all that were launched, also after an error. -1 with an exception set. */
static int run(sharded_call *self) {
    py_work work;
    py_begin(&work);
    gr_status status = launch_all(self, &work);
    for (size_t i = 0; i < self->count * self->op_count; ++i) {
        gr_error error;
        if (!self->shard[i].is_launched)
            continue;
        const gr_status collected =
            collect(self, &self->op_results[i / self->count], i % self->count, &self->shard[i], &error);
        if (status != GR_OK || collected == GR_OK)
            continue;
        status = collected;
        work.error = error;
    }
    if (py_end(self->state, &work, status) < 0)
        return -1;
    py_count_run();
    return 0;
}

/* ---- functions of the module ---- */

static int parse_ops(PyObject *ops, sharded_call *self) {
    self->op_count = (size_t)PyTuple_GET_SIZE(ops);
    if (self->op_count == 0 || self->op_count > MAX_OPS)
        return PY_RAISE(PyExc_ValueError, "ops: expected 1 to %d", MAX_OPS);
    for (size_t w = 0; w < self->op_count; ++w)
        if (py_find_op(PyTuple_GET_ITEM(ops, (Py_ssize_t)w), &self->op_results[w].op) < 0)
            return -1;
    return 0;
}

/* None becomes NULL. */
static int parse_others(PyObject *others, sharded_call *self) {
    if (others != Py_None && !PyTuple_Check(others))
        return PY_RAISE(PyExc_TypeError, "others: expected a tuple or None");
    self->others = others == Py_None ? NULL : others;
    return 0;
}

PyObject *py_exact_sharded(PyObject *module, PyObject *args) {
    sharded_call self = {.state = PyModule_GetState(module), .states = true, .op_count = 1};
    PyObject *others, *result = NULL;
    int mean;
    if (!PyArg_ParseTuple(args, "O!Op", &PyTuple_Type, &self.arrays, &others, &mean) ||
        parse_others(others, &self) < 0)
        return NULL;
    int64_t total[MAX_STATES * GR_EXACT_WIDEST_WORDS] = {0};
    op_results *one = &self.op_results[0];
    one->op = self.others != NULL ? GR_OP_dot : GR_OP_sum;
    one->out = total;
    const int parsed = init(&self);
    if (parsed == 0) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (parsed > 0 && run(&self) == 0) {
        const uint64_t divisor = mean ? self.elements : 1;
        const uint64_t divisors[MAX_STATES] = {divisor, divisor};
        const size_t bytes = gr_dtypes[self.dtype].item_bytes / one->each;
        uint64_t bits[MAX_STATES];
        gr_scalar scalar = {.bytes = {0}};
        gr_exact_states_round(total, divisors, one->each, one->size, formats[self.dtype], bits);
        for (size_t i = 0; i < one->each; ++i)
            memcpy(scalar.bytes + i * bytes, &bits[i], bytes);
        result = py_result(self.state, self.dtype, scalar);
    }
    release(&self);
    return result;
}

/* Allocates the NumPy arrays of the results, one per operator. */
static int allocate_results(sharded_call *self) {
    for (size_t w = 0; w < self->op_count; ++w) {
        op_results *one = &self->op_results[w];
        const npy_intp rows[] = {one->each, one->size.words}, count = (npy_intp)self->count;
        PyArray_Descr *descr = py_descr(self->state, self->states ? GR_DTYPE_i64 : one->dtype);
        one->array = descr == NULL
                         ? NULL
                         : PyArray_Zeros(self->states ? 2 : 1, self->states ? rows : &count, descr, 0);
        if (one->array == NULL)
            return -1;
        one->out = PyArray_DATA((PyArrayObject *)one->array);
    }
    return 0;
}

/* Returns (dtype of the elements, one array of results per operator). */
static PyObject *run_all(sharded_call *self) {
    if (allocate_results(self) < 0 || run(self) < 0)
        return NULL;
    PyObject *results = PyTuple_New((Py_ssize_t)self->op_count);
    for (size_t w = 0; results != NULL && w < self->op_count; ++w)
        PyTuple_SET_ITEM(results, (Py_ssize_t)w, Py_NewRef(self->op_results[w].array));
    return results == NULL ? NULL : Py_BuildValue("(NN)", py_descr(self->state, self->dtype), results);
}

PyObject *py_sharded(PyObject *module, PyObject *args) {
    sharded_call self = {.state = PyModule_GetState(module)};
    PyObject *others, *ops, *result = NULL;
    int states;
    if (!PyArg_ParseTuple(args, "O!OO!p|O", &PyTuple_Type, &self.arrays, &others, &PyTuple_Type, &ops,
                          &states, &self.device) ||
        parse_others(others, &self) < 0 || parse_ops(ops, &self) < 0)
        return NULL;
    self.states = states != 0;
    const int parsed = init(&self);
    if (parsed >= 0)
        result = parsed > 0 ? run_all(&self) : Py_NewRef(Py_NotImplemented);
    release(&self);
    return result;
}
