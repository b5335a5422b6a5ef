/* Converts the vectors that a rung of the group sums or of the scans takes. */
#ifndef GR_PYTHON_RUNG_VECTOR_H
#define GR_PYTHON_RUNG_VECTOR_H

#include "python/operands/operand.h"
#include "rungs/rung.h"

/* Converts an array, which is to have one dimension and this dtype, to contiguous elements; a host array may
   have any stride. -1 with an exception set that names the argument. */
int py_rung_vector(py_state *state, const gr_rung *rung, PyObject *object, gr_dtype dtype,
                   const char *argument, py_operand *operand);

#endif
