/* Exchange of arrays with other libraries through DLPack capsules. */
#ifndef GR_PYTHON_INTAKE_DLPACK_H
#define GR_PYTHON_INTAKE_DLPACK_H

#include "python/state.h"

/* Consumes a capsule named "dltensor" or "dltensor_versioned" and renames it "used_...". Returns
   (pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner): the elements
   are valid for as long as `owner` lives, whose end calls the producer's deleter.
   Shape and strides are handed over as the producer wrote them, except that an axis of at most one element
   has stride 0; the caller judges them. On an error the capsule is left to its producer: TypeError for
   something that is no such capsule or an element type without a NumPy name, BufferError for a capsule that
   was consumed, another major version or a broken structure. */
PyObject *py_dlpack_import(PyObject *module, PyObject *capsule);

/* args: (owner, pointer, shape, dtype name, device type, device number, versioned, copied). Returns a capsule
   for C-ordered elements which holds `owner` until its consumer is done. `versioned` chooses the structure;
   `copied`, which only that one can say, that nobody else sees the elements. */
PyObject *py_dlpack_export(PyObject *module, PyObject *args);

#endif
