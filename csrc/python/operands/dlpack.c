/* DLPack capsules: dlpack_import describes and takes over the tensor in a capsule from another library,
   dlpack_export makes a capsule of a device array. Both support unversioned capsules and those of DLPack
   1. */
#include "python/methods.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/operands/dlpack_abi.h"

/* Names of capsules. They must be static, because a capsule stores the pointer. */
static const char FRESH[] = "dltensor";
static const char USED[] = "used_dltensor";
static const char FRESH_VERSIONED[] = "dltensor_versioned";
static const char USED_VERSIONED[] = "used_dltensor_versioned";
static const char OWNER[] = "gpureduce.dlpack_owner";

/* Returns DLPack's type code, from the letters before the width in NumPy's name. */
static uint8_t type_code(const char *numpy_name) {
    switch (numpy_name[0]) {
    case 'i':
        return DL_INT;
    case 'u':
        return DL_UINT;
    case 'f':
        return DL_FLOAT;
    case 'c':
        return DL_COMPLEX;
    default:
        return numpy_name[1] == 'o' ? DL_BOOL : DL_BFLOAT;
    }
}

dl_dtype dl_dtype_of(gr_dtype dtype) {
    const gr_dtype_row *row = &gr_dtypes[dtype];
    return (dl_dtype){type_code(row->numpy_name), (uint8_t)(row->item_bytes * CHAR_BIT), 1};
}

bool dl_find_dtype(dl_dtype dtype, gr_dtype *out) {
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        const dl_dtype known = dl_dtype_of((gr_dtype)i);
        *out = (gr_dtype)i;
        if (known.code == dtype.code && known.bits == dtype.bits && known.lanes == dtype.lanes)
            return true;
    }
    return false;
}

/* ---- import ---- */

