/* The fast path of topk, sort and argsort along the last axis: values and indices, both on the device or both
   on the host. Sorts are a topk of all elements. */
#include <string.h>

#include "order/order.h"
#include "python/args.h"
#include "python/job.h"
#include "python/signature.h"

enum { ELEMENTS, INDICES };

typedef struct topk_call {
    py_job job;
    gr_order_request order;
    py_sort which;
    py_array *indices;      /* on the device; a new reference or NULL */
    PyObject *host_indices; /* where they go if the results are on the host; a new reference or NULL */
    PyObject *tensor;       /* of the indices, if results are tensors; a new reference or NULL */
    gr_devptr tensor_address;
} topk_call;

/* Selects the elements, and fetches the indices if the results are on the host. */
static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    topk_call *self = arg;
    gr_binding both = *binding;
    gr_status status = GR_OK;
    if (self->tensor != NULL) {
        both.inputs[INDICES] = (gr_source){.host = NULL, .origin = self->tensor_address};
        return gr_order_run(device, &self->order, &both, interrupt, error);
    }
    status = py_array_allocate(self->indices, device, error);
    if (status != GR_OK)
        return status;
    both.inputs[INDICES] = (gr_source){.host = NULL, .origin = self->indices->pointer};
    status = gr_order_run(device, &self->order, &both, interrupt, error);
    if (status == GR_OK && self->host_indices != NULL) {
        PyArrayObject *array = (PyArrayObject *)self->host_indices;
        status = device->backend->download(device->backend, binding->stream, PyArray_DATA(array),
                                           self->indices->pointer, (size_t)PyArray_NBYTES(array), error);
    }
    return status == GR_OK ? py_array_detach_stream(self->indices, device, error) : status;
}

static bool parse_k(PyObject *value, uint64_t length, uint64_t *out) {
    int overflow = 0;
    const long long k =
        value != NULL && PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    *out = (uint64_t)k;
    return overflow == 0 && k > 0 && (uint64_t)k <= length;
}

/* Parses where the results go. False: fall back to Python. */
static bool parse_place(PyObject *as_device, bool is_there, bool *on_device) {
    return py_is_none(as_device) ? (*on_device = is_there, true) : py_parse_bool(as_device, false, on_device);
}

/* Parses how many elements are wanted, and in which order. False: fall back to Python. */
static bool parse_order(topk_call *self, const py_arguments arguments) {
    gr_order_request *order = &self->order;
    if (self->which == PY_TOPK)
        return parse_k(arguments[PY_NAME_k], order->length, &order->k) &&
               py_parse_bool(arguments[PY_NAME_largest], true, &order->largest) &&
               py_parse_bool(arguments[PY_NAME_sorted], true, &order->sorted);
    order->k = order->length;
    order->sorted = true;
    return py_parse_bool(arguments[PY_NAME_descending], false, &order->largest);
}

/* Parses the axis, which has to be the last one: of tensors also None. False: fall back to Python. */
static bool parse_axis(const py_job *job, PyObject *value) {
    const size_t ndim = job->inputs[ELEMENTS].ndim;
    size_t axis = ndim - 1;
    return ((job->tensors != NULL ? py_is_none(value) : value == NULL) ||
            py_parse_axis(value, ndim, &axis)) &&
           axis == ndim - 1;
}

/* Whether there are dtypes of tensors for both results, or no tensors. */
static bool has_tensors(const py_job *job) {
    return job->tensors == NULL || (job->on_device && job->tensors->dtypes[job->dtype] != NULL &&
                                    job->tensors->dtypes[GR_DTYPE_i64] != NULL);
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(topk_call *self, const py_arguments arguments) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[ELEMENTS];
    gr_order_request *order = &self->order;
    int parsed = py_operand_from_object(job->state, arguments[PY_NAME_a], job->conversion, GR_SCOPE_GENERAL,
                                        "a", source);
    if (parsed <= 0)
        return parsed;
    if (source->ndim == 0 || !gr_order_takes(source->dtype) || !py_operand_is_contiguous(source, true) ||
        py_operand_count(source, NULL) == 0)
        return 0;
    order->dtype = job->dtype = source->dtype;
    order->length = source->extent[source->ndim - 1];
    order->lines = py_operand_count(source, NULL) / order->length;
    if (!parse_axis(job, arguments[PY_NAME_axis]) || !parse_order(self, arguments) ||
        !parse_place(arguments[PY_NAME_as_device], source->on_device, &job->on_device) || !has_tensors(job))
        return 0;
    job->as_array = true;
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    job->extent[source->ndim - 1] = order->k;
    if (!py_job_set_c_strides(job))
        return 0;
    parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    return parsed > 0 ? py_job_parse_stream(job, arguments[PY_NAME_stream]) : parsed;
}

/* Makes the arrays of the indices. -1 with an exception set. */
static int make_indices(topk_call *self) {
    const py_job *job = &self->job;
    const gr_device_info *info = &job->device->backend->info;
    npy_intp shape[GR_MAX_NDIM];
    if (job->tensors != NULL) {
        self->tensor = py_tensors_new(job->tensors, job->like, GR_DTYPE_i64, job->ndim, job->extent,
                                      info->index, &self->tensor_address);
        return self->tensor != NULL ? 1 : -1;
    }
    for (size_t d = 0; d < job->ndim; ++d)
        shape[d] = (npy_intp)job->extent[d];
    self->indices = py_array_new(job->state, info->kind, info->index, GR_DTYPE_i64, job->ndim, job->extent);
    if (self->indices == NULL)
        return -1;
    py_array_set_stream(self->indices, job->stream, job->stream_owner, job->stream_persists);
    if (!job->on_device)
        self->host_indices = PyArray_SimpleNew((int)job->ndim, shape, NPY_INT64);
    return job->on_device || self->host_indices != NULL ? 1 : -1;
}

/* Returns the results of a call: of an argsort the indices alone. Steals the reference to the values. */
static PyObject *results(const topk_call *self, PyObject *values, PyObject *report) {
    PyObject *const indices = self->tensor != NULL  ? self->tensor
                              : self->job.on_device ? (PyObject *)self->indices
                                                    : self->host_indices;
    PyObject *const pair[] = {values, indices};
    PyObject *both = self->which == PY_ARGSORT ? Py_NewRef(indices) : py_make_tuple(report, pair, 2);
    Py_DECREF(values);
    return both;
}

PyObject *py_fast_topk(const py_signature *signature, const py_arguments arguments) {
    topk_call self = {.order = {.task = GR_ORDER_TASK_TOPK}, .which = (py_sort)signature->parameter};
    py_job_init(&self.job, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    py_job_accept_jax(&self.job);
    int parsed = parse_arguments(&self, arguments);
    if (parsed > 0)
        parsed = make_indices(&self);
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (result != NULL && parsed > 0)
        result = results(&self, result, signature->report);
    Py_XDECREF(self.indices);
    Py_XDECREF(self.host_indices);
    Py_XDECREF(self.tensor);
    py_job_release(&self.job);
    return result;
}
