/* matmul: converts a, b and the options to a gr_matmul, runs it and returns the product. Three entry points
   share that conversion: the fast path that parses the public arguments in C, py_matmul behind the Python
   fallback, and the profiler on the simulator. */
#include <string.h>

#include "matmul/matmul.h"
#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"
#include "python/tables.h"

enum { LEFT, RIGHT }; /* indices of the job's inputs */

static const char *const names[] = {"a", "b"};

typedef struct matmul_call {
    py_job job;
    gr_matmul matmul;
} matmul_call;

static void init(matmul_call *self, py_state *state) {
    py_job_init(&self->job, state);
    self->matmul.variant = NULL;
    self->matmul.precision = GR_PRECISION_IEEE;
    self->matmul.batch_invariant = true;
    self->matmul.has_one_part = false;
    self->matmul.needs_temporary_output = false;
}

/* ---- shapes ---- */

/* Returns the stride in elements of an axis counted from the end (1: the last); 0 if its length is at most
   1. */
static int64_t stride_from_end(const py_operand *operand, size_t from_end) {
    const size_t d = operand->ndim - from_end;
    const int64_t item = (int64_t)gr_dtypes[operand->dtype].item_bytes;
    return from_end > operand->ndim || operand->extent[d] <= 1 ? 0 : operand->stride[d] / item;
}

static size_t batch_ndim(const py_operand *operand) {
    return operand->ndim > 2 ? operand->ndim - 2 : 0;
}

/* Adds a batch dimension outside of the present ones. Merges it with the outermost one if the strides of both
   operands allow that. False if the kernels have too few dimensions. */
static bool add_batch_axis(gr_matmul *matmul, size_t *count, uint64_t length, int64_t stride_a,
                           int64_t stride_b) {
    const size_t last = *count - 1;
    if (*count > 0 && stride_a == matmul->a.stack[last] * (int64_t)matmul->stack[last] &&
        stride_b == matmul->b.stack[last] * (int64_t)matmul->stack[last]) {
        matmul->stack[last] *= length;
        return true;
    }
    if (*count == GR_MATMUL_STACKS)
        return false;
    matmul->stack[*count] = length;
    matmul->a.stack[*count] = stride_a;
    matmul->b.stack[(*count)++] = stride_b;
    return true;
}

/* Fills in the gr_matmul and the shape of the result. Returns NULL, or the message of an error. */
static const char *describe(matmul_call *self) {
    const py_operand *a = &self->job.inputs[LEFT], *b = &self->job.inputs[RIGHT];
    gr_matmul *matmul = &self->matmul;
    if (a->ndim == 0 || b->ndim == 0)
        return "a, b: matmul takes arrays of one dimension or more";
    if (a->dtype != b->dtype)
        return "b: expected the dtype of a";
    matmul->dtype = self->job.dtype = a->dtype;
    matmul->m = a->ndim > 1 ? a->extent[a->ndim - 2] : 1;
    matmul->k = a->extent[a->ndim - 1];
    matmul->n = b->ndim > 1 ? b->extent[b->ndim - 1] : 1;
    if (matmul->k != b->extent[b->ndim - (b->ndim > 1 ? 2 : 1)])
        return "b: expected one row per column of a";
    matmul->a.row = a->ndim > 1 ? stride_from_end(a, 2) : 0;
    matmul->a.column = stride_from_end(a, 1);
    matmul->b.row = stride_from_end(b, b->ndim > 1 ? 2 : 1);
    matmul->b.column = b->ndim > 1 ? stride_from_end(b, 1) : 0;
    const size_t ndim_a = batch_ndim(a), ndim_b = batch_ndim(b), ndim = ndim_a > ndim_b ? ndim_a : ndim_b;
    size_t count = 0;
    self->job.ndim = ndim;
    for (size_t i = 0; i < ndim; ++i) { /* the last dimension first */
        const uint64_t length_a = i < ndim_a ? a->extent[ndim_a - 1 - i] : 1;
        const uint64_t length_b = i < ndim_b ? b->extent[ndim_b - 1 - i] : 1;
        const uint64_t length = length_a != 1 ? length_a : length_b;
        if (length_a != length_b && length_a != 1 && length_b != 1)
            return "a, b: the leading dimensions do not broadcast";
        self->job.extent[ndim - 1 - i] = length;
        if (length != 1 && !add_batch_axis(matmul, &count, length, i < ndim_a ? stride_from_end(a, i + 3) : 0,
                                           i < ndim_b ? stride_from_end(b, i + 3) : 0))
            return "a, b: leading dimensions with such strides are not supported; copy the arrays to C order "
                   "first";
    }
    for (; count < GR_MATMUL_STACKS; ++count) {
        matmul->stack[count] = 1;
        matmul->a.stack[count] = matmul->b.stack[count] = 0;
    }
    if (a->ndim > 1)
        self->job.extent[self->job.ndim++] = matmul->m;
    if (b->ndim > 1)
        self->job.extent[self->job.ndim++] = matmul->n;
    return NULL;
}

