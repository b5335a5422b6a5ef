/* Python, NumPy and what the module keeps: included first by every file that touches CPython. */
#ifndef GR_PYTHON_STATE_H
#define GR_PYTHON_STATE_H

#include "python/numpy_api.h"

#include <stdatomic.h>

#include "base/dtypes.h"
#include "device/device.h"

#ifndef Py_BEGIN_CRITICAL_SECTION /* before Python 3.13 every interpreter has a GIL */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

/* What a type of arrays of another library is: see intake/exchange.h. */
typedef struct py_known_type {
    PyTypeObject *type;              /* NULL: none yet */
    bool speaks;                     /* there are functions for C */
    const struct dl_exchange *table; /* and they say all there is to say; or NULL */
} py_known_type;

enum { PY_KNOWN_TYPES = 4 };

/* Names that are looked up or compared in every call; the first are arguments of public functions. */
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
    ROW(stride)                                                                                              \
    ROW(padding)                                                                                             \
    ROW(dilation)                                                                                            \
    ROW(groups)                                                                                              \
    ROW(layout)                                                                                              \
    ROW(exact)                                                                                               \
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
    ROW(ptr)

typedef enum py_name {
#define PY_NAME(name) PY_NAME_##name,
    PY_EACH_NAME(PY_NAME) PY_NAMES,
#undef PY_NAME
    PY_ARGUMENTS = PY_NAME_progress + 1
} py_name;

typedef struct py_state {
    PyObject *device_error;
    PyObject *simulation_error;
    PyObject *memory_error; /* a function that returns the class of errors about memory, or NULL */
    PyObject *mark_written; /* called with a tensor of another library that was given as `out`, or NULL */
    PyObject *array_type;   /* _core.Array */
    PyObject *array_class;  /* gpureduce.DeviceArray, once the package has named it */
    PyObject *no_value;     /* numpy._NoValue */
    PyObject *names[PY_NAMES];
    gr_registry registry;
    _Atomic(gr_device *) opened[GR_DEVICES]; /* of the registry's, those that calls have asked for */
    atomic_int default_device;               /* the place there of calls without device=, or -1 */
    py_known_type known[PY_KNOWN_TYPES];
    size_t known_next;
    struct py_pending *pending;       /* what calls that have returned still read: pending.c */
    atomic_int cuda_devices;          /* how many there are; 0: not asked yet */
    int type_numbers[GR_DTYPE_COUNT]; /* NumPy's type number of each row of dtypes.def */
} py_state;

#endif
