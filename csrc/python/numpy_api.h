/* Includes Python's and NumPy's headers so that all files share one table of NumPy's C API, which numpy_api.c
   defines. */
#ifndef GR_PYTHON_NUMPY_API_H
#define GR_PYTHON_NUMPY_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL gr_numpy_api
#ifndef PY_NUMPY_API_IS_HERE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* Imports NumPy and fills in the table. -1 with an exception set. */
int py_numpy_import(void);

#endif
