/* C functions of PyTorch that are found at run time: those of its C shim
   (torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h), and the few without a C name that
   it does not cover. No header of PyTorch is needed to build, and one binary serves all its versions; without
   a function its caller has another way. */
#ifndef GR_PYTHON_TORCH_SHIM_H
#define GR_PYTHON_TORCH_SHIM_H

#include "python/state.h"

typedef void *torch_tensor; /* AtenTensorHandle: the receiver owns it */

typedef struct torch_shim {
    /* Whether new tensors can be made: all of the next six, and one of the two that wrap a tensor. */
    bool makes_tensors;
    int32_t (*empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                             int32_t device_type, int32_t device_index, torch_tensor *out);
    int32_t (*get_data_ptr)(torch_tensor tensor, void **out);
    int32_t (*delete_tensor)(torch_tensor tensor);
    int32_t device_type;                                                   /* of CUDA */
    int32_t (*to_object)(torch_tensor tensor, void *type, PyObject **out); /* PyTorch 2.14 */
    PyObject *(*wrap)(const torch_tensor tensor);                          /* THPVariable_Wrap */
    /* Whether a dispatch key is included in, or excluded from, those of this thread; both or none are found.
     */
    bool (*is_included)(uint16_t key);
    bool (*is_excluded)(uint16_t key);
    int32_t (*find_dtype[GR_DTYPE_COUNT])(void); /* its code of a dtype; NULL: unknown */
} torch_shim;

/* Returns the functions, which the first call after PyTorch's import finds in its libraries. */
const torch_shim *torch_shim_get(void);

/* Returns a new tensor in C order on a CUDA device, and its address; NULL without an exception if PyTorch
   refuses: new_empty() then raises its error. `dtype` is PyTorch's code. */
PyObject *torch_shim_empty(const torch_shim *self, int32_t dtype, int index, size_t ndim,
                           const uint64_t *extent, gr_devptr *address);

#endif
