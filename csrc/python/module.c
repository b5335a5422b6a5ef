/* The extension module gpureduce._core: its initialisation and its release (multi-phase
   initialisation, PEP 489), and the functions that list devices and variants. */
#include "python/state.h"

#include <string.h>

#include "conv/conv.h"
#include "device/tables.h"
#include "jax/jax.h"
#include "matmul/matmul.h"
#include "python/args.h"
#include "python/array_list.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/operands/array.h"
#include "reduce/custom/params.h"
#include "reduce/ops.h"
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

PyObject *py_devices(PyObject *module, PyObject *Py_UNUSED(ignored)) {
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
PyObject *py_cuda_problem(PyObject *module, PyObject *Py_UNUSED(ignored)) {
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

/* Returns None if the library of a variant is loaded, else the reason why it cannot be. */
PyObject *py_library_problem(PyObject *Py_UNUSED(module), PyObject *variant) {
    const char *name = py_text_argument(variant, "variant");
    if (name == NULL)
        return NULL;
    gr_error error;
    gr_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = strcmp(name, "cublas") == 0 ? gr_cublas_open(&error) : gr_cudnn_open(&error);
    Py_END_ALLOW_THREADS;
    return status == GR_OK ? Py_NewRef(Py_None) : PyUnicode_FromString(error.message);
}

/* Opens the device registry with the folder of the compiled kernels, which the package passes when it is
   imported. */
PyObject *py_open_registry(PyObject *module, PyObject *folder) {
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

PyObject *py_read_image(PyObject *module, PyObject *args) {
    PyObject *bytes = NULL, *read = NULL;
    const char *kernel = NULL;
    if (!PyArg_ParseTuple(args, "O&|z:read_image", PyUnicode_FSConverter, &bytes, &kernel))
        return NULL;
    gr_error error = {.status = GR_OK};
    char *data = NULL;
    size_t size = 0;
    const char *path = PyBytes_AS_STRING(bytes);
    const gr_status status = kernel == NULL ? gr_read_image(path, &data, &size, &error)
                                            : gr_read_kernel(path, kernel, &data, &size, &error);
    if (status == GR_OK)
        read = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    else
        py_raise(state_of(module), &error);
    free(data);
    Py_DECREF(bytes);
    return read;
}

PyObject *py_free_memory(PyObject *module, PyObject *Py_UNUSED(ignored)) {
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
PyObject *py_lock_for_fork(PyObject *module, PyObject *parsed) {
    py_state *state = state_of(module);
    const int truth = PyObject_IsTrue(parsed);
    if (truth < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    gr_registry_lock_for_fork(&state->registry, truth != 0);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyObject *py_variants(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    py_append_ladder(&list);
    py_append_matmul(&list);
    py_append_conv(&list);
    py_append_exact(&list);
    py_append_groups(&list);
    py_append_scans(&list);
    return list;
}

enum { METH_NAMED = METH_VARARGS | METH_KEYWORDS };

static PyMethodDef methods[] = {
#define METHOD(name, convention) {#name, (PyCFunction)(void (*)(void))py_##name, METH_##convention, NULL},
#include "python/methods.def"
#undef METHOD
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
    } constants[] = {{"CUDA", GR_DEVICE_CUDA},  {"SIM", GR_DEVICE_SIM},     CONSTANT(MAX_INPUTS),
                     CONSTANT(MAX_OUTPUTS),     CONSTANT(OF_PAIR),          CONSTANT(SHARES_FILE),
                     CONSTANT(DIFFERENCE),      CONSTANT(MAGNITUDE),        CONSTANT(STATE_NO_VALUE),
                     CONSTANT(STATE_MIN),       CONSTANT(STATE_MAX),        CONSTANT(STATE_ARGMIN),
                     CONSTANT(STATE_ARGMAX),    CONSTANT(STATE_ADD),        CONSTANT(STATE_PROD),
                     CONSTANT(STATE_AND),       CONSTANT(STATE_OR),         CONSTANT(STATE_XOR),
                     CONSTANT(STATE_HAS_VALUE), CONSTANT(STATE_HAS_COUNT),  CONSTANT(STATE_HAS_INDEX),
                     CONSTANT(STATE_HAS_SUM),   CONSTANT(STATE_HAS_SQUARES)};
#undef CONSTANT
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return -1;
    return 0;
}

static int core_exec(PyObject *module) {
    if (check_main_interpreter() < 0 || py_numpy_import() < 0)
        return -1;
    py_state *state = state_of(module);
    if (py_errors_init(module, state) < 0 || py_dtypes_init(state) < 0 || intern_names(state) < 0 ||
        py_array_init(module, state) < 0 || py_default_device_init(state) < 0)
        return -1;
    py_unpack_init();
    state->tables = gr_tables_open();
    if (state->tables == NULL) {
        PyErr_NoMemory();
        return -1;
    }
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
    Py_VISIT(state->device_context);
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
    Py_CLEAR(state->device_context);
    Py_CLEAR(state->no_value);
    for (int i = 0; i < PY_NAMES; ++i)
        Py_CLEAR(state->names[i]);
    for (int i = 0; i < PY_KNOWN_TYPES; ++i)
        Py_CLEAR(state->known[i].type);
    py_array_lists_clear(state);
    return 0;
}

static void core_free(void *module) {
    core_clear(module);
    gr_jax_set_registry(NULL);
    gr_tables_close(state_of(module)->tables);
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
