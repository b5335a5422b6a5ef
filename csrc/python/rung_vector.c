/* Converts the vectors that a rung of the group sums or of the scans takes. */
#include "python/rung_vector.h"

#include "python/errors.h"

int py_rung_vector(py_state *state, const gr_rung *rung, PyObject *object, gr_dtype dtype,
                   const char *argument, py_operand *operand) {
    if (py_operand_from_object(state, object, PyTuple_Check(object) ? PY_NATIVE : PY_COPY, GR_SCOPE_GENERAL,
                               argument, operand) < 0)
        return -1;
    if (operand->dtype != dtype)
        return PY_RAISE(PyExc_TypeError, "%s: %s takes %s, not %s", argument, rung->name,
                        gr_dtypes[dtype].numpy_name, gr_dtypes[operand->dtype].numpy_name);
    if (operand->ndim != 1)
        return PY_RAISE(PyExc_ValueError, "%s: %s takes one dimension, not %zu", argument, rung->name,
                        operand->ndim);
    if (py_operand_is_contiguous(operand, true))
        return 0;
    if (operand->owner == NULL)
        return PY_RAISE(PyExc_ValueError, "%s: %s takes contiguous device arrays; 'auto' takes any strides",
                        argument, rung->name);
    return py_operand_make_contiguous(operand);
}