/* Sets in the plan whether addresses are multiples of 16 bytes, and whether `out` overlaps an input. */
static void note_alignment(matmul_call *self) {
    const py_job *job = &self->job;
    self->matmul.a.aligned = job->inputs[LEFT].source.origin % 16 == 0;
    self->matmul.b.aligned = job->inputs[RIGHT].source.origin % 16 == 0;
    self->matmul.out_aligned = py_job_out_is_aligned(job);
    self->matmul.needs_temporary_output = py_job_out_overlaps(job);
}

/* ---- the run ---- */

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_matmul_run(device, &((matmul_call *)arg)->matmul, binding, interrupt, error);
}

/* ---- the fast path ---- */

/* Finds a rung that supports the dtype. Its precision is used, unless another one is asked for. */
static gr_status find_variant(gr_matmul *matmul, const char *name, gr_error *error) {
    matmul->variant = gr_rung_find(&gr_matmul_ladder, name, error);
    if (matmul->variant == NULL)
        return error->status;
    matmul->precision = matmul->variant->precision;
    return gr_matmul_supports_dtype(matmul->variant, matmul->dtype)
               ? GR_OK
               : gr_fail(error, GR_ERR_TYPE, "a: %s does not take dtype %s", name,
                         gr_dtypes[matmul->dtype].numpy_name);
}

