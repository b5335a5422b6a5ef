/* The state of the extension module: its classes, interned names, devices and caches. Every file that uses
   the CPython API includes this header first, because it includes Python.h and NumPy's headers. */
#ifndef GR_PYTHON_STATE_H
#define GR_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* All files share one table of NumPy's C API, which state.c defines. */
#define PY_ARRAY_UNIQUE_SYMBOL gr_numpy_api
#ifndef PY_NUMPY_API_IS_HERE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdatomic.h>

#include "base/dtypes.h"
#include "device/device.h"

/* Imports NumPy and fills in the table. -1 with an exception set. */
int py_numpy_import(void);

#ifndef Py_BEGIN_CRITICAL_SECTION /* before Python 3.13 every interpreter has a GIL */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

/* A cached lookup: whether a type of another library has DLPack's C exchange API; see operands/exchange.h. */
typedef struct py_known_type {
    PyTypeObject *type;    /* NULL: an empty entry */
    bool has_exchange_api; /* the type has the table */
    bool is_described;     /* the table describes its objects fully, `__dlpack__` does not differ */
    bool is_torch;         /* torch.Tensor or a subclass, by torch_views_known */
    const struct dl_exchange_api *table; /* NULL if absent */
} py_known_type;

enum { PY_KNOWN_TYPES = 4, PY_LAST_LISTS = 4 };

/* Names that are interned once, because every call looks them up or compares them. Those up to `progress` are
   parameters of public functions. */
#define PY_EACH_NAME(ROW)                                                                                    \
    ROW(a)                                                                                                   \
    ROW(b)                                                                                                   \
    ROW(axis)                                                                                                \
    ROW(dtype)                                                                                               \
    ROW(out)                                                                                                 \
    ROW(ddof)                                                                                                \
    ROW(keepdims)                                                                                            \
    ROW(initial)                                                                                             \
    ROW(where)                                                                                               \
    ROW(mean)                                                                                                \
    ROW(correction)                                                                                          \
    ROW(variant)                                                                                             \
    ROW(device)                                                                                              \
    ROW(block_size)                                                                                          \
    ROW(grid_size)                                                                                           \
    ROW(stream)                                                                                              \
    ROW(as_device)                                                                                           \
    ROW(precision)                                                                                           \
    ROW(x)                                                                                                   \
    ROW(w)                                                                                                   \
    ROW(bias)                                                                                                \
    ROW(stride)                                                                                              \
    ROW(padding)                                                                                             \
    ROW(dilation)                                                                                            \
    ROW(groups)                                                                                              \
    ROW(layout)                                                                                              \
    ROW(exact)                                                                                               \
    ROW(include_initial)                                                                                     \
    ROW(offsets)                                                                                             \
    ROW(indices)                                                                                             \
    ROW(op)                                                                                                  \
    ROW(labels)                                                                                              \
    ROW(num_groups)                                                                                          \
    ROW(q)                                                                                                   \
    ROW(method)                                                                                              \
    ROW(overwrite_input)                                                                                     \
    ROW(weights)                                                                                             \
    ROW(k)                                                                                                   \
    ROW(order)                                                                                               \
    ROW(fisher)                                                                                              \
    ROW(nan_policy)                                                                                          \
    ROW(largest)                                                                                             \
    ROW(sorted)                                                                                              \
    ROW(descending)                                                                                          \
    ROW(minlength)                                                                                           \
    ROW(size)                                                                                                \
    ROW(batch_invariant)                                                                                     \
    ROW(offset)                                                                                              \
    ROW(axis1)                                                                                               \
    ROW(axis2)                                                                                               \
    ROW(weight)                                                                                              \
    ROW(eps)                                                                                                 \
    ROW(residual)                                                                                            \
    ROW(dim)                                                                                                 \
    ROW(keepdim)                                                                                             \
    ROW(within)                                                                                              \
    ROW(progress)                                                                                            \
    ROW(requires_grad)                                                                                       \
    ROW(is_neg)                                                                                              \
    ROW(is_conj)                                                                                             \
    ROW(__cuda_array_interface__)                                                                            \
    ROW(version)                                                                                             \
    ROW(shape)                                                                                               \
    ROW(typestr)                                                                                             \
    ROW(data)                                                                                                \
    ROW(strides)                                                                                             \
    ROW(mask)                                                                                                \
    ROW(__cuda_stream__)                                                                                     \
    ROW(cuda_stream)                                                                                         \
    ROW(ptr)                                                                                                 \
    ROW(__dlpack__)                                                                                          \
    ROW(__dlpack_device__)

typedef enum py_name {
#define PY_NAME(name) PY_NAME_##name,
    PY_EACH_NAME(PY_NAME) PY_NAMES,
#undef PY_NAME
    PY_ARGUMENTS = PY_NAME_progress + 1
} py_name;

typedef struct py_state {
    PyObject *device_error;
    PyObject *simulation_error;
    PyObject *memory_error; /* a function that returns the class of out-of-memory errors, or NULL */
    PyObject *mark_written; /* called with another library's tensor after it was written as `out`, or NULL */
    PyObject *array_type;   /* _core.Array */
    PyObject *array_class;  /* gpureduce.DeviceArray, once the package has registered it */
    PyObject *no_value;     /* numpy._NoValue */
    PyObject *names[PY_NAMES];
    gr_registry registry;
    _Atomic(gr_device *) opened[GR_DEVICES]; /* devices that calls have opened, by gr_device_slot */
    atomic_int default_device;               /* of the process; default_device.c */
    atomic_bool has_device_context;          /* whether `device_context` was ever set */
    PyObject *device_context;                /* a ContextVar: a tuple (kind, index) */
    py_known_type known[PY_KNOWN_TYPES];     /* a cache with round-robin replacement */
    size_t known_next;                       /* the entry to be replaced next, modulo PY_KNOWN_TYPES */
    struct py_deferred_release
        *deferred_releases;   /* objects kept alive for work in streams; deferred_release.c */
    struct gr_tables *tables; /* lists of arrays, offsets of segments */
    _Atomic(PyObject *) last_lists[PY_LAST_LISTS]; /* capsules of array_list.c, or NULL; whoever reads one
                                                      takes it out */
    atomic_uint next_list;                         /* the entry to be replaced next, modulo PY_LAST_LISTS */
    atomic_int cuda_devices;                       /* number of CUDA devices; 0: not queried yet */
    int type_numbers[GR_DTYPE_COUNT];              /* NumPy's type number of each row of dtypes.def */
} py_state;

#endif
