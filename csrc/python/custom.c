/* ReductionKernel: loads PTX that NVRTC compiled at run time into a capsule, and runs it on arrays and
   scalars in the order that the generated kernels expect. gpureduce/_custom writes the source of these
   kernels. */
#include "python/methods.h"

#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/operands/operand.h"
#include "reduce/custom/custom.h"

static const char CAPSULE[] = "gpureduce.custom";

enum { OUT_ALIGNMENT = 16 }; /* bytes: each of several outputs begins at a multiple of it */

static void capsule_free(PyObject *capsule) {
    gr_custom *custom = PyCapsule_GetPointer(capsule, CAPSULE);
    PyObject *module = PyCapsule_GetContext(capsule);
    Py_BEGIN_ALLOW_THREADS; /* unloading waits for the device, which may be in a host callback */
    gr_custom_free(custom);
    Py_END_ALLOW_THREADS;
    Py_XDECREF(module);
}

gr_custom *py_custom_from_capsule(PyObject *kernels) {
    return PyCapsule_GetPointer(kernels, CAPSULE);
}

PyObject *py_custom_load(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    const char *name, *ptx;
    Py_ssize_t bytes;
    PyObject *kind, *index;
    gr_device *device = NULL;
    if (!PyArg_ParseTuple(args, "ss#OO", &name, &ptx, &bytes, &kind, &index) ||
        py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    gr_custom *custom = NULL;
    py_work work;
    py_begin(&work);
    if (py_end(state, &work, gr_custom_load(device, name, ptx, (size_t)bytes, &custom, &work.error)) < 0)
        return NULL;
    PyObject *capsule = py_capsule_new(module, custom, CAPSULE, capsule_free);
    if (capsule == NULL)
        gr_custom_free(custom);
    return capsule;
}

typedef struct custom_call {
    PyObject *kernels[GR_GENERAL_PASSES]; /* capsules of the kernels that the plan launches */
    size_t arrays;                        /* how many inputs are arrays, not scalars */
    py_operand operands[GR_MAX_INPUTS];   /* the arrays */
    size_t input[GR_MAX_INPUTS];          /* index of each array among the inputs */
    bool by_position, packed;             /* as in custom/params.h and general/layout.h */
    bool uses_index;                      /* the kernels read an element's index in C order */
    bool reduced[GR_MAX_NDIM];
    size_t outs;                      /* number of outputs */
    gr_dtype out_dtype;               /* of the first output */
    void *host_outs[GR_MAX_OUTPUTS];  /* memory of each output on the host, or NULL */
    size_t out_bytes[GR_MAX_OUTPUTS]; /* bytes of each output */
    void *staging; /* host memory for all outputs, if they are several on the host; else NULL */
    gr_custom_request request;
    gr_binding binding;
} custom_call;

static int parse_scalar(PyObject *bytes, gr_custom_input *input) {
    if ((size_t)PyBytes_GET_SIZE(bytes) > sizeof input->value)
        return PY_RAISE(PyExc_ValueError, "inputs: a scalar has at most 16 bytes");
    memcpy(input->value, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    return 0;
}

static int parse_array(py_state *state, PyObject *object, size_t number, custom_call *self) {
    py_operand *operand = &self->operands[self->arrays];
    self->input[self->arrays++] = number;
    self->request.operands[number].is_array = true;
    if (py_operand_from_object(state, object, PY_NATIVE, GR_SCOPE_GENERAL, "inputs", operand) < 0)
        return -1;
    const py_operand *first = &self->operands[0];
    return py_operand_same_shape(operand, first)
               ? 0
               : PY_RAISE(PyExc_ValueError, "inputs: expected arrays of one shape");
}

static int parse_inputs(py_state *state, PyObject *inputs, custom_call *self) {
    if (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) > GR_MAX_INPUTS)
        return PY_RAISE(PyExc_TypeError, "inputs: expected a tuple of at most %d", (int)GR_MAX_INPUTS);
    self->request.count = (size_t)PyTuple_GET_SIZE(inputs);
    for (size_t i = 0; i < self->request.count; ++i) {
        PyObject *input = PyTuple_GET_ITEM(inputs, (Py_ssize_t)i);
        const int failed = PyBytes_Check(input) ? parse_scalar(input, &self->request.operands[i].input)
                                                : parse_array(state, input, i, self);
        if (failed < 0)
            return -1;
    }
    if (self->arrays > 0 && (self->arrays <= 2 || self->by_position))
        return 0;
    return PY_RAISE(PyExc_ValueError, "inputs: %zu arrays", self->arrays);
}

static int parse_out(py_state *state, PyObject *out, custom_call *self) {
    py_operand operand;
    if (py_operand_from_object(state, out, PY_NATIVE, GR_SCOPE_GENERAL, "out", &operand) < 0) {
        py_operand_release(&operand);
        return -1;
    }
    const uint64_t results = py_operand_count(&self->operands[0], self->reduced);
    const size_t number = self->outs++, bytes = (size_t)results * gr_dtypes[operand.dtype].item_bytes;
    gr_custom_request *request = &self->request;
    bool good = py_operand_count(&operand, NULL) == results;
    self->out_bytes[number] = bytes;
    if (number == 0)
        self->out_dtype = operand.dtype;
    request->outs[number] = request->out_bytes;
    if (operand.owner != NULL) {
        PyArrayObject *array = (PyArrayObject *)out; /* PY_NATIVE never copies a contiguous array */
        good = good && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISWRITEABLE(array);
        self->host_outs[number] = PyArray_DATA(array);
        py_operand_release(&operand);
    } else {
        if (number == 0)
            self->binding.device_out = operand.source.origin;
        request->outs[number] = operand.source.origin - self->binding.device_out;
    }
    request->out_bytes += (bytes + OUT_ALIGNMENT - 1) / OUT_ALIGNMENT * OUT_ALIGNMENT;
    return good ? 0 : PY_RAISE(PyExc_ValueError, "out: unexpected shape, or not writable in C order");
}

static int parse_outs(py_state *state, PyObject *outs, custom_call *self) {
    const Py_ssize_t count = PyTuple_Check(outs) ? PyTuple_GET_SIZE(outs) : 0;
    if (count < 1 || count > GR_MAX_OUTPUTS)
        return PY_RAISE(PyExc_TypeError, "outs: expected a tuple of 1 to %d", (int)GR_MAX_OUTPUTS);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (parse_out(state, PyTuple_GET_ITEM(outs, i), self) < 0)
            return -1;
        if ((self->host_outs[i] == NULL) != (self->host_outs[0] == NULL))
            return PY_RAISE(PyExc_ValueError, "outs: expected all in one place");
    }
    if (count == 1)
        self->request.out_bytes = self->out_bytes[0];
    self->binding.out_bytes = self->request.out_bytes;
    self->binding.host_out = self->host_outs[0];
    if (count == 1 || self->host_outs[0] == NULL)
        return 0;
    self->binding.host_out = self->staging = PyMem_RawMalloc(self->request.out_bytes);
    if (self->staging == NULL)
        PyErr_NoMemory();
    return self->staging == NULL ? -1 : 0;
}

