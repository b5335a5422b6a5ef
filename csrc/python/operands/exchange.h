/* Conversion of tensors by DLPack 1.3's C exchange API: a type's table of C functions describes a tensor
   without a Python call (PyTorch has it). Without such a table, or if the memory alone does not determine the
   elements, the caller uses `__dlpack__` from Python. */
#ifndef GR_PYTHON_OPERANDS_EXCHANGE_H
#define GR_PYTHON_OPERANDS_EXCHANGE_H

#include "python/operands/dlpack_abi.h"

typedef struct py_tensor {
    dl_managed_tensor_versioned *managed; /* owned until dl_release; NULL: none */
    bool is_borrowed;      /* `managed` is NULL: the description has no reference to the object */
    bool has_exchange_api; /* its type has the table: then no other C protocol may be tried */
    bool is_jax;           /* see py_tensor_from_jax */
    uintptr_t stream;      /* the producer's current stream (CUstream); 0: legacy default stream */
} py_tensor;

/* 1: converted; the tensor is on a CUDA device. 0: no table, a tensor that its memory alone does not
   determine (a gradient, a conjugate view), or the producer rejected it: `__dlpack__` has to be called from
   Python, which raises the reason. -1: an attribute raised an exception, which is set. `detached`: the caller
   has checked the type, and autograd does not record the call, so that the tensor may require a gradient.
   *described is valid until dl_release, or if `out` is borrowed while the object lives and is not changed;
   only tensors of PyTorch, which are never read-only, are borrowed. NULL: nothing is borrowed. */
int py_tensor_from_object(py_state *state, PyObject *object, bool detached, dl_tensor *described,
                          py_tensor *out);

/* Converts an array of JAX on a CUDA device by its `__dlpack__`, as its type has no table of C functions. The
   elements are valid for work in the legacy default stream. JAX may reuse the memory as soon as the tensor is
   released, in a stream that waits for no other: release it when the work that reads it is done. 1:
   converted; 0: no such array, or JAX refuses it; -1 with an exception set. */
int py_tensor_from_jax(py_state *state, PyObject *object, py_tensor *out);

/* Whether the elements of a tensor are those in its memory with another sign: a lazily negated or, if
   `is_complex`, conjugated view. -1 with an exception set. */
int py_tensor_has_lazy_sign(const py_state *state, PyObject *object, bool is_complex);

/* A cache of py_tensor_borrow for tensors that are borrowed one after the other; all zero at first. */
typedef struct py_borrowing {
    PyTypeObject *type; /* of the last tensor; NULL: none */
    const dl_exchange_api *table;
    int32_t device; /* CUDA device of the last tensor */
    uintptr_t stream;
    bool has_stream; /* the stream of that device is known */
} py_borrowing;

/* Describes a tensor on a CUDA device without a reference to it: `out` is valid while the object lives and is
   not changed, and its stream is borrowing->stream. Gradients, conjugate and negative bits are not read.
   Returns and raises as py_tensor_from_object does; 0 also if the table cannot describe tensors in this way.
 */
int py_tensor_borrow(py_state *state, PyObject *object, py_borrowing *borrowing, dl_tensor *out);
/* Describes a tensor as py_tensor_borrow does, but faster. Returns 0 unless its type and device are those of
   the last borrowed tensor. */
int py_tensor_borrow_similar(PyObject *object, const py_borrowing *borrowing, dl_tensor *out);

#endif
