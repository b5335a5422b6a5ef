/* Records of the tables of C, for Python. */
#ifndef GR_PYTHON_TABLES_H
#define GR_PYTHON_TABLES_H

#include "python/state.h"
#include "rungs/rung.h"

/* What variants() says of a rung, whose precision may be ""; takes the references to the pairs of operator
   and dtype, and to the block sizes. NULL with an exception set. */
PyObject *py_rung_record(const gr_rung *rung, PyObject *coverage, PyObject *block_sizes,
                         int64_t default_block, bool float_atomics, bool takes_grid, const char *precision,
                         bool exact);

#endif
