#include "python/methods.h"

#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/intake/operand.h"
#include "reduce/custom/custom.h"

static const char CAPSULE[] = "gpureduce.custom";

/* The capsule's context is the module, kept alive because it owns the device. */
static void capsule_free(PyObject *capsule) {
    gr_custom *custom = PyCapsule_GetPointer(capsule, CAPSULE);
    PyObject *module = PyCapsule_GetContext(capsule);
    Py_BEGIN_ALLOW_THREADS; /* unloading waits for the device, which may be in a host callback */
    gr_custom_free(custom);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(module);
}

gr_custom *py_custom_of(PyObject *kernels) {
    return PyCapsule_GetPointer(kernels, CAPSULE);
}

PyObject *py_custom_load(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    const char *name, *ptx;
    Py_ssize_t bytes;
    PyObject *kind, *index;
    gr_device *device = NULL;
    if (!PyArg_ParseTuple(args, "ss#OO", &name, &ptx, &bytes, &kind, &index) ||
        py_take_device(state, kind, index, &device) < 0)
        return NULL;
    gr_custom *custom = NULL;
    py_work work;
    py_begin(&work);
    if (py_end(state, &work, gr_custom_load(device, name, ptx, (size_t)bytes, &custom, &work.error)) < 0)
        return NULL;
    PyObject *capsule = PyCapsule_New(custom, CAPSULE, capsule_free);
    if (capsule == NULL)
        gr_custom_free(custom);
    else if (PyCapsule_SetContext(capsule, Py_NewRef(module)) < 0)
        Py_CLEAR(capsule);
    return capsule;
}

typedef struct custom_call {
    gr_custom *custom;
    size_t arrays;
    py_operand operands[GR_MAX_INPUTS]; /* the arrays among the inputs */
    size_t input[GR_MAX_INPUTS];        /* which input each of them is */
    bool by_position, packed;
    bool reduced[GR_MAX_NDIM];
    gr_custom_request request;
    gr_binding binding;
} custom_call;

static int take_scalar(PyObject *bytes, gr_custom_input *input) {
    if ((size_t)PyBytes_GET_SIZE(bytes) > sizeof input->value)
        return PY_REFUSE(PyExc_ValueError, "inputs: a scalar has at most 16 bytes");
    memcpy(input->value, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    return 0;
}

static int take_array(py_state *state, PyObject *object, size_t number, custom_call *self) {
    py_operand *operand = &self->operands[self->arrays];
    self->input[self->arrays++] = number;
    self->request.operands[number].is_array = true;
    if (py_operand_take(state, object, PY_TAKE, GR_SCOPE_GENERAL, "inputs", operand) < 0)
        return -1;
    const py_operand *first = &self->operands[0];
    if (operand->ndim == first->ndim &&
        memcmp(operand->extent, first->extent, operand->ndim * sizeof operand->extent[0]) == 0)
        return 0;
    return PY_REFUSE(PyExc_ValueError, "inputs: expected arrays of one shape");
}

static int take_inputs(py_state *state, PyObject *inputs, custom_call *self) {
    if (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) > GR_MAX_INPUTS)
        return PY_REFUSE(PyExc_TypeError, "inputs: expected a tuple of at most %d", (int)GR_MAX_INPUTS);
    self->request.count = (size_t)PyTuple_GET_SIZE(inputs);
    for (size_t i = 0; i < self->request.count; ++i) {
        PyObject *input = PyTuple_GET_ITEM(inputs, (Py_ssize_t)i);
        const int failed = PyBytes_Check(input) ? take_scalar(input, &self->request.operands[i].input)
                                                : take_array(state, input, i, self);
        if (failed < 0)
            return -1;
    }
    if (self->arrays > 0 && (self->arrays <= 2 || self->by_position))
        return 0;
    return PY_REFUSE(PyExc_ValueError, "inputs: %zu arrays", self->arrays);
}

static int take_out(py_state *state, PyObject *out, custom_call *self) {
    py_operand place;
    if (py_operand_take(state, out, PY_TAKE, GR_SCOPE_GENERAL, "out", &place) < 0) {
        py_operand_release(&place);
        return -1;
    }
    bool good = py_operand_count(&place, NULL) == py_operand_count(&self->operands[0], self->reduced);
    self->request.result_bytes = gr_dtypes[place.dtype].item_bytes;
    if (place.owner != NULL) {
        PyArrayObject *array = (PyArrayObject *)out; /* what py_operand_take took, or would have copied */
        good = good && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISWRITEABLE(array);
        self->binding.host_out = PyArray_DATA(array);
        py_operand_release(&place);
    } else {
        self->binding.device_out = place.source.origin;
    }
    return good ? 0 : PY_REFUSE(PyExc_ValueError, "out: unexpected shape, or not writable in C order");
}

