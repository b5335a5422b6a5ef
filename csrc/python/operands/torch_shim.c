/* Implements torch_shim.h. */
#include "python/operands/torch_shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/dtypes.h"
#include "python/methods.h"
#include "reduce/reduce.h"

static torch_shim shim;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_searched;

/* Finds what describes tensors. */
static void find_views(void *library) {
    int32_t (*host_type)(void), (*strided)(void);
    *(void **)&shim.get_numel = dlsym(library, "aoti_torch_get_numel");
    *(void **)&shim.get_dtype = dlsym(library, "aoti_torch_get_dtype");
    *(void **)&shim.get_layout = dlsym(library, "aoti_torch_get_layout");
    *(void **)&shim.get_device_type = dlsym(library, "aoti_torch_get_device_type");
    *(void **)&shim.get_device_index = dlsym(library, "aoti_torch_get_device_index");
    *(void **)&shim.is_contiguous = dlsym(library, "aoti_torch_is_contiguous");
    *(void **)&shim.is_negative = dlsym(library, "_ZN2at6native6is_negERKNS_6TensorE");
    *(void **)&shim.is_conjugate = dlsym(library, "_ZN2at6native7is_conjERKNS_6TensorE");
    *(void **)&host_type = dlsym(library, "aoti_torch_device_type_cpu");
    *(void **)&strided = dlsym(library, "aoti_torch_layout_strided");
    if (shim.get_dtype == NULL || shim.get_layout == NULL || shim.get_device_type == NULL ||
        shim.get_device_index == NULL || shim.is_contiguous == NULL || host_type == NULL || strided == NULL)
        shim.get_numel = NULL;
    *(void **)&shim.get_dim = dlsym(library, "aoti_torch_get_dim");
    *(void **)&shim.get_sizes = dlsym(library, "aoti_torch_get_sizes");
    *(void **)&shim.get_strides = dlsym(library, "aoti_torch_get_strides");
    if (shim.get_numel == NULL || shim.get_sizes == NULL || shim.get_strides == NULL)
        shim.get_dim = NULL;
    shim.host_type = host_type == NULL ? 0 : host_type();
    shim.strided = strided == NULL ? 0 : strided();
}

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
    find_views(library);
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

/* Returns the Python object of a tensor; NULL, perhaps with an exception set, if there is none. */
static PyObject *to_object(const torch_shim *self, torch_tensor tensor) {
    PyObject *object = NULL;
    if ((self->to_object == NULL || self->to_object(tensor, NULL, &object) != 0) && self->wrap != NULL)
        object = self->wrap(tensor);
    return object;
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
    if (self->get_data_ptr(tensor, &data) == 0)
        object = to_object(self, tensor);
    self->delete_tensor(tensor);
    *address = (gr_devptr)(uintptr_t)data;
    return object;
}

/* ---- tensors in their Python objects ---- */

/* Whether an object contains the tensor of a handle behind its head. An at::Tensor is one pointer; in older
   versions of PyTorch a flag comes before it. The tensor has one element, so that its description is known.
 */
static bool contains(const torch_views *self, PyObject *object, torch_tensor tensor) {
    void *const *inside = (void *const *)((const char *)object + self->offset);
    void *data = NULL;
    torch_view view;
    return (size_t)Py_TYPE(object)->tp_basicsize >= self->offset + sizeof(void *) &&
           *inside == *(void *const *)tensor && self->shim->get_data_ptr(tensor, &data) == 0 &&
           torch_view_of(self, object, &view) && view.address == (gr_devptr)(uintptr_t)data &&
           view.count == 1 && view.dtype == GR_DTYPE_f32 && view.device == -1;
}

/* Finds the type and the offset by a new tensor on the CPU. */
static void find_type(torch_views *self) {
    const torch_shim *found = self->shim;
    const int64_t one = 1;
    torch_tensor tensor = NULL;
    if (!found->makes_tensors || found->get_numel == NULL || self->codes[GR_DTYPE_f32] < 0 ||
        found->empty_strided(1, &one, &one, self->codes[GR_DTYPE_f32], found->host_type, 0, &tensor) != 0)
        return;
    PyObject *object = to_object(found, tensor);
    if (object != NULL && contains(self, object, tensor))
        self->type = (PyTypeObject *)Py_NewRef(Py_TYPE(object));
    Py_XDECREF(object);
    PyErr_Clear();
    found->delete_tensor(tensor);
}

static torch_views known_views;
static atomic_bool views_are_known;

