/* Implements tables.h and `_core.dtypes`. */
#include "python/methods.h"

#include "python/args.h"
#include "python/operands/dlpack_abi.h"
#include "python/tables.h"
#include "reduce/ops.h"

static PyObject *dtype_tuple(gr_dtype dtype) {
    static const char *const kinds[] = {[GR_KIND_BITS] = "bits", "number", "number"};
    static const char *const scopes[] = {[GR_SCOPE_LADDER] = "ladder", [GR_SCOPE_GENERAL] = "general"};
    const gr_dtype_row *row = &gr_dtypes[dtype];
    const dl_dtype dlpack = dl_dtype_of(dtype);
    return Py_BuildValue("(ssnssssii)", row->name, row->numpy_name, (Py_ssize_t)row->item_bytes,
                         kinds[row->kind], gr_dtypes[row->sum].numpy_name, gr_dtypes[row->mean].numpy_name,
                         scopes[row->scope], (int)dlpack.code, (int)dlpack.bits);
}

/* Returns the rows of dtypes.def: (name, NumPy's name, bytes per element, kind, NumPy's names of the dtypes
   of sum and mean, scope, DLPack's type code and bits). */
PyObject *py_dtypes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *rows = PyList_New(0);
    for (int i = 0; rows != NULL && i < GR_DTYPE_COUNT; ++i)
        py_append(&rows, dtype_tuple((gr_dtype)i));
    return py_as_tuple(rows);
}

PyObject *py_one_block_size(uint32_t threads) {
    return threads > 0 ? Py_BuildValue("(I)", (unsigned)threads) : PyTuple_New(0);
}

PyObject *py_rung_record(const gr_rung *rung, PyObject *coverage, PyObject *block_sizes,
                         const py_rung_traits *traits) {
    static const char *const roles[] = {"rung", "side", "study"};
    PyObject *backends = rung->backends == GR_BACKENDS_CUDA ? Py_BuildValue("(s)", "cuda")
                                                            : Py_BuildValue("(ss)", "cuda", "sim");
    return Py_BuildValue(
        "(sssssNNNisOO(II)ssO)", rung->name, rung->title, rung->technique, rung->ladder, roles[rung->role],
        coverage, backends, block_sizes, (int)traits->default_block, rung->file,
        traits->float_atomics ? Py_True : Py_False, traits->takes_grid ? Py_True : Py_False,
        (unsigned)(rung->capability / 10), (unsigned)(rung->capability % 10), rung->after,
        traits->precision != NULL ? traits->precision : "", traits->is_arch_specific ? Py_True : Py_False);
}

/* Returns the dtypes that an operator takes and those of their results, in pairs. */
static PyObject *results_of(gr_op op) {
    PyObject *list = PyList_New(0);
    for (int dtype = 0; list != NULL && dtype < GR_DTYPE_COUNT; ++dtype)
        if (gr_op_takes(op, (gr_dtype)dtype))
            py_append(&list, Py_BuildValue("(ss)", gr_dtypes[dtype].numpy_name,
                                           gr_dtypes[gr_op_result(op, (gr_dtype)dtype)].numpy_name));
    return py_as_tuple(list);
}

PyObject *py_operators(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    for (int op = 0; list != NULL && op < GR_OP_COUNT; ++op)
        py_append(&list,
                  Py_BuildValue("(siN)", gr_ops[op].name, (int)gr_ops[op].traits, results_of((gr_op)op)));
    return py_as_tuple(list);
}
