/* Profiles: a simulator that records its launches, on which the functions of the module run as on any other
   device, and a launch of a kernel of the user's own PTX. Also parses PTX and lists the parameters of a
   kernel. */
#include "python/methods.h"

#include <stdlib.h>
#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/instrumentation.h"
#include "python/operands/operand.h"

/* ---- a simulator that records its launches ---- */

static void free_profile(PyObject *capsule) {
    gr_profile *profile = PyCapsule_GetPointer(capsule, PY_PROFILE_CAPSULE);
    PyObject *module = PyCapsule_GetContext(capsule);
    gr_profile_release(profile);
    PyMem_Free(profile);
    Py_XDECREF(module);
}

/* Parses (races, timeline_block, watched). */
static int parse_instruments(PyObject *instruments, gr_profile *out) {
    int races;
    unsigned long long timeline;
    if (!PyArg_ParseTuple(instruments, "iKI", &races, &timeline, &out->watched))
        return -1;
    if (races < 0 || races >= PTX_RACE_SCOPES) {
        PyErr_Format(PyExc_ValueError, "races: expected 0 to %d, got %d", PTX_RACE_SCOPES - 1, races);
        return -1;
    }
    out->races = (ptx_race_scope)races;
    out->timeline_block = timeline;
    return 0;
}

PyObject *py_profile_device(PyObject *module, PyObject *instruments) {
    py_state *state = PyModule_GetState(module);
    gr_profile *profile = PyMem_Calloc(1, sizeof *profile);
    if (profile == NULL)
        return PyErr_NoMemory();
    gr_error error;
    PyObject *capsule = NULL;
    if (parse_instruments(instruments, profile) == 0) {
        if (gr_profile_open(profile, state->registry.image_folder, &error) == GR_OK)
            capsule = py_capsule_new(module, profile, PY_PROFILE_CAPSULE, free_profile);
        else
            py_raise(state, &error);
    }
    if (capsule == NULL) {
        gr_profile_release(profile);
        PyMem_Free(profile);
    }
    return capsule;
}

PyObject *py_profile_launches(PyObject *Py_UNUSED(module), PyObject *capsule) {
    const gr_profile *profile = PyCapsule_GetPointer(capsule, PY_PROFILE_CAPSULE);
    return profile == NULL ? NULL : py_launch_list(profile);
}

/* ---- the user's own PTX ---- */

#define PTX_CAPSULE "gpureduce.ptx"

static void free_module(PyObject *capsule) {
    ptx_module_free(PyCapsule_GetPointer(capsule, PTX_CAPSULE));
}

/* Returns a capsule of the ptx_module, which is immutable, so that several calls and threads can share it. */
PyObject *py_parse_ptx(PyObject *module, PyObject *args) {
    const py_state *state = PyModule_GetState(module);
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "s#", &text, &length))
        return NULL;
    ptx_module *parsed = NULL;
    ptx_error failed;
    gr_error error = {.status = GR_OK};
    ptx_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = ptx_module_parse(text, (size_t)length, &parsed, &failed);
    Py_END_ALLOW_THREADS;
    if (status != PTX_OK) {
        gr_sim_check(status, &failed, &error);
        return py_raise(state, &error);
    }
    PyObject *capsule = PyCapsule_New(parsed, PTX_CAPSULE, free_module);
    if (capsule == NULL)
        ptx_module_free(parsed);
    return capsule;
}

/* A host array, its copy in the simulator's memory, and the parameter that gets the copy's address. */
typedef struct host_array {
    const PyArrayObject *array; /* borrowed, and only compared: another thread may change it meanwhile */
    void *data;
    size_t bytes;
    bool writeable; /* copied back after the launch */
    PyObject *resize_guard;
    size_t offset;    /* bytes, of the address in the parameters */
    uint64_t address; /* in the simulator's memory */
} host_array;

typedef struct simulation {
    const ptx_module *module;
    const char *kernel_name;
    ptx_launch_config config;
    char *params; /* a copy of the caller's parameters with the addresses filled in */
    host_array *arrays;
    size_t array_count;
    ptx_memory *memory;
} simulation;

static int parse_arrays(PyObject *tuple, simulation *s) {
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    s->arrays = calloc((size_t)count + 1, sizeof *s->arrays);
    if (s->arrays == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        Py_ssize_t offset;
        PyArrayObject *array;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "O!n", &PyArray_Type, &array, &offset))
            return -1;
        if (!PyArray_ISCARRAY_RO(array) || offset < 0 ||
            (size_t)offset + sizeof(uint64_t) > s->config.param_bytes)
            return PY_RAISE(PyExc_ValueError, "args: an array that is not plain, or outside the parameters");
        PyObject *pin = py_resize_guard(array);
        if (pin == NULL)
            return -1;
        s->arrays[s->array_count++] = (host_array){.array = array,
                                                   .data = PyArray_DATA(array),
                                                   .bytes = (size_t)PyArray_NBYTES(array),
                                                   .writeable = PyArray_ISWRITEABLE(array),
                                                   .resize_guard = pin,
                                                   .offset = (size_t)offset};
    }
    return 0;
}

static ptx_status upload(simulation *s, ptx_error *failed) {
    ptx_status status = PTX_OK;
    for (size_t i = 0; status == PTX_OK && i < s->array_count; ++i) {
        host_array *host = &s->arrays[i];
        for (size_t k = 0; k < i; ++k) /* an array passed twice has one copy */
            if (s->arrays[k].array == host->array)
                host->address = s->arrays[k].address;
        if (host->address == 0) {
            status = ptx_memory_alloc(s->memory, host->bytes, &host->address, failed);
            if (status == PTX_OK)
                status = ptx_memory_write(s->memory, host->address, host->data, host->bytes, failed);
        }
        memcpy(s->params + host->offset, &host->address, sizeof host->address);
    }
    return status;
}

