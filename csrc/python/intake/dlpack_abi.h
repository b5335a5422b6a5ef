/* What the files that speak DLPack share. */
#ifndef GR_PYTHON_INTAKE_DLPACK_ABI_H
#define GR_PYTHON_INTAKE_DLPACK_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "python/state.h"

/* The structures of DLPack 1, whose layout its specification fixes. */

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
    int64_t *strides; /* in elements; NULL means C order */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    uint32_t major;
    uint32_t minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* Since version 1.3 a type may carry these functions, which live as long as the process. */
typedef struct dl_exchange {
    uint32_t major;
    uint32_t minor;
    const struct dl_exchange *previous; /* of an older major version */
    void (*allocate)(void);
    int (*take)(PyObject *object, dl_versioned **out);
    void (*wrap)(void);
    void (*borrow)(void);
    int (*current_stream)(int32_t device_type, int32_t device_number, void **out);
} dl_exchange;

_Static_assert(sizeof(dl_tensor) == 48 && sizeof(dl_managed) == 64 && sizeof(dl_versioned) == 80 &&
                   sizeof(dl_exchange) == 56,
               "DLPack fixes these sizes");

enum { DL_MAJOR_VERSION = 1, DL_READ_ONLY = 1, DL_COPIED = 2, DL_MAX_NDIM = 64, DL_CUDA = 2 };

/* The codes of its types. */
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };

dl_dtype dl_dtype_of(gr_dtype dtype);

/* Whether there is such a dtype, and which. */
bool dl_find_dtype(dl_dtype dtype, gr_dtype *out);

/* (pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner). */
PyObject *dl_describe(const dl_tensor *tensor, bool read_only, PyObject *owner);

/* An owner of a tensor, at whose end dl_release() is called. */
PyObject *dl_own(dl_versioned *managed);

/* Gives a tensor back to its producer, also while an exception is on its way. */
void dl_release(dl_versioned *managed);

#endif
