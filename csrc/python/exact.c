/* The rungs of the ladder of exact sums (correctly rounded sums of float32): converts the arguments, runs one
   rung on a device or profiles it on the simulator, and lists the rungs. */
#include "exact/exact.h"

#include <string.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/operands/operand.h"
#include "python/tables.h"

/* The arguments of a rung. */
typedef struct rung_call {
    const gr_exact_variant *variant;
    py_operand source;
    uint64_t count;
} rung_call;

/* Parses (a, variant). */
static int parse_call(py_state *state, PyObject *a, const char *name, rung_call *self) {
    gr_error error;
    py_operand_init(&self->source);
    self->variant = gr_rung_find(&gr_exact_ladder, name, &error);
    if (self->variant == NULL)
        return py_fail(state, &error);
    if (py_operand_from_object(state, a, PyTuple_Check(a) ? PY_NATIVE : PY_COPY, GR_SCOPE_GENERAL, "a",
                               &self->source) < 0)
        return -1;
    if (!gr_exact_covers(self->variant, GR_OP_sum, self->source.dtype))
        return PY_RAISE(PyExc_TypeError, "a: %s takes float32, not %s", name,
                        gr_dtypes[self->source.dtype].numpy_name);
    if (!py_operand_is_contiguous(&self->source, true)) {
        if (self->source.owner == NULL)
            return PY_RAISE(PyExc_ValueError,
                            "a: %s takes device arrays in C order; 'auto' takes any strides", name);
        if (py_operand_make_contiguous(&self->source) < 0)
            return -1;
    }
    self->count = py_operand_count(&self->source, NULL);
    return 0;
}

PyObject *py_exact_rung(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *a, *kind, *index, *answer = NULL;
    const char *name;
    gr_device *device;
    rung_call call;
    if (!PyArg_ParseTuple(args, "OsOO", &a, &name, &kind, &index))
        return NULL;
    if (parse_call(state, a, name, &call) == 0 && py_parse_device(state, kind, index, &device) == 0) {
        gr_scalar result = {.bytes = {0}};
        py_work work;
        py_begin(&work);
        const gr_status status = gr_exact_rung_run(device, call.variant, call.count, &call.source.source,
                                                   &work.interrupt, &result, &work.error);
        if (py_end(state, &work, status) == 0) {
            py_count_run();
            answer = py_result(state, GR_DTYPE_f32, result);
        }
    }
    py_operand_release(&call.source);
    return answer;
}

PyObject *py_exact_records(void) {
    const py_rung_traits traits = {.default_block = GR_EXACT_THREADS};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_exact_ladder.count; ++i) {
        PyObject *coverage =
            Py_BuildValue("((ss))", gr_ops[GR_OP_sum].name, gr_dtypes[GR_DTYPE_f32].numpy_name);
        py_append(&list, py_rung_record(&gr_exact_variants[i].rung, coverage,
                                        py_one_block_size(GR_EXACT_THREADS), &traits));
    }
    return list;
}