/* Copies the results from the staging memory to the outputs on the host. */
static void scatter_outputs(const custom_call *self) {
    for (size_t i = 0; self->staging != NULL && i < self->outs; ++i)
        memcpy(self->host_outs[i], (const char *)self->staging + self->request.outs[i], self->out_bytes[i]);
}

/* Describes the arrays by address and strides. */
static void describe_arrays(const custom_call *self, gr_layout *layout) {
    layout->has_second = self->arrays == 2;
    layout->single_pass = self->request.count == 1 && (self->outs == 1 || self->staging != NULL);
    layout->rearranged = !self->uses_index;
    layout->packed = self->packed;
    memcpy(layout->second_stride, self->operands[1].stride, sizeof layout->second_stride);
}

/* Describes positions: the plan's addresses are indices in C order, which the kernels convert to offsets. */
static void describe_positions(gr_layout *layout) {
    int64_t stride = 1;
    for (size_t d = layout->ndim; d-- > 0;) {
        layout->stride[d] = stride;
        stride *= layout->extent[d] > 1 ? (int64_t)layout->extent[d] : 1;
    }
    layout->item_bytes = 1;
    layout->origin = 0;
}

/* Describes the map from a position to one array's offset: the dimensions `along` of a plan that reduces
   all axes. */
static gr_status describe_dims(const py_operand *operand, gr_dims *dims, gr_error *error) {
    gr_general_plan plan;
    gr_layout layout = {.in_c_order = true};
    py_operand_fill_layout(operand, &layout);
    layout.item_bytes = 1;
    memset(layout.reduced, true, sizeof layout.reduced);
    const gr_status status = gr_general_plan_make(&layout, &plan, error);
    if (status == GR_OK)
        *dims = plan.launches[0].params.along;
    return status;
}

