/* Python's and NumPy's headers, the latter's functions in a table that all files share. */
#ifndef GR_PYTHON_NUMPY_API_H
#define GR_PYTHON_NUMPY_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL gr_numpy_api
#ifndef PY_NUMPY_API_IS_HERE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* Fills in the table; -1 with an exception where NumPy cannot be imported. */
int py_numpy_import(void);

#endif
