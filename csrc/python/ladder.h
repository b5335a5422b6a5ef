/* Arguments of a call of one rung of the reduction ladder, which `_core.reduce`, `_core.time` and
   `_core.profile` share. */
#ifndef GR_PYTHON_LADDER_H
#define GR_PYTHON_LADDER_H

#include "python/operands/operand.h"
#include "reduce/ladder/ladder.h"

typedef struct py_rung_call {
    py_operand source; /* the elements; the caller releases it, also after an error */
    gr_request request;
    gr_device *device;
} py_rung_call;

/* Parses (a, op, variant, block_size, grid_size, device_kind, device_index, *extra): the first seven fill
   `out`, then `extra_count` non-negative integers fill extra[]. With `views`, `a` may be a tuple: a view of
   contiguous device memory. -1 with an exception set. */
int py_parse_rung_call(py_state *state, PyObject *const *args, Py_ssize_t count, py_rung_call *out,
                       bool views, size_t *extra, Py_ssize_t extra_count);

#endif
