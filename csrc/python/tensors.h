/* How a function of the fast path takes tensors of PyTorch and returns new ones, without PyTorch's
   dispatcher: only tensors of one type and only in a plain state, where no mode, transform or tracer would
   intercept the operator. In any other state the call falls back to the registered operator. */
#ifndef GR_PYTHON_TENSORS_H
#define GR_PYTHON_TENSORS_H

#include "python/operands/torch_shim.h"
#include "python/state.h"

enum { PY_TENSOR_KEYS = 8 };

typedef struct py_tensors {
    const torch_shim *shim;
    PyTypeObject *type, *subtype; /* of tensors; other subclasses may override operators */
    PyObject *guards;             /* a tuple of (object, attribute name or None, expected value) */
    uint16_t included[PY_TENSOR_KEYS], excluded[PY_TENSOR_KEYS]; /* dispatch keys of plain states */
    uint16_t recording[PY_TENSOR_KEYS]; /* dispatch keys, which autograd excludes where it records nothing */
    size_t included_count, excluded_count, recording_count;
    PyObject *grad_enabled; /* a callable: whether autograd records operators */
    PyObject *record; /* called with the result and the arguments if autograd records the call; None: the
                         operator is called instead; True: results have no gradient */
    /* Called instead with up to `shared` positional arguments, the rest of the defaults, and a list of the
       result; or NULL. */
    PyObject *apply, *defaults;
    Py_ssize_t shared;
    PyObject *dtypes[GR_DTYPE_COUNT];  /* PyTorch's dtype of results, or NULL */
    int32_t codes[GR_DTYPE_COUNT];     /* the shim's code of this dtype; -1: there is none */
    PyObject *new_empty, *dtype_names; /* a method name; a tuple of the keyword `dtype` */
    PyObject *data_ptr, *requires_grad;
} py_tensors;

/* Parses ((type, subtype), guards, (not included, excluded, recording), grad_enabled, record, dtypes by
   name), where `record` may be (apply, defaults, shared, record). In a plain state a guard's object, or its
   attribute, is the expected value; without an attribute name the object is called first. The first dispatch
   keys are not among the thread's included ones, the second among its excluded ones, and the third not among
   its excluded ones where autograd records: numbers, none if the shim has none. NULL with an exception set;
   else a new object for py_tensors_free. */
py_tensors *py_tensors_parse(PyObject *rules);
void py_tensors_free(py_tensors *self);

/* Whether an argument is a tensor of `type` or `subtype`, not of another subclass. */
bool py_tensors_has_type(const py_tensors *self, PyObject *argument);

typedef enum py_tensor_call {
    PY_TENSORS_ERROR = -1, /* an exception is set */
    PY_TENSORS_OPERATOR,   /* the operator has to be called */
    PY_TENSORS_PLAIN,      /* the dispatcher may be left out */
    PY_TENSORS_RECORDED,   /* the dispatcher may be left out, but autograd records the call */
} py_tensor_call;

/* Returns what `apply` or `record` returns for a result, to which it steals the reference, and the arguments
   of a vectorcall, at most PY_ARGUMENTS. NULL with an exception set. */
PyObject *py_tensors_record(const py_tensors *self, PyObject *result, PyObject *const *args, Py_ssize_t count,
                            PyObject *names);

/* Determines how a call on `a` is made, which is one of `count` arguments; others may be NULL. */
py_tensor_call py_tensors_call(const py_tensors *self, PyObject *a, PyObject *const *arguments, size_t count);

/* Returns a new tensor of a dtype in `dtypes`, in C order on the device of `like`, whose index is `index`,
   and writes its address. NULL with an exception set. */
PyObject *py_tensors_new(const py_tensors *self, PyObject *like, gr_dtype dtype, size_t ndim,
                         const uint64_t *extent, int index, gr_devptr *address);

#endif
