/* Reductions of a sharded array, whose shards are whole arrays on one or several devices: launches one
   reduction per shard and operator, waits for all, and merges the results or the states of exact sums on the
   host. One thread launches all of them, because a launch takes less time than waking another thread. */
#include <stdlib.h>
#include <string.h>

#include "executor/async_result.h"
#include "python/call.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

enum { MOST_PARTS = 64, MOST_WAYS = 2, MOST_STATES = 2 /* of a sum: a complex number's parts */ };

/* Of real numbers, and of the parts of complex ones. */
static const gr_exact_format formats[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f16] = {11, 5},  [GR_DTYPE_bf16] = {8, 8}, [GR_DTYPE_f32] = {24, 8},
    [GR_DTYPE_f64] = {53, 11}, [GR_DTYPE_c64] = {24, 8}, [GR_DTYPE_c128] = {53, 11}};

typedef struct part {
    py_call call;
    gr_async_result later; /* its result, once launched */
    bool is_launched;
} part;

/* One operator, and its results of all shards. */
typedef struct way {
    gr_op op;
    gr_dtype dtype;     /* of the results */
    size_t bytes;       /* of the result, or states, of one shard */
    gr_exact_size size; /* of a state */
    uint32_t each;      /* states per shard: 2 for the parts of complex numbers, else 1 */
    void *out;          /* one result per shard, or the merged states */
    PyObject *array;    /* the NumPy array that owns `out`, or NULL */
} way;

typedef struct parts {
    py_state *state;
    PyObject *arrays, *others; /* tuples of shards; others: the second vectors of dot, or NULL */
    size_t count, ways;        /* number of shards, number of operators */
    bool states;               /* the results are states of exact sums */
    way way[MOST_WAYS];
    part *part;        /* `count` per operator */
    uint64_t elements; /* of all shards */
    gr_dtype dtype;    /* of the elements */
} parts;

/* ---- what is asked for ---- */

/* 1: taken; 0: to be left to Python; -1 with an exception set. */
static int take_other(parts *self, size_t number, py_call *call) {
    const py_operand *source = &call->job.inputs[PY_SOURCE];
    py_operand *other = &call->job.inputs[PY_SECOND];
    call->reduction.layout.has_second = true;
    if (self->others == NULL) { /* of squares, which of complex numbers are other products */
        uint32_t each;
        gr_exact_state_size(GR_OP_dot, source->dtype, &each);
        call->squares = true;
        return each == 1;
    }
    PyObject *array = PyTuple_GET_ITEM(self->others, (Py_ssize_t)number);
    const int taken = py_operand_take(self->state, array, PY_LOOK, GR_SCOPE_GENERAL, "others", other);
    if (taken <= 0)
        return taken;
    return source->ndim == 1 && other->ndim == 1 && other->dtype == source->dtype &&
           other->extent[0] == source->extent[0] && !py_job_is_elsewhere(&call->job, other);
}

/* Whether there are kernels, whose results are exact or round nothing but products. */
static bool has_kernels(const parts *self, gr_op op, gr_dtype dtype, uint64_t elements) {
    if (self->states)
        return gr_exact_takes(op, dtype);
    const gr_op_row *row = &gr_ops[op];
    const bool whole = gr_dtypes[dtype].kind == GR_KIND_BITS;
    if (op == GR_OP_sum) /* in 64 bits, which do not wrap */
        return whole && gr_dtypes[dtype].item_bytes <= 4 && elements <= INT32_MAX;
    return op != GR_OP_mean && row->takes != GR_TAKES_PAIR && !row->is_shared &&
           row->parameter != GR_PARAMETER_GIVEN && gr_op_numbers(op) == 1 && gr_op_takes(op, dtype);
}

static int take_part(parts *self, const way *one, size_t number, py_call *call) {
    PyObject *array = PyTuple_GET_ITEM(self->arrays, (Py_ssize_t)number);
    py_operand *source = &call->job.inputs[PY_SOURCE];
    int taken = py_operand_take(self->state, array, PY_LOOK, GR_SCOPE_GENERAL, "parts", source);
    if (taken <= 0)
        return taken;
    const uint64_t elements = py_operand_count(source, NULL);
    if (!source->placed || elements == 0 || (self->elements > 0 && source->dtype != self->dtype))
        return 0;
    self->dtype = source->dtype;
    if (one == self->way &&
        (__builtin_add_overflow(self->elements, elements, &self->elements) || self->elements > INT64_MAX))
        return 0;
    if (!has_kernels(self, one->op, source->dtype, elements))
        return 0;
    call->reduction.op = one->op;
    call->reduction.dtype = source->dtype;
    for (size_t d = 0; d < source->ndim; ++d)
        call->reduction.layout.reduced[d] = true;
    call->exact = call->states = self->states;
    py_call_shape(call);
    taken = py_job_take_device(&call->job, NULL);
    if (taken > 0 && gr_ops[one->op].takes == GR_TAKES_PAIR)
        taken = take_other(self, number, call);
    if (taken <= 0)
        return taken;
    return py_call_plan(call) < 0 ? -1 : py_job_take_stream(&call->job, NULL);
}

