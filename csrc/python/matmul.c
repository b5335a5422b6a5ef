/* matmul: converts a, b and the options to a gr_matmul, runs it and returns the product. Three entry points
   share that conversion: the fast path that parses the public arguments in C, py_matmul behind the Python
   fallback, and the profiler on the simulator. */
#include <string.h>

#include "matmul/cublas.h"
#include "matmul/matmul.h"
#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"
#include "python/tables.h"

enum { LEFT, RIGHT }; /* indices of the job's inputs */

typedef struct matmul_call {
    py_job job;
    gr_matmul matmul;
} matmul_call;

static void init(matmul_call *self, py_state *state) {
    py_job_init(&self->job, state);
    self->job.input_count = 2;
    self->matmul.variant = NULL;
    self->matmul.precision = GR_PRECISION_IEEE;
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
        return "b: expected as many rows as a has columns";
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
            return "a, b: the stacks of matrices do not broadcast";
        self->job.extent[ndim - 1 - i] = length;
        if (length != 1 && !add_batch_axis(matmul, &count, length, i < ndim_a ? stride_from_end(a, i + 3) : 0,
                                           i < ndim_b ? stride_from_end(b, i + 3) : 0))
            return "a, b: stacks with such strides are not taken; copy them to C order first";
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

static bool is_floating(gr_dtype dtype) {
    return gr_dtypes[dtype].kind == GR_KIND_NUMBER;
}

/* Tells the plan whether addresses are multiples of 16 bytes, and whether `out` overlaps an input. */
static void note_alignment(matmul_call *self) {
    const py_job *job = &self->job;
    self->matmul.a.aligned = job->inputs[LEFT].source.origin % 16 == 0;
    self->matmul.b.aligned = job->inputs[RIGHT].source.origin % 16 == 0;
    self->matmul.out_aligned = job->out == NULL || !job->on_device || job->device_out.source.origin % 16 == 0;
    self->matmul.needs_temporary_output = py_job_out_overlaps(job);
}

/* ---- the run ---- */

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_matmul_run(device, &((matmul_call *)arg)->matmul, binding, interrupt, error);
}

/* ---- the fast path ---- */

/* Parses `precision=`. False if the dtype does not support it. */
static bool parse_precision(PyObject *name, matmul_call *self) {
    if (py_is_none(name))
        return true;
    Py_ssize_t length;
    const char *text = PyUnicode_CheckExact(name) ? py_utf8(name, &length) : NULL;
    return text != NULL && gr_precision_find(text, &self->matmul.precision) &&
           (self->matmul.precision == GR_PRECISION_IEEE || self->matmul.dtype == GR_DTYPE_f32);
}

/* Parses `variant=`: "auto", or a rung that supports the dtype and the precision. Without `precision=`, the
   rung's own precision is used. */
