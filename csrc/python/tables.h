/* The core's tables as Python objects. */
#ifndef GR_PYTHON_TABLES_H
#define GR_PYTHON_TABLES_H

#include "python/state.h"

/* A tuple of the rows of dtypes.def: (name, NumPy's name, bytes of an element, kind, NumPy's names of the
   dtypes of sum and mean, scope, DLPack's type code and bits). */
PyObject *py_dtypes(PyObject *module, PyObject *ignored);

#endif
