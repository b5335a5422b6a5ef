/* The call of one rung, as reduce, time and profile have it. */
#ifndef GR_PYTHON_LADDER_H
#define GR_PYTHON_LADDER_H

#include "python/intake/operand.h"
#include "reduce/ladder/ladder.h"

typedef struct py_rung_call {
    py_operand source; /* the caller releases it, also after an error */
    gr_request request;
    gr_device *device;
} py_rung_call;

/* Parses (a, op, variant, block_size, grid_size, device_kind, device_index, *extra): the first seven fill
   `out`, `extra` optional non-negative integers go to extra[]. With `views`, a tuple is a view of device
   memory whose elements lie side by side. -1 with an exception set. */
int py_take_rung_call(py_state *state, PyObject *const *args, Py_ssize_t count, py_rung_call *out, bool views,
                      size_t *extra, Py_ssize_t extra_count);

/* What variants() says of a rung, whose precision may be ""; takes the references to the pairs of operator
   and dtype, and to the block sizes. NULL with an exception set. */
PyObject *py_rung_record(const gr_rung *rung, PyObject *coverage, PyObject *block_sizes,
                         int64_t default_block, bool float_atomics, bool takes_grid, const char *precision,
                         bool exact);

/* Lists of these, a ladder each. */
PyObject *py_ladder_records(void);
PyObject *py_matmul_records(void);

#endif
