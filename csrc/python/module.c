/* The extension module gpureduce._core: its method table, its initialisation and its release (multi-phase
   initialisation, PEP 489), and the functions that list devices and variants. */
#include "python/state.h"

#include "device/image.h"
#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/operands/array.h"
#include "reduce/custom/params.h"
#include "reduce/params.h"
#include "states/states.h"

static py_state *state_of(PyObject *module) {
    return PyModule_GetState(module);
}

static PyObject *device_tuple(const gr_device_info *info) {
    return Py_BuildValue("(siz(ii)IKiK)", info->kind == GR_DEVICE_CUDA ? "cuda" : "sim", info->index,
                         info->name, info->capability_major, info->capability_minor,
                         (unsigned)info->multiprocessors, (unsigned long long)info->memory_bytes,
                         info->driver_version, (unsigned long long)info->memory_bytes_per_second);
}

static PyObject *core_devices(PyObject *module, PyObject *Py_UNUSED(ignored)) {
    py_state *state = state_of(module);
    gr_device *sim = NULL;
    gr_error error;
    gr_status status;
    int cuda_count = 0;
    Py_BEGIN_ALLOW_THREADS;
    status = gr_backend_cuda_count(&cuda_count, &error);
    Py_END_ALLOW_THREADS;
    if (status == GR_ERR_SYSTEM) /* unknown whether a CUDA device exists */
        return py_raise(state, &error);
    if (status != GR_OK)
        cuda_count = 0;
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < cuda_count; ++i) {
        gr_device_info info;
        py_work work;
        py_begin(&work);
        const int failed = py_end(state, &work, gr_backend_cuda_info(i, &info, &work.error));
        py_append(&list, failed < 0 ? NULL : device_tuple(&info));
    }
    if (list != NULL) {
        const int failed = py_open_device(state, GR_DEVICE_SIM, 0, &sim);
        py_append(&list, failed < 0 ? NULL : device_tuple(&sim->backend->info));
    }
    return list;
}

/* Returns None if a CUDA device exists, else the reason why not. */
static PyObject *core_cuda_problem(PyObject *module, PyObject *Py_UNUSED(ignored)) {
    gr_error error;
    gr_status status;
    int count = 0;
    Py_BEGIN_ALLOW_THREADS;
    status = gr_backend_cuda_count(&count, &error);
    Py_END_ALLOW_THREADS;
    if (status == GR_ERR_SYSTEM) /* unknown whether a CUDA device exists */
        return py_raise(state_of(module), &error);
    return status == GR_OK ? Py_NewRef(Py_None) : PyUnicode_FromString(error.message);
}

/* Opens the device registry with the folder of the compiled kernels, which the package passes when it is
   imported. */
static PyObject *core_open_registry(PyObject *module, PyObject *folder) {
    py_state *state = state_of(module);
    PyObject *bytes = NULL;
    if (state->registry.image_folder != NULL)
        return PyErr_Format(PyExc_RuntimeError, "the device registry is open already");
    if (!PyUnicode_FSConverter(folder, &bytes))
        return NULL;
    gr_error error = {.status = GR_OK};
    const gr_status status = gr_registry_open(&state->registry, PyBytes_AS_STRING(bytes), &error);
    Py_DECREF(bytes);
    if (status != GR_OK)
        return py_raise(state, &error);
    Py_RETURN_NONE;
}

static PyObject *core_read_image(PyObject *module, PyObject *path) {
    PyObject *bytes = NULL, *read = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    gr_error error = {.status = GR_OK};
    char *data = NULL;
    size_t size = 0;
    if (gr_read_image(PyBytes_AS_STRING(bytes), &data, &size, &error) == GR_OK)
        read = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    else
        py_raise(state_of(module), &error);
    free(data);
    Py_DECREF(bytes);
    return read;
}

static PyObject *core_free_memory(PyObject *module, PyObject *Py_UNUSED(ignored)) {
    py_state *state = state_of(module);
    if (state->registry.image_folder != NULL) {
        py_deferred_release_wait(state);
        Py_BEGIN_ALLOW_THREADS;
        gr_registry_release_cached(&state->registry);
        Py_END_ALLOW_THREADS;
    }
    Py_RETURN_NONE;
}