static ptx_status download(simulation *s, ptx_error *failed) {
    ptx_status status = PTX_OK;
    for (size_t i = 0; status == PTX_OK && i < s->array_count; ++i) {
        const host_array *host = &s->arrays[i];
        if (host->writeable)
            status = ptx_memory_read(s->memory, host->data, host->address, host->bytes, failed);
    }
    return status;
}

static gr_status run(simulation *s, gr_profile *profile, gr_error *error) {
    ptx_error failed;
    const ptx_kernel *kernel = ptx_module_find(s->module, s->kernel_name);
    if (kernel == NULL)
        return gr_fail(error, GR_ERR_VALUE, "kernel: there is no kernel '%s' in the PTX", s->kernel_name);
    ptx_status status = ptx_memory_create(0, &s->memory, &failed);
    if (status == PTX_OK)
        status = upload(s, &failed);
    if (status != PTX_OK)
        return gr_sim_check(status, &failed, error);
    const gr_status observed = gr_profile_observe(profile, kernel, &s->config, error);
    if (observed != GR_OK)
        return observed;
    s->config.params = s->params;
    status = ptx_launch(kernel, s->memory, &s->config, NULL, &failed);
    if (status == PTX_ERR_ARGUMENT)
        return gr_fail(error, GR_ERR_VALUE, "%s", failed.message);
    if (status == PTX_OK)
        status = download(s, &failed);
    return gr_sim_check(status, &failed, error);
}

static void simulation_release(simulation *s) {
    ptx_memory_destroy(s->memory);
    for (size_t i = 0; i < s->array_count; ++i)
        Py_DECREF(s->arrays[i].resize_guard);
    free(s->arrays);
    free(s->params);
}

PyObject *py_simulate(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"module", "kernel",       "grid",        "block", "cluster", "params",
                            "arrays", "shared_bytes", "instruments", "steps", NULL};
    py_state *state = PyModule_GetState(module);
    simulation s = {.params = NULL};
    uint32_t *grid = s.config.grid, *block = s.config.block, *cluster = s.config.cluster;
    PyObject *parsed, *arrays, *instruments, *outcome = NULL;
    const char *params;
    Py_ssize_t param_bytes, shared;
    unsigned long long steps = GR_SIM_STEP_BUDGET;
    gr_profile profile = {.launches = NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "Os(III)(III)(III)y#O!nO!|K", names, &parsed,
                                     &s.kernel_name, &grid[0], &grid[1], &grid[2], &block[0], &block[1],
                                     &block[2], &cluster[0], &cluster[1], &cluster[2], &params, &param_bytes,
                                     &PyTuple_Type, &arrays, &shared, &PyTuple_Type, &instruments, &steps) ||
        parse_instruments(instruments, &profile) < 0)
        return NULL;
    s.module = PyCapsule_GetPointer(parsed, PTX_CAPSULE);
    if (s.module == NULL)
        return NULL;
    s.config.param_bytes = (size_t)param_bytes;
    s.config.dynamic_shared_bytes = (size_t)shared;
    gr_sim_configure(&s.config);
    s.config.step_budget = steps;
    s.params = malloc((size_t)param_bytes + 1);
    if (s.params == NULL) {
        PyErr_NoMemory();
        goto cleanup;
    }
    memcpy(s.params, params, (size_t)param_bytes);
    if (parse_arrays(arrays, &s) < 0)
        goto cleanup;
    py_work work;
    py_begin(&work);
    s.config.interrupted = work.interrupt.pending;
    s.config.interrupted_arg = work.interrupt.arg;
    const gr_status status = run(&s, &profile, &work.error);
    PyEval_RestoreThread(work.thread);
    if (status == GR_OK || status == GR_ERR_SIMULATION)
        outcome =
            Py_BuildValue("(Nz)", py_launch_list(&profile), status == GR_OK ? NULL : work.error.message);
    else
        py_raise(state, &work.error);
cleanup:
    gr_profile_release(&profile);
    simulation_release(&s);
    return outcome;
}

/* Returns one (type such as "u64", offset in bytes, size in bytes) per parameter. */
static PyObject *param_list(const ptx_kernel *kernel) {
    static const char classes[] = "?busf";
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < kernel->param_count; ++i) {
        const ptx_param *param = &kernel->params[i];
        char name[8];
        snprintf(name, sizeof name, "%c%u", classes[ptx_type_class(param->type) >> 4],
                 8 * ptx_type_bytes(param->type));
        py_append(&list, Py_BuildValue("(snn)", name, (Py_ssize_t)param->offset, (Py_ssize_t)param->bytes));
    }
    return list;
}

PyObject *py_kernel_params(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name))
        return NULL;
    const ptx_module *parsed = PyCapsule_GetPointer(capsule, PTX_CAPSULE);
    if (parsed == NULL)
        return NULL;
    const ptx_kernel *kernel = ptx_module_find(parsed, name);
    if (kernel != NULL)
        return Py_BuildValue("(Nn)", param_list(kernel), (Py_ssize_t)ptx_kernel_param_bytes(kernel));
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && i < ptx_module_kernel_count(parsed); ++i)
        py_append(&names, PyUnicode_FromString(ptx_kernel_name(ptx_module_kernel_at(parsed, i))));
    if (names != NULL)
        PyErr_Format(PyExc_ValueError, "kernel: there is no kernel '%s' in the PTX; it has %R", name, names);
    Py_XDECREF(names);
    return NULL;
}