static gr_status make_plan(custom_call *self, gr_error *error) {
    gr_layout layout = {.has_second = false};
    py_operand_fill_layout(&self->operands[0], &layout);
    self->request.item_bytes = layout.item_bytes;
    layout.result_bytes = self->outs > 1 ? OUT_ALIGNMENT : gr_dtypes[self->out_dtype].item_bytes;
    layout.in_c_order = self->uses_index;
    layout.state_bytes = self->request.large_states ? GR_LARGE_STATE_BYTES : self->uses_index ? 16 : 0;
    memcpy(layout.reduced, self->reduced, sizeof layout.reduced);
    if (self->by_position)
        describe_positions(&layout);
    else
        describe_arrays(self, &layout);
    gr_general_plan *plan = &self->request.plan;
    gr_status status = gr_general_plan_make(&layout, plan, error);
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

static int parse_call(py_state *state, PyObject *const *args, custom_call *self) {
    if (!PyDict_Check(args[0]))
        return PY_RAISE(PyExc_TypeError, "kernels: expected a dict");
    self->by_position = args[2] == Py_True;
    self->packed = args[3] == Py_True;
    self->uses_index = args[4] == Py_True;
    self->request.large_states = args[5] == Py_True;
    if (parse_inputs(state, args[1], self) < 0 ||
        py_parse_axes(args[6], self->operands[0].ndim, self->reduced) < 0 ||
        parse_outs(state, args[7], self) < 0)
        return -1;
    gr_error error;
    if (make_plan(self, &error) == GR_OK)
        return 0;
    py_operand *operands[GR_MAX_INPUTS];
    for (size_t i = 0; i < self->arrays; ++i)
        operands[i] = &self->operands[i];
    if (py_operands_make_contiguous(operands, self->arrays, NULL, self->reduced) < 0)
        return -1;
    if (make_plan(self, &error) == GR_OK)
        return 0;
    return py_fail(state, &error);
}

/* Finds a loaded kernel by its name, or appends the name to `missing`. */
static int find_kernel(PyObject *loaded, const char *name, size_t number, PyObject *missing,
                       custom_call *self) {
    PyObject *key = PyUnicode_FromString(name);
    if (key == NULL)
        return -1;
    PyObject *kernel = self->kernels[number] = PyObject_GetItem(loaded, key);
    int failed = 0;
    if (kernel != NULL) {
        self->request.customs[number] = py_custom_from_capsule(kernel);
        failed = self->request.customs[number] == NULL ? -1 : 0;
    } else if (PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        failed = PyList_Append(missing, key);
    } else
        failed = -1;
    Py_DECREF(key);
    return failed;
}

/* Finds the plan's kernels. Returns a list of the names of missing kernels, or NULL with an exception set. */
static PyObject *find_kernels(PyObject *loaded, custom_call *self) {
    const char *names[GR_GENERAL_PASSES];
    const size_t count = gr_custom_kernels(&self->request, names);
    PyObject *missing = PyList_New(0);
    for (size_t i = 0; missing != NULL && i < count; ++i)
        if (find_kernel(loaded, names[i], i, missing, self) < 0)
            Py_CLEAR(missing);
    return missing;
}

/* Inputs are arrays or views of one shape, and bytes for the value of a scalar, in the order and of the
   dtypes for which the kernels were compiled. `by_position` is as in custom/params.h, `packed` as in
   general/layout.h; each output is a view or a C-contiguous array. */
PyObject *py_custom_run(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    py_state *state = PyModule_GetState(module);
    if (count != 8 && count != 9)
        return PyErr_Format(PyExc_TypeError, "expected 8 or 9 arguments, got %zd", count);
    custom_call *call = PyMem_RawCalloc(1, sizeof *call); /* too large for small stacks */
    if (call == NULL)
        return PyErr_NoMemory();
    PyObject *missing = NULL;
    int failed = parse_call(state, args, call);
    if (failed == 0 && count == 9)
        failed = py_stream_argument(state, args[8], &call->binding.stream);
    if (failed == 0) {
        missing = find_kernels(args[0], call);
        failed = missing == NULL ? -1 : 0;
    }
    const bool complete = failed == 0 && PyList_GET_SIZE(missing) == 0;
    if (complete) {
        py_work work;
        py_begin(&work);
        const gr_status status = gr_custom_run(&call->request, &call->binding, &work.interrupt, &work.error);
        failed = py_end(state, &work, status);
    }
    if (complete && failed == 0)
        scatter_outputs(call);
    PyMem_RawFree(call->staging);
    for (size_t i = 0; i < call->arrays; ++i)
        py_operand_release(&call->operands[i]);
    for (size_t i = 0; i < GR_GENERAL_PASSES; ++i)
        Py_XDECREF(call->kernels[i]);
    PyMem_RawFree(call);
    if (failed)
        Py_CLEAR(missing);
    else if (complete)
        py_count_run();
    return missing;
}
