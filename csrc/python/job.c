/* Implements job.h. The fast path parses `device=`, `out=` and `stream=` here; what these parsers do not
   recognise, they leave unreported, because the Python fallback raises the error. */
#include "python/job.h"

#include <string.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

void py_job_init(py_job *self, py_state *state) {
    self->state = state;
    for (size_t i = 0; i < PY_JOB_INPUTS; ++i)
        py_operand_init(&self->inputs[i]);
    py_operand_init(&self->device_out);
    self->input_count = 1;
    self->device = NULL;
    self->work.error.status = GR_OK;
    self->stream = 0;
    self->tensors = NULL;
    self->conversion = PY_NO_COPY;
    self->stream_owner = self->out = self->like = NULL;
    self->stream_persists = self->on_device = self->as_array = self->is_index = self->check_nonfinite =
        self->has_nonfinite = self->detached = false;
}

void py_job_use_tensors(py_job *self, const py_signature *signature, PyObject *like) {
    self->tensors = signature->tensors;
    self->like = like;
    if (signature->tensors != NULL)
        self->conversion = PY_DETACHED;
}

void py_job_accept_jax(py_job *self) {
    if (self->conversion == PY_NO_COPY)
        self->conversion = PY_DEFERRED;
}

void py_job_release(py_job *self) {
    for (size_t i = 0; i < PY_JOB_INPUTS; ++i)
        py_operand_release(&self->inputs[i]);
    py_operand_release(&self->device_out);
}

/* ---- arguments ---- */

