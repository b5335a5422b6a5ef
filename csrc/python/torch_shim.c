/* Implements torch_shim.h. */
#include "python/torch_shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "base/dtypes.h"
#include "python/methods.h"
#include "reduce/reduce.h"

static torch_shim shim;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_searched;

/* Finds what PyTorch's Python module, or a library that it depends on, defines. */
static void find_all(void *library) {
    int32_t (*device_type)(void);
    *(void **)&shim.empty_strided = dlsym(library, "aoti_torch_empty_strided");
    *(void **)&shim.get_data_ptr = dlsym(library, "aoti_torch_get_data_ptr");
    *(void **)&shim.delete_tensor = dlsym(library, "aoti_torch_delete_tensor_object");
    *(void **)&device_type = dlsym(library, "aoti_torch_device_type_cuda");
    *(void **)&shim.to_object = dlsym(library, "torch_tensor_to_pyobject");
    *(void **)&shim.wrap = dlsym(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE");
    *(void **)&shim.is_included =
        dlsym(library, "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE");
    *(void **)&shim.is_excluded =
        dlsym(library, "_ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE");
    for (size_t i = 0; i < GR_DTYPE_COUNT; ++i) {
        char name[64];
        snprintf(name, sizeof name, "aoti_torch_dtype_%s", gr_dtypes[i].numpy_name);
        *(void **)&shim.find_dtype[i] = dlsym(library, name);
    }
    shim.device_type = device_type == NULL ? 0 : device_type();
    shim.makes_tensors = shim.empty_strided != NULL && shim.get_data_ptr != NULL &&
                         shim.delete_tensor != NULL && device_type != NULL &&
                         (shim.to_object != NULL || shim.wrap != NULL);
    if (shim.is_included == NULL || shim.is_excluded == NULL)
        shim.is_included = shim.is_excluded = NULL;
}

const torch_shim *torch_shim_get(void) {
    pthread_mutex_lock(&mutex);
    if (!is_searched) {
        void *library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD); /* stays open, as in PyTorch */
        if (library != NULL)
            find_all(library);
        is_searched = library != NULL;
    }
    pthread_mutex_unlock(&mutex);
    return &shim;
}

PyObject *torch_shim_empty(const torch_shim *self, int32_t dtype, int index, size_t ndim,
                           const uint64_t *extent, gr_devptr *address) {
    int64_t sizes[GR_MAX_NDIM], strides[GR_MAX_NDIM], next = 1;
    torch_tensor tensor = NULL;
    void *data = NULL;
    PyObject *object = NULL;
    for (size_t d = ndim; d-- > 0;) {
        sizes[d] = (int64_t)extent[d];
        strides[d] = next;
        next *= extent[d] > 1 ? (int64_t)extent[d] : 1;
    }
    if (self->empty_strided((int64_t)ndim, sizes, strides, dtype, self->device_type, index, &tensor) != 0)
        return NULL;
    if (self->get_data_ptr(tensor, &data) == 0 &&
        (self->to_object == NULL || self->to_object(tensor, NULL, &object) != 0) && self->wrap != NULL)
        object = self->wrap(tensor);
    self->delete_tensor(tensor);
    *address = (gr_devptr)(uintptr_t)data;
    return object;
}

PyObject *py_torch_shim(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    const torch_shim *found = torch_shim_get();
    return Py_BuildValue("(OO)", found->makes_tensors ? Py_True : Py_False,
                         found->is_included != NULL ? Py_True : Py_False);
}
