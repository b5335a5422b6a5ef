/* The structures of DLPack 1, whose layout its specification fixes, and the functions that convert between
   them and the core's dtypes. https://dmlc.github.io/dlpack/latest/c_api.html */
#ifndef GR_PYTHON_OPERANDS_DLPACK_ABI_H
#define GR_PYTHON_OPERANDS_DLPACK_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "python/state.h"

typedef struct dl_device {
    int32_t type;
    int32_t number;
} dl_device;

typedef struct dl_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} dl_dtype;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape;
    int64_t *strides;     /* elements; NULL means C order */
    uint64_t byte_offset; /* bytes from `data` to the first element */
} dl_tensor;

typedef struct dl_managed_tensor {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed_tensor *self);
} dl_managed_tensor;

typedef struct dl_managed_tensor_versioned {
    uint32_t major;
    uint32_t minor;
    void *context;
    void (*deleter)(struct dl_managed_tensor_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed_tensor_versioned;

/* DLPackExchangeAPI: since DLPack 1.3 a type may have this table of C functions as
   `__dlpack_c_exchange_api__`. It lives as long as the process. Members that are not called here have
   simplified types. */
typedef struct dl_exchange_api {
    uint32_t major;
    uint32_t minor;
    const struct dl_exchange_api *prev_api; /* the table of an older major version, or NULL */
    void (*managed_tensor_allocator)(void);
    int (*managed_tensor_from_py_object_no_sync)(PyObject *object, dl_managed_tensor_versioned **out);
    void (*managed_tensor_to_py_object_no_sync)(void);
    int (*dltensor_from_py_object_no_sync)(PyObject *object, dl_tensor *out); /* may be NULL */
    int (*current_work_stream)(int32_t device_type, int32_t device_number, void **out);
} dl_exchange_api;

_Static_assert(sizeof(dl_tensor) == 48 && sizeof(dl_managed_tensor) == 64 &&
                   sizeof(dl_managed_tensor_versioned) == 80 && sizeof(dl_exchange_api) == 56,
               "DLPack fixes these sizes");

enum { DL_MAJOR_VERSION = 1, DL_READ_ONLY = 1, DL_COPIED = 2, DL_MAX_NDIM = 64, DL_CPU = 1, DL_CUDA = 2 };

/* Type codes (DLDataTypeCode). */
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };

dl_dtype dl_dtype_of(gr_dtype dtype);

/* Finds the core's dtype of a DLPack type; false if the core has none. */
bool dl_find_dtype(dl_dtype dtype, gr_dtype *out);

/* Returns (pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner), or
   NULL with an exception set. */
PyObject *dl_describe(const dl_tensor *tensor, bool read_only, PyObject *owner);

/* Takes the tensor over from a capsule of either kind; an unversioned one is wrapped. 1: taken; 0: no such
   capsule, one that was consumed before, or of another major version; -1 with an exception set. */
int dl_take(PyObject *capsule, dl_managed_tensor_versioned **out);

/* Returns a capsule that owns the tensor and calls dl_release() when it is collected. */
PyObject *dl_owner_capsule(dl_managed_tensor_versioned *managed);

/* Calls the deleter of the tensor's producer. May be called while an exception is set, which it keeps. */
void dl_release(dl_managed_tensor_versioned *managed);

#endif
