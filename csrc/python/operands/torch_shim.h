/* C functions of PyTorch that are found at run time: those of its C shim
   (torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h), and the few without a C name that
   it does not cover. No header of PyTorch is needed to build, and one binary serves all its versions; where a
   function is missing, its caller falls back to Python code. */
#ifndef GR_PYTHON_OPERANDS_TORCH_SHIM_H
#define GR_PYTHON_OPERANDS_TORCH_SHIM_H

#include "python/operands/dlpack_abi.h"
#include "python/state.h"

typedef void *torch_tensor; /* AtenTensorHandle: the receiver owns it */

typedef struct torch_shim {
    /* Whether new tensors can be made: the next four and one of `to_object` and `wrap` were found. */
    bool makes_tensors;
    int32_t (*empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                             int32_t device_type, int32_t device_index, torch_tensor *out);
    int32_t (*get_data_ptr)(torch_tensor tensor, void **out);
    int32_t (*delete_tensor)(torch_tensor tensor);
    int32_t device_type;                                                   /* of CUDA */
    int32_t (*to_object)(torch_tensor tensor, void *type, PyObject **out); /* PyTorch 2.14 */
    PyObject *(*wrap)(const torch_tensor tensor);                          /* THPVariable_Wrap */
    /* Whether this thread includes, or excludes, a dispatch key; both functions or none are found. */
    bool (*is_included)(uint16_t key);
    bool (*is_excluded)(uint16_t key);
    int32_t (*find_dtype[GR_DTYPE_COUNT])(void); /* returns the shim's code of a dtype; NULL: unknown */
    /* Functions that describe tensors; get_numel is NULL unless the first six are found. */
    int32_t (*get_numel)(torch_tensor tensor, int64_t *out);
    int32_t (*get_dtype)(torch_tensor tensor, int32_t *out);
    int32_t (*get_layout)(torch_tensor tensor, int32_t *out);
    int32_t (*get_device_type)(torch_tensor tensor, int32_t *out);
    int32_t (*get_device_index)(torch_tensor tensor, int32_t *out);
    int32_t (*is_contiguous)(torch_tensor tensor, bool *out);
    /* get_dim is NULL unless these three and get_numel are found. */
    int32_t (*get_dim)(torch_tensor tensor, int64_t *out);
    int32_t (*get_sizes)(torch_tensor tensor, int64_t **out);
    int32_t (*get_strides)(torch_tensor tensor, int64_t **out);
    bool (*is_negative)(const torch_tensor tensor); /* at::native::is_neg, or NULL */
    bool (*is_conjugate)(const torch_tensor tensor);
    int32_t host_type, strided; /* the shim's codes of the CPU and of dense tensors */
} torch_shim;

/* Returns the functions, which the first call after PyTorch's import finds in its libraries. */
const torch_shim *torch_shim_get(void);

/* Returns a new tensor in C order on a CUDA device, and its address; NULL without an exception if PyTorch
   refuses: new_empty() then raises its error. `dtype` is PyTorch's code. */
PyObject *torch_shim_empty(const torch_shim *self, int32_t dtype, int index, size_t ndim,
                           const uint64_t *extent, gr_devptr *address);

/* Where the tensors of PyTorch are in their Python objects: a handle of the shim is the address of an
   at::Tensor, which objects of the type and of its subclasses contain. */
typedef struct torch_views {
    const torch_shim *shim;
    PyTypeObject *type; /* torch.Tensor; NULL: handles of objects are unknown */
    size_t offset;      /* bytes from an object to its at::Tensor */
    int32_t codes[GR_DTYPE_COUNT];
} torch_views;

/* The description of a dense tensor in C order. */
typedef struct torch_view {
    torch_tensor tensor; /* a handle that the object owns; not to be deleted */
    const void *impl;    /* the c10::TensorImpl that it refers to */
    gr_devptr address;
    uint64_t count;
    gr_dtype dtype;
    int32_t code; /* PyTorch's, of the dtype */
    int device;   /* index of the CUDA device; -1: another device */
} torch_view;

/* Returns where tensors are in their objects: found once, by a new tensor whose handle is known. */
torch_views torch_views_get(void);

/* Returns the same without a search: NULL if torch_views_get has found no type yet. */
const torch_views *torch_views_known(void);

/* Describes an object of the type or a subclass, without a call of Python: `out` is valid while the object
   lives and is not changed. False: it is no dense tensor on a CUDA device or the CPU, or its dtype is
   unknown. Gradients, conjugate and negative bits are not read. PyTorch logs an error for a tensor without
   memory, such as a tensor inside a transform. */
bool torch_describe(const torch_views *self, PyObject *object, dl_tensor *out);

/* Describes an object of the type or a subclass, without a call of Python. False: it is no dense tensor in C
   order with memory, or its dtype is unknown. Gradients, conjugate and negative bits are not read. */
bool torch_view_of(const torch_views *self, PyObject *object, torch_view *out);

/* Whether torch_view_of would describe the object in the same way again: fewer calls of the shim, as a tensor
   on a CUDA device keeps its layout and its kind of device. `view` may be of an object that is gone. */
bool torch_view_is_current(const torch_views *self, PyObject *object, const torch_view *view);

/* Whether the elements are those in memory with another sign: a lazily negated or conjugated view. -1:
   unknown, as the functions were not found. */
int torch_view_has_lazy_sign(const torch_views *self, const torch_view *view);
/* The same of an object of the type or a subclass. */
int torch_has_lazy_sign(const torch_views *self, PyObject *object, bool is_complex);

#endif
