/* Lists of arrays on one device (gpureduce.multi) as rows of a table, sorted by dtype. */
#ifndef GR_PYTHON_ARRAY_LIST_H
#define GR_PYTHON_ARRAY_LIST_H

#include "multi/multi.h"
#include "python/operands/operand.h"
#include "python/operands/torch_shim.h"

enum { PY_LIST_STREAMS = 32 };

typedef struct py_array_list {
    size_t count;         /* arrays */
    size_t row_count;     /* arrays with elements */
    gr_multi_array *rows; /* of the `row_count` arrays, in the order of the groups */
    size_t group_count;
    gr_multi_group groups[GR_DTYPE_COUNT];
    gr_dtype dtype;                            /* of the results */
    size_t first_other, first_order, first_ro; /* the first array that is not of real floating-point numbers,
                                                  not in C order, read-only; SIZE_MAX: none */
    gr_device_kind kind;
    int index;
    gr_stream stream; /* of the first array */
    PyObject *stream_owner;
    bool stream_persists;
    size_t stream_count;
    gr_stream streams[PY_LIST_STREAMS]; /* the other streams */
    torch_view *views; /* of the `count` arrays, if all are tensors of PyTorch of one type; else NULL */
    PyTypeObject *view_type;
} py_array_list;

/* How py_array_list_get describes arrays. */
typedef struct py_list_source {
    gr_device *view_device; /* device of arrays that are given as views, or NULL */
    gr_stream view_stream;
    bool signs_matter; /* false: negative and conjugate bits of tensors are not read */
} py_list_source;

/* Gets the list of the arrays of a tuple, of which there is at least one, in a capsule: one of the last
   lists, if the same tensors are described in the same way again. 1: found or made; 0: Python has to convert
   an array; -1 with an exception set. */
int py_array_list_get(py_state *state, PyObject *arrays, const py_list_source *from, PyObject **out);

/* Returns the list of a capsule. NULL with an exception set. */
const py_array_list *py_array_list_of_capsule(PyObject *capsule);

/* Drops the last lists. */
void py_array_lists_clear(py_state *state);

/* Describes the device and the stream of the first array as an operand without elements. */
void py_array_list_first(const py_array_list *self, py_operand *out);

#endif