/* Parses the name of a device: "sim", "cuda" or "cuda:<up to two digits>". False: fall back to Python. */
static bool parse_device_name(PyObject *text, gr_device_kind *kind, long *index) {
    Py_ssize_t length;
    const char *name = PyUnicode_CheckExact(text) ? py_utf8(text, &length) : NULL;
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

int py_job_parse_device(py_job *self, PyObject *value) {
    py_state *state = self->state;
    const py_operand *source = &self->inputs[0];
    gr_device_kind kind = source->kind;
    long index = source->index;
    if (!py_is_none(value) && !parse_device_name(value, &kind, &index))
        return 0;
    if (source->on_device && (kind != source->kind || index != source->index))
        return 0;
    if (!source->on_device && py_is_none(value)) {
        int default_kind, default_index;
        const int found = py_find_default_device(state, &default_kind, &default_index);
        if (found <= 0)
            return found;
        kind = (gr_device_kind)default_kind;
        index = default_index;
    }
    return py_open_device(state, kind, index, &self->device) < 0 ? -1 : 1;
}

bool py_job_is_on_other_device(const py_job *self, const py_operand *operand) {
    const gr_device_info *info = &self->device->backend->info;
    return !operand->on_device || operand->kind != info->kind || operand->index != info->index;
}

bool py_job_is_apart(const py_job *self, const py_operand *operand) {
    return self->inputs[0].on_device ? py_job_is_on_other_device(self, operand) : operand->on_device;
}

static size_t count_results(const py_job *self) {
    size_t count = 1;
    for (size_t d = 0; d < self->ndim; ++d)
        count *= (size_t)self->extent[d];
    return count;
}

bool py_job_is_empty(const py_job *self) {
    return count_results(self) == 0;
}

static bool matches_shape(const py_job *self, size_t ndim, const uint64_t *extent) {
    return ndim == self->ndim && memcmp(extent, self->extent, ndim * sizeof *extent) == 0;
}

/* Parses `out=` on the host: a writeable NumPy array of the result's dtype and shape. */
static bool parse_host_out(py_job *self) {
    PyArrayObject *array = (PyArrayObject *)self->out;
    uint64_t extent[GR_MAX_NDIM];
    gr_dtype dtype = GR_DTYPE_COUNT;
    if (!PyArray_CheckExact(self->out) || PyArray_NDIM(array) > GR_MAX_NDIM || !PyArray_ISWRITEABLE(array) ||
        !PyArray_ISNOTSWAPPED(array))
        return false;
    for (int d = 0; d < PyArray_NDIM(array); ++d)
        extent[d] = (uint64_t)PyArray_DIM(array, d);
    const bool found = py_find_dtype(self->state, array, GR_SCOPE_GENERAL, "out", &dtype) == 0;
    PyErr_Clear();
    return found && dtype == self->dtype && matches_shape(self, (size_t)PyArray_NDIM(array), extent);
}

static int parse_out(py_job *self, PyObject *out, PyObject *as_device, bool on_device) {
    if (!py_is_none(as_device) && !PyBool_Check(as_device))
        return 0;
    self->on_device = py_is_none(as_device) ? on_device : as_device == Py_True;
    if (py_is_none(out))
        return 1;
    self->out = out;
    const bool on_host = PyArray_Check(out);
    if (!py_is_none(as_device) && self->on_device == on_host)
        return 0;
    self->on_device = !on_host;
    if (on_host)
        return parse_host_out(self);
    py_operand *device_out = &self->device_out;
    const int parsed =
        py_operand_from_object(self->state, out, PY_NO_COPY, GR_SCOPE_GENERAL, "out", device_out);
    if (parsed <= 0)
        return parsed;
    return !py_job_is_on_other_device(self, device_out) && !device_out->read_only &&
           device_out->dtype == self->dtype && matches_shape(self, device_out->ndim, device_out->extent) &&
           py_operand_is_contiguous(device_out, true);
}

bool py_job_set_c_strides(py_job *self) {
    npy_intp next = (npy_intp)gr_dtypes[self->dtype].item_bytes;
    for (size_t d = self->ndim; d-- > 0;) {
        self->stride[d] = next;
        const npy_intp length = self->extent[d] > 0 ? (npy_intp)self->extent[d] : 1;
        if (__builtin_mul_overflow(next, length, &next))
            return false;
    }
    return true;
}

/* Computes the range of addresses [*low, *high) of an operand in device memory. */
static void span_of(const py_operand *operand, uint64_t *low, uint64_t *high) {
    *low = *high = operand->source.origin;
    for (size_t d = 0; d < operand->ndim; ++d) {
        const int64_t reach =
            operand->extent[d] > 0 ? operand->stride[d] * (int64_t)(operand->extent[d] - 1) : 0;
        if (reach < 0)
            *low += (uint64_t)reach;
        else
            *high += (uint64_t)reach;
    }
    *high += gr_dtypes[operand->dtype].item_bytes;
}

bool py_operands_overlap(const py_operand *a, const py_operand *b) {
    uint64_t a_low, a_high, b_low, b_high;
    if (a->source.host != NULL || b->source.host != NULL)
        return false;
    span_of(a, &a_low, &a_high);
    span_of(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

bool py_job_out_overlaps_input(const py_job *self, size_t input) {
    return self->out != NULL && self->on_device &&
           py_operands_overlap(&self->device_out, &self->inputs[input]);
}

bool py_job_out_overlaps(const py_job *self) {
    bool found = false;
    for (size_t i = 0; i < self->input_count; ++i)
        found = found || py_job_out_overlaps_input(self, i);
    return found;
}

int py_job_check_overlap(const py_job *self, const char *name) {
    return py_job_out_overlaps(self) ? PY_RAISE(PyExc_ValueError, "out: overlaps with %s", name) : 0;
}

bool py_job_out_is_aligned(const py_job *self) {
    return self->out == NULL || !self->on_device || self->device_out.source.origin % 16 == 0;
}

int py_job_parse_device_out(py_job *self, PyObject *out) {
    py_operand *device_out = &self->device_out;
    if (out == Py_None)
        return 0;
    if (PyArray_Check(out) ||
        py_operand_from_object(self->state, out, PY_NATIVE, GR_SCOPE_GENERAL, "out", device_out) < 0)
        return PyErr_Occurred() ? -1
                                : PY_RAISE(PyExc_TypeError, "out: expected a view of device memory or None");
    if (device_out->dtype != self->dtype || py_operand_count(device_out, NULL) != count_results(self))
        return PY_RAISE(PyExc_ValueError, "out: unexpected shape or dtype");
    self->out = out;
    self->on_device = true;
    return 0;
}

int py_job_parse_destination(py_job *self, PyObject *destination) {
    PyObject *out, *kind, *index, *stream;
    if (!PyTuple_Check(destination))
        return PY_RAISE(PyExc_TypeError, "destination: expected a tuple");
    return !PyArg_ParseTuple(destination, "OOOO", &out, &kind, &index, &stream) ||
                   py_parse_device(self->state, kind, index, &self->device) < 0 ||
                   py_job_parse_device_out(self, out) < 0
               ? -1
               : py_stream_argument(self->state, stream, &self->stream);
}

/* Without `stream=`, the call uses the stream of the first array on a device. */
int py_job_parse_stream(py_job *self, PyObject *value) {
    if (py_is_none(value)) {
        const py_operand *first = self->inputs[0].on_device ? &self->inputs[0] : &self->device_out;
        if (first->on_device) {
            self->stream = first->stream;
            self->stream_owner = first->stream_owner;
            self->stream_persists = first->stream_persists;
        }
        return 1;
    }
    self->stream_persists = !PyLong_Check(value);
    self->stream_owner = self->stream_persists ? value : NULL;
    return py_stream_argument(self->state, value, &self->stream) < 0 ? -1 : 1;
}

int py_job_parse_out_and_stream(py_job *self, const py_arguments arguments, bool on_device) {
    if (self->tensors != NULL) {
        self->on_device = true;
        return self->inputs[0].on_device && self->tensors->dtypes[self->dtype] != NULL
                   ? py_job_parse_stream(self, arguments[PY_NAME_stream])
                   : 0;
    }
    const int parsed = parse_out(self, arguments[PY_NAME_out], arguments[PY_NAME_as_device], on_device);
    return parsed > 0 ? py_job_parse_stream(self, arguments[PY_NAME_stream]) : parsed;
}

int py_job_parse_options(py_job *self, const py_arguments arguments) {
    int parsed = py_job_parse_device(self, arguments[PY_NAME_device]);
    for (size_t i = 1; parsed > 0 && i < self->input_count; ++i)
        if (py_job_is_apart(self, &self->inputs[i]))
            return 0;
    return parsed > 0 ? py_job_parse_out_and_stream(self, arguments, self->inputs[0].on_device) : parsed;
}

int py_job_parse_inputs(py_job *self, PyObject *const *inputs, const char *const *names,
                        py_conversion conversion) {
    self->input_count = 2;
    for (size_t i = 0; i < self->input_count; ++i) {
        const int parsed = py_operand_from_object(self->state, inputs[i], conversion, GR_SCOPE_GENERAL,
                                                  names[i], &self->inputs[i]);
        if (parsed <= 0 || py_operand_ensure_element_strides(&self->inputs[i]) < 0)
            return parsed < 1 ? parsed : -1;
    }
    return 1;
}

/* ---- the run ---- */

/* Makes the call's stream wait for the streams of the operands or, with `after`, these streams wait for
   the call's. */
static gr_status order_streams(const py_job *self, bool after, gr_error *error) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i <= PY_JOB_INPUTS; ++i) {
        const py_operand *operand = i < PY_JOB_INPUTS ? &self->inputs[i] : &self->device_out;
        const gr_stream operand_stream = operand->stream;
        if (operand->on_device && operand_stream != self->stream)
            status = gr_stream_wait_for(self->device, after ? self->stream : operand_stream,
                                        after ? operand_stream : self->stream, error);
    }
    return status;
}

gr_status py_job_execute(py_job *self, py_job_work work, void *arg, py_array *new_array, gr_binding *binding,
                         gr_error *error) {
    gr_error ignored;
    gr_status status = self->detached ? GR_OK : gr_device_attach(self->device, error);
    if (status != GR_OK)
        return status;
    status = order_streams(self, false, error);
    if (status == GR_OK && new_array != NULL) {
        status = py_array_allocate(new_array, self->device, error);
        binding->device_out = new_array->pointer;
    }
    if (status == GR_OK)
        status = work(arg, self->device, binding, &self->work.interrupt, error);
    if (status == GR_OK && new_array != NULL)
        status = py_array_detach_stream(new_array, self->device, error);
    const gr_status ordered = order_streams(self, true, status == GR_OK ? error : &ignored);
    if (!self->detached)
        gr_device_detach(self->device);
    return status == GR_OK ? ordered : status;
}

static PyObject *new_results(const py_job *self) {
    npy_intp shape[GR_MAX_NDIM], stride[GR_MAX_NDIM];
    for (size_t d = 0; d < self->ndim; ++d) {
        shape[d] = (npy_intp)self->extent[d];
        stride[d] = self->stride[d];
    }
    PyArray_Descr *descr = py_descr(self->state, self->dtype);
    return descr == NULL
               ? NULL
               : PyArray_NewFromDescr(&PyArray_Type, descr, (int)self->ndim, shape, stride, NULL, 0, NULL);
}

/* Chooses or allocates the memory of the result. A new array is returned in *result; a new device array also
 *in new_array, and it gets its memory in py_job_execute. */
static int allocate_result(py_job *self, gr_scalar *scalar, gr_binding *binding, PyObject **result,
                           py_array **new_array) {
    if (self->on_device && self->out != NULL) {
        binding->device_out = self->device_out.source.origin;
    } else if (self->on_device && self->tensors != NULL) {
        *result = py_tensors_new(self->tensors, self->like, self->dtype, self->ndim, self->extent,
                                 self->device->backend->info.index, &binding->device_out);
        if (*result == NULL)
            return -1;
    } else if (self->on_device) {
        *new_array = py_array_new(self->state, self->device->backend->info.kind,
                                  self->device->backend->info.index, self->dtype, self->ndim, self->extent);
        *result = (PyObject *)*new_array;
        if (*new_array == NULL)
            return -1;
        py_array_set_stream(*new_array, self->stream, self->stream_owner, self->stream_persists);
    } else if (self->ndim == 0 && !self->as_array && self->out == NULL) {
        binding->host_out = scalar;
    } else {
        *result = new_results(self);
        if (*result == NULL)
            return -1;
        binding->host_out = PyArray_DATA((PyArrayObject *)*result);
    }
    return 0;
}

/* Whether all results on the host are finite or, if they are positions, found. */
static bool all_valid(const py_job *self, const gr_binding *binding, size_t results) {
    if (!self->is_index)
        return gr_all_finite(self->dtype, binding->host_out, results);
    for (size_t i = 0; i < results; ++i)
        if (((const int64_t *)binding->host_out)[i] < 0)
            return false;
    return true;
}

int py_job_mark_written(const py_job *self, const py_operand *operand, PyObject *object) {
    const bool is_tensor = operand->tensor.managed != NULL || operand->tensor.is_borrowed;
    if (!is_tensor || self->state->mark_written == NULL)
        return 0;
    PyObject *answer = PyObject_CallOneArg(self->state->mark_written, object);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

PyObject *py_on_written(PyObject *module, PyObject *function) {
    py_state *state = PyModule_GetState(module);
    Py_XSETREF(state->mark_written, Py_NewRef(function));
    Py_RETURN_NONE;
}

PyObject *py_job_run_parsed(py_job *self, int parsed, py_job_work work, void *arg) {
    return parsed > 0 ? py_job_run(self, work, arg) : parsed == 0 ? Py_NewRef(Py_NotImplemented) : NULL;
}

PyObject *py_job_fall_back_without_memory(PyObject *result) {
    if (result != NULL || !PyErr_ExceptionMatches(PyExc_MemoryError))
        return result;
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
}

/* Keeps the memory of JAX's arrays until the work is done that reads it. -1 with an exception set. */
static int defer_inputs(py_job *self) {
    int failed = 0;
    for (size_t i = 0; i < PY_JOB_INPUTS; ++i) {
        py_tensor *tensor = &self->inputs[i].tensor;
        if (!tensor->is_jax || tensor->managed == NULL)
            continue;
        PyObject *owner = dl_owner_capsule(tensor->managed);
        if (owner == NULL || py_defer_release(self->state, self->device, self->stream, owner) < 0)
            failed = -1;
        if (owner != NULL)
            tensor->managed = NULL;
        Py_XDECREF(owner);
    }
    return failed;
}

PyObject *py_job_run(py_job *self, py_job_work work, void *arg) {
    gr_scalar scalar = {.bytes = {0}};
    const size_t results = count_results(self);
    gr_binding binding = {.out_bytes = results * gr_dtypes[self->dtype].item_bytes, .stream = self->stream};
    PyObject *result = NULL;
    py_array *new_array = NULL;
    for (size_t i = 0; i < self->input_count; ++i)
        binding.inputs[i] = self->inputs[i].source;
    if (allocate_result(self, &scalar, &binding, &result, &new_array) < 0)
        return NULL;
    py_begin(&self->work);
    const gr_status status = py_job_execute(self, work, arg, new_array, &binding, &self->work.error);
    if (py_end(self->state, &self->work, status) < 0 ||
        (binding.host_out == NULL && defer_inputs(self) < 0)) {
        Py_XDECREF(result);
        return NULL;
    }
    py_count_run();
    self->has_nonfinite = binding.host_out != NULL && (self->check_nonfinite || self->is_index) &&
                          !all_valid(self, &binding, results);
    if (binding.host_out == &scalar)
        return py_result(self->state, self->dtype, scalar);
    if (self->out == NULL)
        return result;
    if (result != NULL && PyArray_CopyInto((PyArrayObject *)self->out, (PyArrayObject *)result) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    Py_XDECREF(result);
    return py_job_mark_written(self, &self->device_out, self->out) < 0 ? NULL : Py_NewRef(self->out);
}