/* The layout of the arrays themselves. */
static void describe_arrays(const custom_call *self, gr_layout *layout) {
    layout->has_second = self->arrays == 2;
    layout->result_bytes = self->request.result_bytes;
    layout->single_pass = self->request.count == 1;
    layout->rearranged = true;
    layout->packed = self->packed;
    memcpy(layout->second_stride, self->operands[1].stride, sizeof layout->second_stride);
}

/* The layout of positions: numbers in C order in the place of addresses. */
static void describe_positions(gr_layout *layout) {
    int64_t stride = 1;
    for (size_t d = layout->ndim; d-- > 0;) {
        layout->stride[d] = stride;
        stride *= layout->extent[d] > 1 ? (int64_t)layout->extent[d] : 1;
    }
    layout->item_bytes = 1;
    layout->origin = 0;
}

/* From positions to one array's offsets: what a plan over all of its dimensions calls `along`. */
static gr_status describe_dims(const py_operand *operand, gr_dims *dims, gr_error *error) {
    gr_general_plan plan;
    gr_layout layout = {.in_order = true};
    py_operand_lay_out(operand, &layout);
    layout.item_bytes = 1;
    memset(layout.reduced, true, sizeof layout.reduced);
    const gr_status status = gr_general_plan_make(&layout, &gr_reference_limits, &plan, error);
    if (status == GR_OK)
        *dims = plan.launches[0].params.along;
    return status;
}

static gr_status make_plan(custom_call *self, gr_error *error) {
    gr_layout layout = {.has_second = false};
    py_operand_lay_out(&self->operands[0], &layout);
    self->request.item_bytes = layout.item_bytes;
    memcpy(layout.reduced, self->reduced, sizeof layout.reduced);
    if (self->by_position)
        describe_positions(&layout);
    else
        describe_arrays(self, &layout);
    gr_general_plan *plan = &self->request.plan;
    gr_status status = gr_general_plan_make(&layout, &gr_reference_limits, plan, error);
    self->binding.out_bytes = (size_t)plan->results * self->request.result_bytes;
    bool even = true;
    for (size_t i = 0; status == GR_OK && i < self->arrays; ++i) {
        gr_custom_operand *operand = &self->request.operands[self->input[i]];
        self->binding.inputs[self->input[i]] = self->operands[i].source;
        if (self->by_position)
            status = describe_dims(&self->operands[i], &operand->input.dims, error);
        even = even && operand->input.dims.extent[1] <= 1;
    }
    self->request.even = even;
    return status;
}

static int take_call(py_state *state, PyObject *const *args, custom_call *self) {
    self->custom = py_custom_of(args[0]);
    if (self->custom == NULL)
        return -1;
    self->by_position = args[2] == Py_True;
    self->packed = args[3] == Py_True;
    if (take_inputs(state, args[1], self) < 0 ||
        py_take_axes(args[4], self->operands[0].ndim, self->reduced) < 0 ||
        take_out(state, args[5], self) < 0)
        return -1;
    gr_error error;
    if (make_plan(self, &error) == GR_OK)
        return 0;
    py_operand *operands[GR_MAX_INPUTS];
    for (size_t i = 0; i < self->arrays; ++i)
        operands[i] = &self->operands[i];
    if (py_operands_pack(operands, self->arrays, NULL, self->reduced) < 0)
        return -1;
    if (make_plan(self, &error) == GR_OK)
        return 0;
    py_raise(state, &error);
    return -1;
}

PyObject *py_custom_run(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 6 && count != 7)
        return PyErr_Format(PyExc_TypeError, "expected 6 or 7 arguments, got %zd", count);
    custom_call now = {.custom = NULL};
    int failed = take_call(state, args, &now);
    if (failed == 0 && count == 7)
        failed = py_stream_argument(state, args[6], &now.binding.stream);
    if (failed == 0) {
        py_work work;
        py_begin(&work);
        const gr_status status =
            gr_custom_run(now.custom, &now.request, &now.binding, &work.interrupt, &work.error);
        failed = py_end(state, &work, status);
    }
    for (size_t i = 0; i < now.arrays; ++i)
        py_operand_release(&now.operands[i]);
    if (failed)
        return NULL;
    py_count_run();
    Py_RETURN_NONE;
}
