/* The fast path of a public function: binds the positional and keyword arguments of a vectorcall to
   parameters, as inspect.Signature.bind does, and calls the function's implementation in C, without Python
   code. */
#ifndef GR_PYTHON_SIGNATURE_H
#define GR_PYTHON_SIGNATURE_H

#include "python/state.h"
#include "python/tensors.h"
#include "reduce/reduce.h"

typedef PyObject *py_arguments[PY_ARGUMENTS]; /* by name, borrowed; NULL: not passed */

typedef struct py_signature {
    py_state *state;
    /* Returns the result; NotImplemented to fall back to Python, while no array of the caller is written; or
       NULL with an exception set. */
    PyObject *(*implementation)(const struct py_signature *self, const py_arguments arguments);
    gr_op op;                         /* of a reduction; GR_OP_COUNT for other functions */
    uint64_t parameter;               /* of a reduction: see gr_op_has_parameter; else which of the functions
                                         that share the implementation */
    bool exact;                       /* the default of `exact=` */
    py_tensors *tensors;              /* elements and results are tensors by these rules; or NULL */
    PyObject *report;                 /* called with a result that is not finite, or None */
    size_t positional_count;          /* number of positional parameters */
    py_name positional[PY_ARGUMENTS]; /* name of each positional parameter */
    bool accepts[PY_ARGUMENTS];       /* which names are parameters, positional or by keyword */
} py_signature;

PyObject *py_fast_vecdot(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_inner(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_trace(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_softmax_denominator(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_matmul(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_conv2d(const py_signature *self, const py_arguments arguments);
/* The parameter of py_fast_quantiles. */
typedef enum py_quantiles {
    PY_MEDIAN,
    PY_NANMEDIAN,
    PY_QUANTILE,
    PY_PERCENTILE,
    PY_NANQUANTILE,
    PY_NANPERCENTILE,
} py_quantiles;
PyObject *py_fast_quantiles(const py_signature *self, const py_arguments arguments);
/* The parameter of py_fast_topk. */
typedef enum py_sort { PY_TOPK, PY_SORT, PY_ARGSORT } py_sort;
/* Calls `report` with values and indices to make the result. `moments` calls it with the moments. */
PyObject *py_fast_topk(const py_signature *self, const py_arguments arguments);
/* The parameter of py_fast_segments: segment_reduce, reduceat, group_reduce. */
enum { PY_BY_OFFSETS, PY_BY_INDICES, PY_BY_LABELS };
PyObject *py_fast_segments(const py_signature *self, const py_arguments arguments);
/* Calls `report` with the operator, the dtype of the elements, the shape of the results and the memory of the
   states, to make the state. */
PyObject *py_fast_partial(const py_signature *self, const py_arguments arguments);
PyObject *py_fast_bincount(const py_signature *self, const py_arguments arguments);
/* The parameter of py_fast_normalize is a gr_normalize_op. */
PyObject *py_fast_normalize(const py_signature *self, const py_arguments arguments);
/* The parameter of py_fast_scan is a gr_scan_op, to which PY_SCAN_VALID may be added: NaN is left out. */
enum { PY_SCAN_VALID = 16 };
PyObject *py_fast_scan(const py_signature *self, const py_arguments arguments);

/* Returns the callable of a signature, with these names of parameters. Takes ownership of its `tensors`. NULL
   with an exception set. */
PyObject *py_signature_function(PyObject *module, const py_signature *of, PyObject *positional,
                                PyObject *named);

/* Releases what `report` returned. Steals the reference to the result and returns it, or NULL with an
   exception set if the report raised it. */
PyObject *py_reported(PyObject *result, PyObject *returned);

#endif