static void release_imported(PyObject *owner) {
    dl_managed_tensor *managed = PyCapsule_GetPointer(owner, OWNER);
    /* A destructor may run while an exception is set; a deleter may run Python code. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (managed->deleter != NULL)
        managed->deleter(managed);
    PyErr_Restore(type, value, traceback);
}

void dl_release(dl_managed_tensor_versioned *managed) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (managed->deleter != NULL)
        managed->deleter(managed);
    PyErr_Restore(type, value, traceback);
}

static void release_imported_versioned(PyObject *owner) {
    dl_release(PyCapsule_GetPointer(owner, OWNER));
}

PyObject *dl_owner_capsule(dl_managed_tensor_versioned *managed) {
    return PyCapsule_New(managed, OWNER, release_imported_versioned);
}

/* Renames a capsule from `fresh` to `used`. Returns true in only one of the threads that import it at the
   same time. */
static bool claim_capsule(PyObject *capsule, const char *fresh, const char *used) {
    bool claimed;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    claimed = PyCapsule_IsValid(capsule, fresh) && PyCapsule_SetName(capsule, used) == 0;
    Py_END_CRITICAL_SECTION();
    return claimed;
}

static void delete_wrapper(dl_managed_tensor_versioned *self) {
    dl_managed_tensor *original = self->context;
    free(self);
    if (original->deleter != NULL)
        original->deleter(original);
}

int dl_take(PyObject *capsule, dl_managed_tensor_versioned **out) {
    if (claim_capsule(capsule, FRESH_VERSIONED, USED_VERSIONED)) {
        *out = PyCapsule_GetPointer(capsule, USED_VERSIONED);
        if ((*out)->major == DL_MAJOR_VERSION)
            return 1;
        PyCapsule_SetName(capsule, FRESH_VERSIONED);
        return 0;
    }
    if (!claim_capsule(capsule, FRESH, USED))
        return 0;
    dl_managed_tensor *original = PyCapsule_GetPointer(capsule, USED);
    *out = malloc(sizeof **out);
    if (*out == NULL) {
        PyCapsule_SetName(capsule, FRESH);
        PyErr_NoMemory();
        return -1;
    }
    **out = (dl_managed_tensor_versioned){.major = DL_MAJOR_VERSION,
                                          .context = original,
                                          .deleter = delete_wrapper,
                                          .tensor = original->tensor};
    return 1;
}

static PyObject *reject_capsule(PyObject *capsule) {
    if (!PyCapsule_CheckExact(capsule))
        return PyErr_Format(PyExc_TypeError, "DLPack: expected a capsule, got %s", Py_TYPE(capsule)->tp_name);
    const char *name = PyCapsule_GetName(capsule);
    if (name != NULL && (strcmp(name, USED) == 0 || strcmp(name, USED_VERSIONED) == 0))
        return PyErr_Format(PyExc_BufferError, "DLPack: the capsule was consumed before");
    return PyErr_Format(PyExc_TypeError, "DLPack: expected a capsule named '%s' or '%s', got '%.100s'", FRESH,
                        FRESH_VERSIONED, name == NULL ? "(no name)" : name);
}

static int check_structure(const dl_tensor *tensor) {
    if (tensor->ndim < 0 || tensor->ndim > DL_MAX_NDIM)
        return PY_RAISE(PyExc_BufferError, "DLPack: a tensor of %d dimensions; 0 to %d are supported",
                        tensor->ndim, DL_MAX_NDIM);
    if (tensor->ndim > 0 && tensor->shape == NULL)
        return PY_RAISE(PyExc_BufferError, "DLPack: the tensor has no shape");
    if (tensor->byte_offset > UINT64_MAX - (uintptr_t)tensor->data)
        return PY_RAISE(PyExc_BufferError, "DLPack: the byte offset runs past the address space");
    return 0;
}

/* Returns the strides in bytes. Those of axes of at most one element are arbitrary numbers and become 0. */
static PyObject *byte_strides(const dl_tensor *tensor, int64_t item_bytes) {
    int64_t bytes[DL_MAX_NDIM];
    int64_t stride = 1;
    bool fits = true;
    for (int i = tensor->ndim - 1; i >= 0; --i) {
        const int64_t length = tensor->shape[i];
        if (tensor->strides != NULL)
            stride = tensor->strides[i];
        bytes[i] = 0;
        /* CuPy divides a negative stride in bytes as an unsigned number; the product with the item size
           wraps back to it. */
        if (length > 1 && __builtin_mul_overflow(stride, item_bytes, &bytes[i]))
            fits = fits && stride > 0 && bytes[i] < 0;
        if (tensor->strides == NULL && length > 1)
            fits = !__builtin_mul_overflow(stride, length, &stride) && fits;
    }
    if (!fits)
        return PyErr_Format(PyExc_BufferError, "DLPack: a stride is past 64 bits");
    return py_tuple_of_integers(bytes, 1, tensor->ndim);
}

PyObject *dl_describe(const dl_tensor *tensor, bool read_only, PyObject *owner) {
    if (check_structure(tensor) < 0)
        return NULL;
    gr_dtype dtype;
    if (!dl_find_dtype(tensor->dtype, &dtype))
        return PyErr_Format(PyExc_TypeError,
                            "DLPack: elements of type code %d with %d bits and %d lanes are not supported",
                            tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    PyObject *strides = byte_strides(tensor, tensor->dtype.bits / CHAR_BIT);
    if (strides == NULL)
        return NULL;
    return Py_BuildValue("KNNsiiOO", (unsigned long long)((uintptr_t)tensor->data + tensor->byte_offset),
                         py_tuple_of_integers(tensor->shape, 1, tensor->ndim), strides,
                         gr_dtypes[dtype].numpy_name, (int)tensor->device.type, (int)tensor->device.number,
                         read_only ? Py_True : Py_False, owner);
}

/* Moves the tensor from its capsule to a new owner. The owner gets its destructor last, so that after an
   error the capsule still owns the tensor, under its old name. */
static PyObject *import_tensor(PyObject *capsule, void *managed, const dl_tensor *tensor, bool read_only,
                               const char *fresh, PyCapsule_Destructor release) {
    PyObject *owner = PyCapsule_New(managed, OWNER, NULL);
    PyObject *result = owner == NULL ? NULL : dl_describe(tensor, read_only, owner);
    if (result != NULL)
        PyCapsule_SetDestructor(owner, release);
    else
        PyCapsule_SetName(capsule, fresh);
    Py_XDECREF(owner);
    return result;
}

/* Consumes a capsule named "dltensor" or "dltensor_versioned" and renames it "used_...". Returns (pointer,
   shape, strides in bytes, dtype name, device type, device number, read-only, owner): the elements are valid
   while `owner` is alive, and the producer's deleter is called when `owner` is collected. Shape and strides
   are returned unchecked; an axis of at most one element has stride 0. After an error the capsule still owns
   the tensor: TypeError if the object is not such a capsule or the element type has no NumPy name,
   BufferError if the capsule was consumed before, has another major version or an invalid structure. */
PyObject *py_dlpack_import(PyObject *Py_UNUSED(module), PyObject *capsule) {
    if (claim_capsule(capsule, FRESH, USED)) {
        dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, USED);
        return import_tensor(capsule, managed, &managed->tensor, false, FRESH, release_imported);
    }
    if (!claim_capsule(capsule, FRESH_VERSIONED, USED_VERSIONED))
        return reject_capsule(capsule);
    dl_managed_tensor_versioned *managed = PyCapsule_GetPointer(capsule, USED_VERSIONED);
    if (managed->major != DL_MAJOR_VERSION) {
        PyErr_Format(PyExc_BufferError, "DLPack: the tensor is of version %u.%u; version %d is supported",
                     (unsigned)managed->major, (unsigned)managed->minor, (int)DL_MAJOR_VERSION);
        PyCapsule_SetName(capsule, FRESH_VERSIONED);
        return NULL;
    }
    return import_tensor(capsule, managed, &managed->tensor, (managed->flags & DL_READ_ONLY) != 0,
                         FRESH_VERSIONED, release_imported_versioned);
}

/* ---- export ---- */

typedef struct exported {
    union {
        dl_managed_tensor managed;
        dl_managed_tensor_versioned versioned;
    } as;
    PyObject *owner;
    int64_t axes[]; /* shape, then strides, in elements */
} exported;

/* Called by the consumer, from any thread, also one without a Python thread state, and possibly after Python
   was finalised: then the owner is leaked. */
static void release_exported(exported *self) {
    PyObject *owner = self->owner;
    free(self);
    if (!Py_IsInitialized())
        return;
    const PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF(owner);
    PyGILState_Release(gil);
}

static void delete_managed(dl_managed_tensor *self) {
    release_exported(self->context);
}

static void delete_versioned(dl_managed_tensor_versioned *self) {
    release_exported(self->context);
}

/* Destructor of a capsule: frees the tensor if it was never consumed. Python calls it with the GIL held, also
   while Python finalises. */
static void free_exported_capsule(PyObject *capsule) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    exported *self = NULL; /* the capsule's pointer: the tensor is the first member */
    if (PyCapsule_IsValid(capsule, FRESH))
        self = PyCapsule_GetPointer(capsule, FRESH);
    else if (PyCapsule_IsValid(capsule, FRESH_VERSIONED))
        self = PyCapsule_GetPointer(capsule, FRESH_VERSIONED);
    if (self != NULL) {
        Py_DECREF(self->owner);
        free(self);
    }
    PyErr_Restore(type, value, traceback);
}

