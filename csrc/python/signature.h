/* Signatures of the public functions that have a fast path in C: binds the positional and keyword arguments
   of a vectorcall to parameters, as inspect.Signature.bind does, without Python code. */
#ifndef GR_PYTHON_SIGNATURE_H
#define GR_PYTHON_SIGNATURE_H

#include "python/state.h"
#include "reduce/reduce.h"

typedef struct py_signature {
    py_state *state;
    gr_op op;                         /* of a reduction; GR_OP_COUNT for other functions */
    uint64_t parameter;               /* see gr_op_has_parameter */
    bool exact;                       /* the default of `exact=` */
    PyObject *report;                 /* called with a result that is not finite, or None */
    size_t positional_count;          /* number of positional parameters */
    py_name positional[PY_ARGUMENTS]; /* name of each positional parameter */
    bool accepts[PY_ARGUMENTS];       /* which names are parameters, positional or by keyword */
} py_signature;

typedef PyObject *py_arguments[PY_ARGUMENTS]; /* by name, borrowed; NULL: not passed */

/* Returns a new function with these positional parameters and keyword-only parameters, and with op,
   parameter, exact and report of `like`. Its implementation gets a capsule as `self`, from which
   py_signature_from_capsule returns the signature. NULL with an exception set. */
PyObject *py_signature_new_function(PyObject *module, const py_signature *like, PyObject *positional,
                                    PyObject *named, PyMethodDef *definition);
const py_signature *py_signature_from_capsule(PyObject *capsule);

/* Binds the arguments of a call. False if they do not match the signature: the Python fallback raises the
   error. */
bool py_signature_bind(const py_signature *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                       py_arguments arguments);

/* Releases what `report` returned. Steals the reference to the result and returns it, or NULL with an
   exception set if the report raised it. */
PyObject *py_reported(PyObject *result, PyObject *returned);

#endif