static bool parse_variant(PyObject *name, bool has_precision, matmul_call *self) {
    gr_error ignored;
    Py_ssize_t length;
    const char *text = name == NULL ? "auto" : PyUnicode_CheckExact(name) ? py_utf8(name, &length) : NULL;
    if (text == NULL || strcmp(text, "auto") == 0)
        return text != NULL;
    if (gr_matmul_find(text, &self->matmul.variant, &ignored) != GR_OK ||
        !gr_matmul_supports_dtype(self->matmul.variant, self->matmul.dtype))
        return false;
    if (self->matmul.variant->rung.entry == GR_ENTRY_LIBRARY && gr_cublas_open(&ignored) != GR_OK)
        return false; /* Python searches for the library in more folders */
    if (!has_precision)
        self->matmul.precision = self->matmul.variant->precision;
    return gr_matmul_supports_precision(self->matmul.variant, self->matmul.precision);
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(const py_arguments arguments, matmul_call *self) {
    static const py_name names[] = {PY_NAME_a, PY_NAME_b};
    py_job *job = &self->job;
    if (!py_is_none(arguments[PY_NAME_dtype]) || arguments[PY_NAME_b] == NULL)
        return 0;
    for (int side = LEFT; side <= RIGHT; ++side) {
        const int parsed =
            py_operand_from_object(job->state, arguments[names[side]], PY_NO_COPY, GR_SCOPE_GENERAL,
                                   side == LEFT ? "a" : "b", &job->inputs[side]);
        if (parsed <= 0 || py_operand_ensure_element_strides(&job->inputs[side]) < 0)
            return parsed < 1 ? parsed : -1;
    }
    if (describe(self) != NULL || !py_job_set_c_strides(job) ||
        !parse_precision(arguments[PY_NAME_precision], self) ||
        !parse_variant(arguments[PY_NAME_variant], !py_is_none(arguments[PY_NAME_precision]), self))
        return 0;
    job->check_nonfinite = is_floating(job->dtype);
    int parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    const py_operand *a = &job->inputs[LEFT], *b = &job->inputs[RIGHT];
    if (parsed > 0 && py_job_is_apart(job, b))
        return 0;
    if (parsed > 0)
        parsed = py_job_parse_out(job, arguments[PY_NAME_out], arguments[PY_NAME_as_device], a->on_device);
    if (parsed <= 0)
        return parsed;
    note_alignment(self);
    return py_job_parse_stream(job, arguments[PY_NAME_stream]);
}

static PyObject *multiply(PyObject *capsule, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    const py_signature *signature = py_signature_from_capsule(capsule);
    py_arguments arguments;
    if (!py_signature_bind(signature, args, count, names, arguments))
        return Py_NewRef(Py_NotImplemented);
    matmul_call self;
    init(&self, signature->state);
    const int parsed = parse_arguments(arguments, &self);
    PyObject *result = parsed > 0    ? py_job_run(&self.job, work, &self)
                       : parsed == 0 ? Py_NewRef(Py_NotImplemented)
                                     : NULL;
    if (result != NULL && parsed > 0 && self.job.has_nonfinite && signature->report != Py_None) {
        const gr_device_info *info = &self.job.device->backend->info;
        result = py_reported(result,
                             PyObject_CallFunction(signature->report, "OOOii", result, arguments[PY_NAME_a],
                                                   arguments[PY_NAME_b], (int)info->kind, info->index));
    }
    py_job_release(&self.job);
    return result;
}

PyObject *py_multiplier(PyObject *module, PyObject *args) {
    static PyMethodDef definition = {
        "multiplier", (PyCFunction)(void (*)(void))multiply, METH_FASTCALL | METH_KEYWORDS,
        "Fast path of matmul with these parameters; NotImplemented: fall back to Python."};
    PyObject *positional, *named;
    py_signature like = {.op = GR_OP_COUNT, .report = Py_None};
    if (!PyArg_ParseTuple(args, "O!O!|O", &PyTuple_Type, &positional, &PyTuple_Type, &named, &like.report))
        return NULL;
    return py_signature_new_function(module, &like, positional, named, &definition);
}

/* ---- behind the Python fallback ---- */

/* Parses (a, b, variant): NumPy arrays or views of device memory, of one dtype, and the name of a rung or
   None. */
static int parse_product(py_state *state, PyObject *const *args, matmul_call *self) {
    static const char *const names[] = {"a", "b"};
    py_job *job = &self->job;
    for (int side = LEFT; side <= RIGHT; ++side)
        if (py_operand_from_object(state, args[side], PY_NATIVE, GR_SCOPE_GENERAL, names[side],
                                   &job->inputs[side]) < 0 ||
            py_operand_ensure_element_strides(&job->inputs[side]) < 0)
            return -1;
    const char *wrong = describe(self);
    if (wrong != NULL)
        return PY_RAISE(PyExc_ValueError, "%s", wrong);
    if (!py_job_set_c_strides(job))
        return PY_RAISE(PyExc_ValueError, "a, b: the product would have too many elements");
    job->as_array = true;
    if (args[2] == Py_None)
        return 0;
    gr_error error;
    const char *name = py_text_argument(args[2], "variant");
    if (name == NULL)
        return -1;
    if (gr_matmul_find(name, &self->matmul.variant, &error) != GR_OK) {
        py_raise(state, &error);
        return -1;
    }
    return gr_matmul_supports_dtype(self->matmul.variant, self->matmul.dtype)
               ? 0
               : PY_RAISE(PyExc_TypeError, "a: %s does not take dtype %s", name,
                          gr_dtypes[self->matmul.dtype].numpy_name);
}

/* Parses the name of a precision; None: the rung's, or IEEE. */
static int parse_named_precision(PyObject *name, matmul_call *self) {
    if (self->matmul.variant != NULL)
        self->matmul.precision = self->matmul.variant->precision;
    if (name == Py_None)
        return 0;
    const char *text = py_text_argument(name, "precision");
    if (text == NULL)
        return -1;
    return gr_precision_find(text, &self->matmul.precision)
               ? 0
               : PY_RAISE(PyExc_ValueError, "precision: unknown precision '%.32s'", text);
}

PyObject *py_matmul(PyObject *module, PyObject *args) {
    PyObject *inputs[3], *precision, *destination, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOOOO", &inputs[0], &inputs[1], &inputs[2], &precision, &destination))
        return NULL;
    matmul_call self;
    init(&self, PyModule_GetState(module));
    if (parse_product(self.job.state, inputs, &self) == 0 && parse_named_precision(precision, &self) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0) {
        note_alignment(&self);
        result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}

PyObject *py_matmul_records(void) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_matmul_variant_count; ++i) {
        const gr_matmul_variant *variant = &gr_matmul_variants[i];
        PyObject *coverage = PyList_New(0);
        for (int dtype = 0; coverage != NULL && dtype < GR_DTYPE_COUNT; ++dtype)
            if (gr_matmul_supports_dtype(variant, (gr_dtype)dtype))
                py_append(&coverage, Py_BuildValue("(ss)", "matmul", gr_dtypes[dtype].numpy_name));
        py_append(&list,
                  py_rung_record(&variant->rung, py_as_tuple(coverage),
                                 variant->threads > 0 ? Py_BuildValue("(I)", (unsigned)variant->threads)
                                                      : PyTuple_New(0),
                                 variant->threads, false, false, gr_precisions[variant->precision],
                                 gr_matmul_is_arch_specific(variant)));
    }
    return list;
}