/* Fills axes[] with the shape, then the strides in elements: those of C order, or `strides` (in bytes). */
static int fill_axes(PyObject *shape, PyObject *strides, int64_t item, int ndim, int64_t *axes) {
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; --i) {
        const int64_t length = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
        if (length == -1 && PyErr_Occurred())
            return -1;
        axes[i] = length;
        axes[ndim + i] = stride;
        if (length < 0 || __builtin_mul_overflow(stride, length > 1 ? length : 1, &stride))
            return PY_RAISE(PyExc_BufferError, "DLPack: a length is negative or the shape past 64 bits");
    }
    for (int i = 0; strides != NULL && i < ndim; ++i)
        axes[ndim + i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i)) / item;
    return PyErr_Occurred() ? -1 : 0;
}

/* Returns a capsule that keeps `owner` alive until the consumer calls the deleter. `versioned` selects the
   structure; `copied` sets the flag of the versioned structure which says that the elements are a copy. */
PyObject *py_dlpack_export(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *owner, *shape, *strides = NULL;
    unsigned long long pointer;
    const char *name;
    int type, number, versioned, copied;
    if (!PyArg_ParseTuple(args, "OKO!siipp|O!:dlpack_export", &owner, &pointer, &PyTuple_Type, &shape, &name,
                          &type, &number, &versioned, &copied, &PyTuple_Type, &strides))
        return NULL;
    gr_dtype dtype;
    if (py_find_dtype_name(name, "DLPack", &dtype) < 0)
        return NULL;
    if (PyTuple_GET_SIZE(shape) > DL_MAX_NDIM)
        return PyErr_Format(PyExc_BufferError, "DLPack: more than %d dimensions", DL_MAX_NDIM);
    if (strides != NULL && PyTuple_GET_SIZE(strides) != PyTuple_GET_SIZE(shape))
        return PyErr_Format(PyExc_BufferError, "DLPack: expected a stride an axis");
    const int ndim = (int)PyTuple_GET_SIZE(shape);
    exported *self = calloc(1, sizeof *self + 2 * (size_t)ndim * sizeof self->axes[0]);
    if (self == NULL)
        return PyErr_NoMemory();
    if (fill_axes(shape, strides, (int64_t)gr_dtypes[dtype].item_bytes, ndim, self->axes) < 0) {
        free(self);
        return NULL;
    }
    const dl_tensor tensor = {
        .data = (void *)(uintptr_t)pointer,
        .device = {type, number},
        .ndim = ndim,
        .dtype = dl_dtype_of(dtype),
        .shape = self->axes,
        .strides = self->axes + ndim,
    };
    if (versioned)
        self->as.versioned = (dl_managed_tensor_versioned){.major = DL_MAJOR_VERSION,
                                                           .context = self,
                                                           .deleter = delete_versioned,
                                                           .flags = copied ? DL_COPIED : 0,
                                                           .tensor = tensor};
    else
        self->as.managed = (dl_managed_tensor){.tensor = tensor, .context = self, .deleter = delete_managed};
    PyObject *capsule = PyCapsule_New(&self->as, versioned ? FRESH_VERSIONED : FRESH, free_exported_capsule);
    if (capsule == NULL) {
        free(self);
        return NULL;
    }
    self->owner = Py_NewRef(owner);
    return capsule;
}
