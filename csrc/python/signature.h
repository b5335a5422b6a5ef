/* Public functions that are done in C: which parameters they have, and what a call gives for them. */
#ifndef GR_PYTHON_SIGNATURE_H
#define GR_PYTHON_SIGNATURE_H

#include "python/state.h"
#include "reduce/reduce.h"

typedef struct py_public {
    py_state *state;
    gr_op op;           /* of a reduction */
    uint64_t parameter; /* what it gets, of those to which one is given */
    bool exact;         /* unless a call says so itself */
    size_t positional;
    py_name place[PY_ARGUMENTS]; /* of each positional parameter */
    bool takes[PY_ARGUMENTS];
} py_public;

typedef PyObject *py_arguments[PY_ARGUMENTS]; /* borrowed; NULL: not given */

/* A function of the positional parameters, then those that are given by their names. What defines it gets a
   capsule for `self`, which py_public_of opens. NULL with an exception set. */
PyObject *py_public_new(PyObject *module, gr_op op, uint64_t parameter, bool exact, bool pair,
                        PyObject *positional, PyObject *named, PyMethodDef *definition);
const py_public *py_public_of(PyObject *capsule);

/* False where the arguments of a call are not those of the function. */
bool py_public_sort(const py_public *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                    py_arguments given);

#endif
