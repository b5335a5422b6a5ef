/* Runs and times a user's own reduction kernel like a rung of the ladder: one launch per pass, the first over
   the elements, the last leaving one result. gpureduce/_course plans the launches and checks the kernel's
   parameters. */
#include "python/methods.h"

#include "python/args.h"
#include "python/errors.h"
#include "python/operands/operand.h"
#include "reduce/custom/custom.h"

typedef struct user_rung_call {
    PyArrayObject *data;
    gr_custom_rung rung;
} user_rung_call;

static int parse_passes(PyObject *passes, gr_custom_rung *rung) {
    rung->count = (size_t)PyTuple_GET_SIZE(passes);
    if (rung->count < 1 || rung->count > sizeof rung->passes / sizeof rung->passes[0])
        return PY_RAISE(PyExc_ValueError, "grid: %zu launches; a program has at most %zu", rung->count,
                        sizeof rung->passes / sizeof rung->passes[0]);
    for (size_t i = 0; i < rung->count; ++i) {
        unsigned long long n, blocks;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(passes, (Py_ssize_t)i), "KK", &n, &blocks))
            return -1;
        if (blocks < 1 || blocks > GR_MAX_GRID)
            return PY_RAISE(PyExc_ValueError, "grid: %llu blocks; a grid has 1 to %d", blocks, GR_MAX_GRID);
        rung->passes[i] = (gr_custom_pass){.n = n, .blocks = (uint32_t)blocks};
    }
    if (rung->passes[rung->count - 1].blocks != 1)
        return PY_RAISE(PyExc_ValueError, "grid: the last launch leaves %u results",
                        (unsigned)rung->passes[rung->count - 1].blocks);
    return 0;
}

/* Whether the sizes of the passes are consistent. A kernel without a parameter n reads all elements of its
   input buffer, so that the n of a later pass must not be less than the number of results of the pass
   before. */
static bool passes_fit(const gr_custom_rung *rung) {
    for (size_t i = 1; rung->count_bytes == 0 && i < rung->count; ++i)
        if (rung->passes[i].n < rung->passes[i - 1].blocks ||
            rung->passes[i].n - rung->passes[i - 1].blocks > UINT32_MAX)
            return false;
    return true;
}

/* Parses the dict of a call; `count_bytes`: size of the parameter n, 0 without one. */
static int parse_call(PyObject *arguments, user_rung_call *self) {
    static char *names[] = {"kernels", "entry",        "data",        "passes",
                            "block",   "shared_bytes", "count_bytes", NULL};
    PyObject *kernels, *passes;
    gr_custom_rung *rung = &self->rung;
    unsigned block, shared;
    Py_ssize_t count_bytes;
    if (!py_parse_fields(arguments, "call", "OsO!O!IIn", names, &kernels, &rung->entry, &PyArray_Type,
                         &self->data, &PyTuple_Type, &passes, &block, &shared, &count_bytes))
        return -1;
    rung->custom = py_custom_from_capsule(kernels);
    if (rung->custom == NULL || parse_passes(passes, rung) < 0)
        return -1;
    rung->block = block;
    rung->shared_bytes = shared;
    rung->count_bytes = (size_t)count_bytes;
    rung->item_bytes = (size_t)PyArray_ITEMSIZE(self->data);
    const bool fits = PyArray_ISCARRAY_RO(self->data) &&
                      (count_bytes == 0 || count_bytes == 4 || count_bytes == 8) && passes_fit(rung) &&
                      rung->passes[0].n == (uint64_t)PyArray_SIZE(self->data);
    return fits ? 0 : PY_RAISE(PyExc_ValueError, "a: an array that is not plain, or of another length");
}

PyObject *py_user_rung_run(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *arguments;
    PyArrayObject *out;
    user_rung_call call = {.data = NULL};
    if (!PyArg_ParseTuple(args, "OO!", &arguments, &PyArray_Type, &out) || parse_call(arguments, &call) < 0)
        return NULL;
    if (!PyArray_ISCARRAY(out) || (size_t)PyArray_NBYTES(out) != call.rung.item_bytes)
        return PyErr_Format(PyExc_ValueError, "out: expected one element");
    const gr_source source = {.host = PyArray_DATA(call.data), .bytes = (size_t)PyArray_NBYTES(call.data)};
    const gr_binding binding = {
        .inputs = {source}, .host_out = PyArray_DATA(out), .out_bytes = call.rung.item_bytes};
    py_work work;
    py_begin(&work);
    const gr_status status = gr_custom_rung_run(&call.rung, &binding, &work.interrupt, &work.error);
    if (py_end(state, &work, status) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static gr_status time_passes(void *arg, const gr_timing *timing, double *first_pass, double *all_passes,
                             gr_error *error) {
    const user_rung_call *call = arg;
    return gr_custom_rung_time(&call->rung, PyArray_DATA(call->data), timing, first_pass, all_passes, error);
}

PyObject *py_user_rung_time(PyObject *module, PyObject *args) {
    PyObject *arguments, *timing;
    user_rung_call call = {.data = NULL};
    if (!PyArg_ParseTuple(args, "OO", &arguments, &timing) || parse_call(arguments, &call) < 0)
        return NULL;
    return py_time_passes(PyModule_GetState(module), timing, time_passes, &call);
}