/* Locks or unlocks the registry around a fork. Releases the GIL first: two threads may fork at the same
   time, and the waiting one must not block the other in Python. No lock of the core is acquired with the
   GIL held. */
static PyObject *core_hold(PyObject *module, PyObject *parsed) {
    py_state *state = state_of(module);
    const int truth = PyObject_IsTrue(parsed);
    if (truth < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    gr_registry_lock_for_fork(&state->registry, truth != 0);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *core_variants(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    static PyObject *(*const ladders[])(void) = {py_ladder_records, py_matmul_records, py_conv_records,
                                                 py_exact_records};
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all != NULL && i < sizeof ladders / sizeof ladders[0]; ++i) {
        PyObject *more = ladders[i]();
        PyObject *longer = more == NULL ? NULL : PySequence_InPlaceConcat(all, more);
        Py_XDECREF(more);
        Py_DECREF(all);
        all = longer;
    }
    return all;
}

static PyMethodDef methods[] = {
    {"reduce", (PyCFunction)(void (*)(void))py_reduce, METH_FASTCALL,
     "reduce(a, op, variant, block_size, grid_size, device_kind, device_index) -> scalar"},
    {"time", (PyCFunction)(void (*)(void))py_time, METH_FASTCALL,
     "time(a, op, variant, block_size, grid_size, device_kind, device_index, (buffers, rounds, repeats)) -> "
     "(first pass, all passes), microseconds per repeat"},
    {"general", (PyCFunction)(void (*)(void))py_general, METH_FASTCALL,
     "general(source, op, axes, second, initial, out, device_kind, device_index, progress[, stream[, "
     "parameter]]) -> array, or out"},
    {"exact", (PyCFunction)(void (*)(void))py_exact, METH_FASTCALL,
     "exact(source, op, axes, second, initial, out, device_kind, device_index, stream, fold, blocks) -> as "
     "general, rounded once; fold and blocks: 0 lets the planner choose"},
    {"exact_states", (PyCFunction)(void (*)(void))py_exact_states, METH_FASTCALL,
     "exact_states(source, op, axes, second, device_kind, device_index, stream[, out]) -> (results, parts, "
     "words) of int64; second may be True: source itself; out: device memory, in which the states are not "
     "normalised, as state_begin reads them"},
    {"exact_merge", py_exact_merge, METH_VARARGS,
     "exact_merge(states, others): adds others, (any, words) of int64, to states in place"},
    {"exact_round", py_exact_round, METH_VARARGS,
     "exact_round(states, divisors, below, precision, exponent_bits) -> the bits of each number, as uint64"},
    {"exact_carry", py_exact_carry, METH_VARARGS,
     "exact_carry(states) -> normalises states that were computed on a device, in place; whether all are "
     "valid"},
    {"exact_sharded", py_exact_sharded, METH_VARARGS,
     "exact_sharded(arrays, others, mean) -> the exact sum or mean of all elements of device arrays, or of "
     "their products with others (None: no products); NotImplemented: fall back to Python"},
    {"sharded_states", py_sharded_states, METH_VARARGS,
     "sharded_states(arrays, others, ops) -> (dtype, merged states per operator), as exact_sharded; dot "
     "without others is the sum of squares"},
    {"sharded_values", py_sharded_values, METH_VARARGS,
     "sharded_values(arrays, ops) -> (dtype, one result per array, per operator), or NotImplemented; sums "
     "only of integers that cannot wrap"},
    {"state_begin", py_state_begin, METH_VARARGS,
     "state_begin(memory, layout, left, device_kind, device_index, stream): makes states, in place, of the "
     "results that reductions wrote there and of `left`; see csrc/python/device_state.c"},
    {"state_merge", py_state_merge, METH_VARARGS,
     "state_merge(memory, others, layout, device_kind, device_index, stream): merges others into states on "
     "the device, in place"},
    {"exact_rung", py_exact_rung, METH_VARARGS,
     "exact_rung(a, variant, device_kind, device_index) -> scalar"},
    {"reducer", py_reducer, METH_VARARGS,
     "reducer(op, positional parameters, keyword parameters, parameter, exact) -> the fast path of the "
     "public "
     "function, which returns NotImplemented to fall back to Python"},
    {"scan", py_scan, METH_VARARGS,
     "scan(a, product, axis, initial, destination) -> array, or out; destination, here and below: (out, "
     "device_kind, device_index, stream)"},
    {"segments", py_segments, METH_VARARGS,
     "segments(a, op, axis, offsets and an order, its length, nothing, ddof, destination) -> array, or out"},
    {"segment_coverage", py_segment_coverage, METH_NOARGS,
     "segment_coverage() -> the pairs of operator and dtype that segments supports"},
    {"label_order", py_label_order, METH_VARARGS,
     "label_order(labels, groups, destination) -> offsets and an order, or out"},
    {"order_select", py_order_select, METH_VARARGS,
     "order_select(a, ranks, nans, None or (mean, dtype, lower, upper, weight, rest), destination) -> array, "
     "or out"},
    {"order_firsts", py_order_firsts, METH_VARARGS,
     "order_firsts(a, k, largest, sorted, indices, destination) -> array, or out"},
    {"order_valids", py_order_valids, METH_VARARGS, "order_valids(a, destination) -> array, or out"},
    {"multiplier", py_multiplier, METH_VARARGS,
     "multiplier(positional parameters, keyword parameters) -> the fast path of matmul, which returns "
     "NotImplemented to fall back to Python"},
    {"matmul", py_matmul, METH_VARARGS, "matmul(a, b, variant, precision, destination) -> array, or out"},
    {"convolver", py_convolver, METH_VARARGS,
     "convolver(positional parameters, keyword parameters) -> the fast path of conv2d, as multiplier"},
    {"conv2d", py_conv2d, METH_VARARGS,
     "conv2d(x, w, strides, paddings, dilations, groups, layout, variant, precision, destination) -> array, "
     "or out"},
    {"default_device", py_default_device, METH_VARARGS,
     "default_device(device_kind, device_index): sets the device of calls on host arrays without device="},
    {"runs", py_runs, METH_NOARGS, "runs() -> number of successful runs of the calling thread"},
    {"free_memory", core_free_memory, METH_NOARGS,
     "free_memory(): frees the device memory that is cached between calls"},
    {"hold", core_hold, METH_O,
     "hold(locked): locks or unlocks all locks of the core around a fork, so that no other thread holds one"},
    {"plan_general", py_plan_general, METH_VARARGS,
     "plan_general(source, op, axes, second) -> (kernel, mode, blocks along x, along y) per launch"},
    {"flat_shapes", py_flat_shapes, METH_NOARGS,
     "flat_shapes() -> (largest size in bytes, kernel, threads, maximum of blocks, early trigger) per launch "
     "shape"},
    {"time_general", py_time_general, METH_VARARGS,
     "time_general(sources, op, axes, outs, device_kind, device_index, rounds, repeats, seconds, shape, "
     "exact) -> microseconds per repeat"},
    {"custom_load", py_custom_load, METH_VARARGS,
     "custom_load(name, PTX, device_kind, device_index) -> the kernels of a custom reduction, for "
     "custom_run"},
    {"own_run", py_user_rung_run, METH_VARARGS,
     "own_run((kernels, entry, data, passes, block, shared_bytes, count_bytes), out)"},
    {"own_time", py_user_rung_time, METH_VARARGS,
     "own_time((kernels, entry, data, passes, block, shared_bytes, count_bytes), (buffers, rounds, "
     "repeats)) -> (first pass, all passes), microseconds per repeat"},
    {"custom_run", (PyCFunction)(void (*)(void))py_custom_run, METH_FASTCALL,
     "custom_run(kernels, inputs, by_position, packed, counts, large, axes, outs[, stream]) -> names of the "
     "needed kernels that `kernels`, a dict of loaded kernels by name, lacks; if none, it has run"},
    {"profile_device", py_profile_device, METH_VARARGS,
     "profile_device(races, timeline_block, watched) -> a simulator that records its launches; it is passed "
     "as device_kind, with a device_index of 0"},
    {"profile_launches", py_profile_launches, METH_O,
     "profile_launches(device) -> what profile_device recorded of each launch"},
    {"parse_ptx", py_parse_ptx, METH_VARARGS,
     "parse_ptx(text) -> the parsed module, for simulate and kernel_params"},
    {"simulate", py_simulate, METH_VARARGS,
     "simulate(module, kernel, grid, block, cluster, parameter bytes, ((array, offset of its address), ...), "
     "shared_bytes, (races, timeline_block, watched)[, maximum of steps]) -> (what was recorded of each "
     "launch, reason why the simulator stopped or None); arrays are copied to the simulator and back"},
    {"kernel_params", py_kernel_params, METH_VARARGS,
     "kernel_params(module, kernel) -> ([(type, offset, bytes), ...], bytes of all)"},
    {"on_low_memory", py_on_low_memory, METH_VARARGS,
     "on_low_memory(release_caches, error_class): functions to call when device memory runs out"},
    {"on_written", py_on_written, METH_O,
     "on_written(function): function to call with another library's tensor after it was written as out="},
    {"array_class", py_array_class, METH_O,
     "array_class(class): registers the class of results on devices, a subclass of Array without attributes"},
    {"array_empty", py_array_empty, METH_VARARGS,
     "array_empty(shape, dtype name, device_kind, device_index[, stream]) -> array whose elements are not "
     "set"},
    {"array_view", py_array_view, METH_VARARGS,
     "array_view(array, shape, strides, offset) -> view that begins `offset` bytes after the array's first "
     "element"},
    {"convert", py_convert, METH_VARARGS,
     "convert(a, dtype name, destination) -> the elements in that dtype, in C order"},
    {"device_alloc", py_device_alloc, METH_VARARGS,
     "device_alloc(device_kind, device_index, nbytes) -> address"},
    {"device_free", py_device_free, METH_VARARGS, "device_free(device_kind, device_index, address)"},
    {"device_write", py_device_write, METH_VARARGS,
     "device_write(device_kind, device_index, address, array)"},
    {"device_read", py_device_read, METH_VARARGS, "device_read(device_kind, device_index, address, array)"},
    {"stream_handle", py_stream_handle, METH_O,
     "stream_handle(stream) -> the handle of a stream given as a handle or as an object that has one"},
    {"stream_order", py_stream_order, METH_VARARGS,
     "stream_order(device_kind, device_index, before, after): later work in the stream `after` waits for "
     "earlier work in `before`, on the device"},
    {"hold_until_done", py_hold_until_done, METH_VARARGS,
     "hold_until_done(device_kind, device_index, stream, object): keeps the object alive until the present "
     "work in the stream is done; does nothing if the stream is being captured"},
    {"stream_wait", py_stream_wait, METH_VARARGS,
     "stream_wait(device_kind, device_index, stream): returns when the work in the stream is done"},
    {"stream_captured", py_stream_captured, METH_VARARGS,
     "stream_captured(device_kind, device_index, stream) -> whether it is being captured into a graph"},
    {"call_on", py_call_on, METH_VARARGS,
     "call_on(index, function) -> function(), called while that CUDA device is the current one"},
    {"all_finite", py_all_finite, METH_O, "all_finite(array) -> whether it has no infinity and no NaN"},
    {"pointer_device", py_pointer_device, METH_O,
     "pointer_device(address) -> index of the CUDA device of this memory"},
    {"dlpack_import", py_dlpack_import, METH_O, "dlpack_import(capsule) -> its parts and an owner"},
    {"dlpack_exchange", py_dlpack_exchange, METH_O,
     "dlpack_exchange(array) -> (its parts and an owner, stream to wait for), or None: call its __dlpack__"},
    {"dlpack_export", py_dlpack_export, METH_VARARGS,
     "dlpack_export(owner, pointer, shape, dtype name, device type, device number, versioned, copied[, "
     "strides]) -> capsule"},
    {"devices", core_devices, METH_NOARGS, "devices() -> a tuple for each device"},
    {"cublas_problem", py_cublas_problem, METH_NOARGS,
     "cublas_problem() -> reason why the library of the variant cublas cannot be loaded, or None"},
    {"cudnn_problem", py_cudnn_problem, METH_NOARGS,
     "cudnn_problem() -> reason why the library of the variant cudnn cannot be loaded, or None"},
    {"cuda_problem", core_cuda_problem, METH_NOARGS,
     "cuda_problem() -> reason why no CUDA device is available, or None"},
    {"dtypes", py_dtypes, METH_NOARGS, "dtypes() -> a tuple for each dtype"},
    {"variants", core_variants, METH_NOARGS, "variants() -> a tuple for each rung"},
    {"ladder_launches", py_ladder_launches, METH_NOARGS,
     "ladder_launches() -> launch parameters of each variant of the reduction ladder, from rungs.def"},
    {"general_coverage", py_general_coverage, METH_NOARGS,
     "general_coverage() -> the pairs of operator and dtype that general supports"},
    {"read_image", core_read_image, METH_O,
     "read_image(file of compiled kernels) -> its content, decompressed"},
    {"open_registry", core_open_registry, METH_O, "open_registry(folder of the compiled kernels)"},
    {NULL, NULL, 0, NULL},
};

/* NumPy's C API is one table per process, and DLPack deleters acquire the GIL of the main interpreter. */
static int check_main_interpreter(void) {
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    return PY_RAISE(PyExc_ImportError,
                    "gpureduce works in the main interpreter only, not in a sub-interpreter; use threads or "
                    "processes");
}

static int intern_names(py_state *state) {
    static const char *const names[] = {
#define PY_NAME(name) #name,
        PY_EACH_NAME(PY_NAME)
#undef PY_NAME
    };
    for (int i = 0; i < PY_NAMES; ++i) {
        state->names[i] = PyUnicode_InternFromString(names[i]);
        if (state->names[i] == NULL)
            return -1;
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    state->no_value = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "_NoValue");
    Py_XDECREF(numpy);
    return state->no_value == NULL ? -1 : 0;
}

/* Constants of kernels' parameters that Python code uses. */
static int add_constants(PyObject *module) {
#define CONSTANT(name)                                                                                       \
    { #name, GR_##name }
    static const struct {
        const char *name;
        long value;
    } constants[] = {{"CUDA", GR_DEVICE_CUDA},  {"SIM", GR_DEVICE_SIM},    CONSTANT(MAX_INPUTS),
                     CONSTANT(MAX_OUTPUTS),     CONSTANT(DIFFERENCE),      CONSTANT(MAGNITUDE),
                     CONSTANT(STATE_NO_VALUE),  CONSTANT(STATE_MIN),       CONSTANT(STATE_MAX),
                     CONSTANT(STATE_ARGMIN),    CONSTANT(STATE_ARGMAX),    CONSTANT(STATE_ADD),
                     CONSTANT(STATE_PROD),      CONSTANT(STATE_AND),       CONSTANT(STATE_OR),
                     CONSTANT(STATE_XOR),       CONSTANT(STATE_HAS_VALUE), CONSTANT(STATE_HAS_COUNT),
                     CONSTANT(STATE_HAS_INDEX), CONSTANT(STATE_HAS_SUM),   CONSTANT(STATE_HAS_SQUARES)};
#undef CONSTANT
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return -1;
    return 0;
}

static int core_exec(PyObject *module) {
    if (check_main_interpreter() < 0)
        return -1;
    if (py_numpy_import() < 0)
        return -1;
    py_state *state = state_of(module);
    atomic_init(&state->default_device, -1);
    if (py_errors_init(module, state) < 0 || py_dtypes_init(state) < 0 || intern_names(state) < 0 ||
        py_array_init(module, state) < 0)
        return -1;
    return add_constants(module);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
    py_state *state = state_of(module);
    Py_VISIT(state->device_error);
    Py_VISIT(state->simulation_error);
    Py_VISIT(state->memory_error);
    Py_VISIT(state->mark_written);
    Py_VISIT(state->array_type);
    Py_VISIT(state->array_class);
    for (int i = 0; i < PY_KNOWN_TYPES; ++i)
        Py_VISIT(state->known[i].type);
    return 0;
}

static int core_clear(PyObject *module) {
    py_state *state = state_of(module);
    Py_CLEAR(state->device_error);
    Py_CLEAR(state->simulation_error);
    Py_CLEAR(state->memory_error);
    Py_CLEAR(state->mark_written);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->array_class);
    Py_CLEAR(state->no_value);
    for (int i = 0; i < PY_NAMES; ++i)
        Py_CLEAR(state->names[i]);
    for (int i = 0; i < PY_KNOWN_TYPES; ++i)
        Py_CLEAR(state->known[i].type);
    return 0;
}

static void core_free(void *module) {
    core_clear(module);
    gr_registry_close(&state_of(module)->registry);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, core_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "gpureduce._core",
    .m_doc = "The C core of gpureduce; use the functions of the gpureduce package.",
    .m_size = sizeof(py_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