torch_views torch_views_get(void) {
    if (atomic_load(&views_are_known))
        return known_views;
    torch_views found = {.shim = torch_shim_get(), .offset = sizeof(PyObject)};
    for (size_t i = 0; i < GR_DTYPE_COUNT; ++i)
        found.codes[i] = found.shim->find_dtype[i] != NULL ? found.shim->find_dtype[i]() : -1;
    find_type(&found); /* not under the mutex: it may run Python code */
    pthread_mutex_lock(&mutex);
    if (is_searched && !atomic_load(&views_are_known)) {
        known_views = found;
        atomic_store(&views_are_known, true);
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

/* An at::Tensor is a pointer to its c10::TensorImpl. */
static const void *impl_of(torch_tensor tensor) {
    return *(void *const *)tensor;
}

const torch_views *torch_views_known(void) {
    return atomic_load(&views_are_known) && known_views.type != NULL ? &known_views : NULL;
}

static torch_tensor tensor_of(const torch_views *self, PyObject *object) {
    return (char *)object + self->offset;
}

bool torch_describe(const torch_views *self, PyObject *object, dl_tensor *out) {
    const torch_shim *get = self->shim;
    torch_tensor tensor = tensor_of(self, object);
    int32_t layout, dtype, device;
    int64_t ndim;
    size_t i = 0;
    if (get->get_dim == NULL || get->get_layout(tensor, &layout) != 0 || layout != get->strided ||
        get->get_device_type(tensor, &device) != 0 ||
        (device != get->device_type && device != get->host_type) ||
        get->get_device_index(tensor, &out->device.number) != 0 || get->get_dtype(tensor, &dtype) != 0)
        return false;
    while (i < GR_DTYPE_COUNT && self->codes[i] != dtype)
        ++i;
    if (i == GR_DTYPE_COUNT || get->get_dim(tensor, &ndim) != 0 || ndim > DL_MAX_NDIM ||
        get->get_sizes(tensor, &out->shape) != 0 || get->get_strides(tensor, &out->strides) != 0 ||
        get->get_data_ptr(tensor, &out->data) != 0)
        return false;
    out->device.type = device == get->device_type ? DL_CUDA : DL_CPU;
    out->ndim = (int32_t)ndim;
    out->dtype = dl_dtype_of((gr_dtype)i);
    out->byte_offset = 0;
    return true;
}

bool torch_view_of(const torch_views *self, PyObject *object, torch_view *out) {
    const torch_shim *get = self->shim;
    torch_tensor tensor = tensor_of(self, object);
    int32_t layout, dtype, device, index;
    bool in_order;
    int64_t count;
    void *data;
    if (get->get_layout(tensor, &layout) != 0 || layout != get->strided ||
        get->get_device_type(tensor, &device) != 0 || get->get_device_index(tensor, &index) != 0 ||
        get->get_dtype(tensor, &dtype) != 0 || get->is_contiguous(tensor, &in_order) != 0 || !in_order ||
        get->get_numel(tensor, &count) != 0 || get->get_data_ptr(tensor, &data) != 0 ||
        (data == NULL && count > 0))
        return false;
    out->tensor = tensor;
    out->impl = impl_of(tensor);
    out->code = dtype;
    out->address = (gr_devptr)(uintptr_t)data;
    out->count = (uint64_t)count;
    out->device = device == get->device_type ? index : -1;
    for (out->dtype = 0; out->dtype < GR_DTYPE_COUNT; ++out->dtype)
        if (self->codes[out->dtype] == dtype)
            return true;
    return false;
}

bool torch_view_is_current(const torch_views *self, PyObject *object, const torch_view *view) {
    const torch_shim *get = self->shim;
    torch_tensor tensor = tensor_of(self, object);
    int32_t code, index;
    bool in_order;
    int64_t count;
    void *data;
    return tensor == view->tensor && impl_of(tensor) == view->impl && view->device >= 0 &&
           get->get_data_ptr(tensor, &data) == 0 && (gr_devptr)(uintptr_t)data == view->address &&
           get->get_numel(tensor, &count) == 0 && (uint64_t)count == view->count &&
           get->get_dtype(tensor, &code) == 0 && code == view->code &&
           get->is_contiguous(tensor, &in_order) == 0 && in_order &&
           get->get_device_index(tensor, &index) == 0 && index == view->device;
}

static int has_lazy_sign(const torch_shim *ask, const torch_tensor tensor, bool is_complex) {
    if (ask->is_negative == NULL || (is_complex && ask->is_conjugate == NULL))
        return -1;
    return ask->is_negative(tensor) || (is_complex && ask->is_conjugate(tensor));
}

int torch_view_has_lazy_sign(const torch_views *self, const torch_view *view) {
    return has_lazy_sign(self->shim, view->tensor, gr_dtype_is_complex(view->dtype));
}

int torch_has_lazy_sign(const torch_views *self, PyObject *object, bool is_complex) {
    return has_lazy_sign(self->shim, tensor_of(self, object), is_complex);
}

static PyObject *tuple_of(const int64_t *values, int32_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (int32_t d = 0; tuple != NULL && d < count; ++d) {
        PyObject *value = PyLong_FromLongLong(values[d]);
        if (value == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, d, value);
    }
    return tuple;
}

/* Describes a tensor for the tests: (address, elements, dtype, CUDA device or -1, lazy sign), or None if it
   is not in C order; and (address, shape, strides, bits, DLPack's device), or None. */
PyObject *py_torch_view(PyObject *Py_UNUSED(module), PyObject *object) {
    const torch_views views = torch_views_get();
    torch_view view;
    dl_tensor tensor;
    PyObject *in_order = NULL, *description = NULL;
    const bool is_tensor = views.type != NULL && PyObject_TypeCheck(object, views.type);
    if (is_tensor && torch_view_of(&views, object, &view))
        in_order = Py_BuildValue("(KKsii)", (unsigned long long)view.address, (unsigned long long)view.count,
                                 gr_dtypes[view.dtype].numpy_name, view.device,
                                 torch_view_has_lazy_sign(&views, &view));
    else
        in_order = Py_NewRef(Py_None);
    if (in_order != NULL && is_tensor && torch_describe(&views, object, &tensor))
        description =
            Py_BuildValue("(KNNi(ii))", (unsigned long long)(uintptr_t)tensor.data,
                          tuple_of(tensor.shape, tensor.ndim), tuple_of(tensor.strides, tensor.ndim),
                          (int)tensor.dtype.bits, (int)tensor.device.type, (int)tensor.device.number);
    else if (in_order != NULL)
        description = Py_NewRef(Py_None);
    if (description == NULL) {
        Py_XDECREF(in_order);
        return NULL;
    }
    return Py_BuildValue("(NN)", in_order, description);
}

PyObject *py_torch_shim(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    const torch_shim *found = torch_shim_get();
    return Py_BuildValue("(OO)", found->makes_tensors ? Py_True : Py_False,
                         found->is_included != NULL ? Py_True : Py_False);
}
