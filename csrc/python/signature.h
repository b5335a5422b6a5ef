/* Signatures of the public functions that have a fast path in C: binds the positional and keyword arguments
   of a vectorcall to parameters, as inspect.Signature.bind does, without Python code. */
#ifndef GR_PYTHON_SIGNATURE_H
#define GR_PYTHON_SIGNATURE_H

#include "python/state.h"
#include "reduce/reduce.h"

typedef struct py_public {
    py_state *state;
    gr_op op;                    /* of a reduction; GR_OP_COUNT for other functions */
    uint64_t parameter;          /* operator parameter, if the operator's row says GR_PARAMETER_GIVEN */
    bool exact;                  /* the default of `exact=` */
    size_t positional;           /* number of positional parameters */
    py_name place[PY_ARGUMENTS]; /* name of each positional parameter */
    bool takes[PY_ARGUMENTS];    /* which names are parameters, positional or by keyword */
} py_public;

typedef PyObject *py_arguments[PY_ARGUMENTS]; /* by name, borrowed; NULL: not passed */

/* Returns a new function with these positional parameters and keyword-only parameters. Its implementation
   gets a capsule as `self`, from which py_public_of returns the signature. NULL with an exception set. */
PyObject *py_public_new(PyObject *module, gr_op op, uint64_t parameter, bool exact, bool pair,
                        PyObject *positional, PyObject *named, PyMethodDef *definition);
const py_public *py_public_of(PyObject *capsule);

/* Binds the arguments of a call. False if they do not match the signature: the Python fallback raises the
 * error. */
bool py_public_sort(const py_public *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                    py_arguments given);

#endif