/* As take_part, of all. */
static int take_all(parts *self) {
    for (size_t w = 0; w < self->ways; ++w) {
        way *one = &self->way[w];
        for (size_t i = 0; i < self->count; ++i) {
            const int taken = take_part(self, one, i, &self->part[w * self->count + i].call);
            if (taken <= 0)
                return taken;
        }
        one->dtype = gr_op_result(one->op, self->dtype);
        one->bytes = gr_dtypes[one->dtype].item_bytes;
        if (self->states) {
            one->size = gr_exact_state_size(one->op, self->dtype, &one->each);
            one->bytes = one->each * one->size.words * sizeof(int64_t);
        }
    }
    return 1;
}

/* Of parts, tuples of arrays. */
static int begin(parts *self, size_t ways) {
    self->count = (size_t)PyTuple_GET_SIZE(self->arrays);
    self->ways = ways;
    if (self->count == 0 || self->count > MOST_PARTS)
        return 0;
    if (self->others != NULL && (size_t)PyTuple_GET_SIZE(self->others) != self->count)
        return PY_REFUSE(PyExc_ValueError, "others: expected as many as parts");
    self->part = malloc(self->count * ways * sizeof *self->part);
    if (self->part == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->count * ways; ++i) {
        py_call_begin(&self->part[i].call, self->state);
        self->part[i].is_launched = false;
    }
    return take_all(self);
}

static void end(parts *self) {
    for (size_t i = 0; self->part != NULL && i < self->count * self->ways; ++i)
        py_call_release(&self->part[i].call);
    free(self->part);
    for (size_t w = 0; w < MOST_WAYS; ++w)
        Py_XDECREF(self->way[w].array);
}

/* ---- the run ---- */

static gr_status launch(void *arg, gr_device *device, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    part *self = arg;
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    if (self->call.exact) {
        const gr_exact exact = py_call_exact(&self->call);
        gr_exact_plan(&exact, &device->backend->info.caps, program);
    } else {
        gr_reduction_plan(&self->call.reduction, &device->backend->info.caps, program);
    }
    const gr_status status = gr_async_result_begin(device, program, binding, interrupt, &self->later, error);
    free(program);
    self->is_launched = status == GR_OK;
    return status;
}

static gr_status launch_all(parts *self, py_work *work) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < self->count * self->ways; ++i) {
        py_job *job = &self->part[i].call.job;
        gr_binding binding = {
            .host_out = self->part, .out_bytes = self->way[i / self->count].bytes, .stream = job->stream};
        for (size_t k = 0; k < job->input_count; ++k)
            binding.inputs[k] = job->inputs[k].source;
        job->work.interrupt = work->interrupt;
        status = py_job_do(job, launch, &self->part[i], NULL, &binding, &work->error);
    }
    return status;
}

/* Waits for a part, and puts what it leaves where it goes. */
static gr_status collect(const parts *self, const way *one, size_t number, part *made, gr_error *error) {
    int64_t words[MOST_STATES * GR_EXACT_WIDEST_WORDS];
    void *out = self->states ? (void *)words : (char *)one->out + number * one->bytes;
    const gr_status status = gr_async_result_wait(&made->later, out, error);
    if (status != GR_OK || !self->states || gr_exact_states_merge(one->out, words, one->each, one->size))
        return status;
    return gr_fail(error, GR_ERR_VALUE, "parts: the sum is beyond what a state holds");
}

