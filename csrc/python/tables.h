/* Converts rows of the core's tables (dtypes.def, rungs.def) to tuples for Python. */
#ifndef GR_PYTHON_TABLES_H
#define GR_PYTHON_TABLES_H

#include "python/state.h"
#include "rungs/rung.h"

/* Properties of a rung from the table of its ladder. */
typedef struct py_rung_traits {
    int64_t default_block; /* 0: none */
    bool float_atomics, takes_grid, is_arch_specific;
    const char *precision; /* or NULL */
} py_rung_traits;

/* Returns the tuple of a rung that `_core.variants` lists. Steals the references to
   `coverage` (pairs of operator and dtype) and `block_sizes`. NULL with an exception set. */
PyObject *py_rung_record(const gr_rung *rung, PyObject *coverage, PyObject *block_sizes,
                         const py_rung_traits *traits);
/* Returns the block sizes of a rung that has one, or none (0). */
PyObject *py_one_block_size(uint32_t threads);

#endif