/* Parses `variant=` and `precision=`. False if they do not fit each other or the dtype. */
static bool parse_names(const py_arguments arguments, gr_matmul *matmul) {
    gr_error ignored;
    PyObject *const variant = arguments[PY_NAME_variant];
    const char *name = variant == NULL ? "auto" : py_text_of(variant);
    if (name == NULL || (strcmp(name, "auto") != 0 && find_variant(matmul, name, &ignored) != GR_OK))
        return false;
    const gr_matmul_variant *rung = matmul->variant;
    if (rung != NULL && rung->rung.entry == GR_ENTRY_LIBRARY && gr_cublas_open(&ignored) != GR_OK)
        return false; /* Python searches for the library in more folders */
    return py_parse_precision(arguments[PY_NAME_precision], matmul->dtype, &matmul->precision) &&
           (rung == NULL || gr_matmul_supports_precision(rung, matmul->precision));
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(const py_arguments arguments, matmul_call *self) {
    PyObject *const inputs[] = {arguments[PY_NAME_a], arguments[PY_NAME_b]};
    py_job *job = &self->job;
    if (!py_is_none(arguments[PY_NAME_dtype]) || inputs[RIGHT] == NULL ||
        !py_parse_bool(arguments[PY_NAME_batch_invariant], true, &self->matmul.batch_invariant))
        return 0;
    int parsed = py_job_parse_inputs(job, inputs, names, job->conversion);
    if (job->tensors != NULL && parsed > 0 && (job->inputs[LEFT].ndim < 2 || job->inputs[RIGHT].ndim < 2))
        return 0; /* the operator takes matrices only */
    if (parsed > 0 &&
        (describe(self) != NULL || !py_job_set_c_strides(job) || !parse_names(arguments, &self->matmul)))
        return 0;
    if (parsed > 0)
        parsed = py_job_parse_options(job, arguments);
    if (parsed <= 0)
        return parsed;
    note_alignment(self);
    job->check_nonfinite = gr_dtypes[job->dtype].kind != GR_KIND_BITS;
    return 1;
}

PyObject *py_fast_matmul(const py_signature *signature, const py_arguments arguments) {
    matmul_call self;
    init(&self, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    const int parsed = parse_arguments(arguments, &self);
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (result != NULL && parsed > 0 && self.job.has_nonfinite && signature->report != Py_None) {
        const gr_device_info *info = &self.job.device->backend->info;
        result = py_reported(result,
                             PyObject_CallFunction(signature->report, "OOOii", result, arguments[PY_NAME_a],
                                                   arguments[PY_NAME_b], (int)info->kind, info->index));
    }
    py_job_release(&self.job);
    return result;
}

/* ---- behind the Python fallback ---- */

/* Parses a and b: NumPy arrays or views of device memory, of one dtype. */
static int parse_inputs(matmul_call *self, PyObject *const *inputs) {
    if (py_job_parse_inputs(&self->job, inputs, names, PY_NATIVE) < 0)
        return -1;
    const char *wrong = describe(self);
    if (wrong != NULL)
        return PY_RAISE(PyExc_ValueError, "%s", wrong);
    self->job.as_array = true;
    return py_job_set_c_strides(&self->job)
               ? 0
               : PY_RAISE(PyExc_ValueError, "a, b: the product would have too many elements");
}

/* Parses the names of a rung (None: auto) and of a precision (None: the rung's, or IEEE). */
static int parse_rung(matmul_call *self, PyObject *variant, PyObject *precision) {
    gr_error error;
    const char *name = variant == Py_None ? NULL : py_text_argument(variant, "variant");
    if (name == NULL && variant != Py_None)
        return -1;
    if (name != NULL && find_variant(&self->matmul, name, &error) != GR_OK)
        return py_fail(self->job.state, &error);
    return py_precision_argument(precision, &self->matmul.precision);
}

PyObject *py_matmul(PyObject *module, PyObject *args) {
    PyObject *inputs[2], *variant, *precision, *destination, *result = NULL;
    int batch_invariant;
    if (!PyArg_ParseTuple(args, "OOOOpO", &inputs[LEFT], &inputs[RIGHT], &variant, &precision,
                          &batch_invariant, &destination))
        return NULL;
    matmul_call self;
    init(&self, PyModule_GetState(module));
    self.matmul.batch_invariant = batch_invariant != 0;
    if (parse_inputs(&self, inputs) == 0 && parse_rung(&self, variant, precision) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0) {
        note_alignment(&self);
        result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}

void py_append_matmul(PyObject **list) {
    for (size_t i = 0; *list != NULL && i < gr_matmul_ladder.count; ++i) {
        const gr_matmul_variant *variant = &gr_matmul_variants[i];
        PyObject *coverage = PyList_New(0);
        for (int dtype = 0; coverage != NULL && dtype < GR_DTYPE_COUNT; ++dtype)
            if (gr_matmul_supports_dtype(variant, (gr_dtype)dtype))
                py_append(&coverage, Py_BuildValue("(ss)", "matmul", gr_dtypes[dtype].numpy_name));
        const py_rung_traits traits = {.default_block = variant->threads,
                                       .precision = gr_precisions[variant->precision],
                                       .is_arch_specific = gr_matmul_is_arch_specific(variant)};
        py_append(list, py_rung_record(&variant->rung, py_as_tuple(coverage),
                                       py_one_block_size(variant->threads), &traits));
    }
}