/* What is under way is waited for, whatever has failed. -1 with an exception set. */
static int run(parts *self) {
    py_work work;
    py_begin(&work);
    gr_status status = launch_all(self, &work);
    for (size_t i = 0; i < self->count * self->ways; ++i) {
        gr_error error;
        if (!self->part[i].is_launched)
            continue;
        const gr_status collected =
            collect(self, &self->way[i / self->count], i % self->count, &self->part[i], &error);
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

/* ---- what Python calls ---- */

/* 1: taken; 0: not; -1 with an exception set. */
static int take_ops(PyObject *ops, parts *self, size_t *ways) {
    *ways = (size_t)PyTuple_GET_SIZE(ops);
    if (*ways == 0 || *ways > MOST_WAYS)
        return PY_REFUSE(PyExc_ValueError, "ops: expected 1 to %d", MOST_WAYS);
    for (size_t w = 0; w < *ways; ++w)
        if (py_find_op(PyTuple_GET_ITEM(ops, (Py_ssize_t)w), &self->way[w].op) < 0)
            return -1;
    return 1;
}

/* None is NULL. */
static int take_others(PyObject *others, parts *self) {
    if (others != Py_None && !PyTuple_Check(others))
        return PY_REFUSE(PyExc_TypeError, "others: expected a tuple or None");
    self->others = others == Py_None ? NULL : others;
    return 0;
}

PyObject *py_exact_sharded(PyObject *module, PyObject *args) {
    parts self = {.state = PyModule_GetState(module), .states = true};
    PyObject *others, *result = NULL;
    int mean;
    if (!PyArg_ParseTuple(args, "O!Op", &PyTuple_Type, &self.arrays, &others, &mean) ||
        take_others(others, &self) < 0)
        return NULL;
    int64_t total[MOST_STATES * GR_EXACT_WIDEST_WORDS] = {0};
    way *one = &self.way[0];
    one->op = self.others != NULL ? GR_OP_dot : GR_OP_sum;
    one->out = total;
    int taken = begin(&self, 1);
    if (taken > 0 && one->bytes > GR_ASYNC_RESULT_BYTES)
        taken = 0;
    if (taken == 0) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (taken > 0 && run(&self) == 0) {
        const uint64_t divisor = mean ? self.elements : 1;
        const uint64_t divisors[MOST_STATES] = {divisor, divisor};
        const size_t bytes = gr_dtypes[self.dtype].item_bytes / one->each;
        uint64_t bits[MOST_STATES];
        gr_scalar scalar = {.bytes = {0}};
        gr_exact_states_round(total, divisors, one->each, one->size, formats[self.dtype], bits);
        for (size_t i = 0; i < one->each; ++i)
            memcpy(scalar.bytes + i * bytes, &bits[i], bytes);
        result = py_result(self.state, self.dtype, scalar);
    }
    end(&self);
    return result;
}

/* Room for what the ways make. */
static int make_arrays(parts *self) {
    for (size_t w = 0; w < self->ways; ++w) {
        way *one = &self->way[w];
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

/* (dtype of the elements, arrays of what the ways make) */
static PyObject *make_all(parts *self) {
    if (make_arrays(self) < 0 || run(self) < 0)
        return NULL;
    PyObject *made = PyTuple_New((Py_ssize_t)self->ways);
    for (size_t w = 0; made != NULL && w < self->ways; ++w)
        PyTuple_SET_ITEM(made, (Py_ssize_t)w, Py_NewRef(self->way[w].array));
    return made == NULL ? NULL : Py_BuildValue("(NN)", py_descr(self->state, self->dtype), made);
}

static PyObject *all_ways(parts *self, PyObject *ops) {
    PyObject *result = NULL;
    size_t ways = 0;
    int taken = take_ops(ops, self, &ways);
    if (taken > 0)
        taken = begin(self, ways);
    for (size_t w = 0; taken > 0 && w < ways; ++w)
        if (self->way[w].bytes > GR_ASYNC_RESULT_BYTES)
            taken = 0;
    if (taken >= 0)
        result = taken > 0 ? make_all(self) : Py_NewRef(Py_NotImplemented);
    end(self);
    return result;
}

PyObject *py_sharded_states(PyObject *module, PyObject *args) {
    parts self = {.state = PyModule_GetState(module), .states = true};
    PyObject *others, *ops;
    if (!PyArg_ParseTuple(args, "O!OO!", &PyTuple_Type, &self.arrays, &others, &PyTuple_Type, &ops) ||
        take_others(others, &self) < 0)
        return NULL;
    return all_ways(&self, ops);
}

PyObject *py_sharded_values(PyObject *module, PyObject *args) {
    parts self = {.state = PyModule_GetState(module)};
    PyObject *ops;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &self.arrays, &PyTuple_Type, &ops))
        return NULL;
    return all_ways(&self, ops);
}
