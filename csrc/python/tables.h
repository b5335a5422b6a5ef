/* Converts rows of the core's tables (dtypes.def, rungs.def) to tuples for Python. */
#ifndef GR_PYTHON_TABLES_H
#define GR_PYTHON_TABLES_H

#include "python/state.h"
#include "rungs/rung.h"

/* Returns the tuple of a rung that `_core.variants` lists; `precision` may be "". Steals the references to
   `coverage` (pairs of operator and dtype) and `block_sizes`. NULL with an exception set. */
PyObject *py_rung_record(const gr_rung *rung, PyObject *coverage, PyObject *block_sizes,
                         int64_t default_block, bool float_atomics, bool takes_grid, const char *precision,
                         bool exact);

#endif
