/* Implements array_list.h, and py_multi_list, which keeps a list for several calls. */
#include "python/array_list.h"

#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/methods.h"
#include "python/operands/torch_shim.h"

static const char CAPSULE[] = "gpureduce.array_list";

/* A list under construction. */
typedef struct builder {
    py_state *state;
    const py_list_source *from;
    py_array_list *list;
    unsigned char *dtypes; /* of the rows */
    uint32_t dtype_set;    /* a bit for each dtype of the rows */
    uint64_t position;     /* of the next word of a fingerprint */
    dl_dtype similar; /* DLPack's dtype of the last tensor that add_similar appended; the next field is the
                         core's */
    gr_dtype similar_dtype;
    torch_views views;   /* of PyTorch's tensors; found when the list has a tensor */
    PyTypeObject *asked; /* the last type of which has_views was asked, and its answer */
    bool answer;
    size_t view_count; /* arrays of which the list has views, if there is memory */
} builder;

/* Whether the elements fill a range of memory without gaps, in any order of the axes. */
static bool is_dense(const py_operand *self) {
    bool merged[GR_MAX_NDIM] = {false};
    int64_t bytes = (int64_t)gr_dtypes[self->dtype].item_bytes;
    for (size_t axes = 0; axes < self->ndim; ++axes) {
        size_t next = self->ndim;
        for (size_t d = 0; d < self->ndim && next == self->ndim; ++d)
            if (!merged[d] && (self->extent[d] == 1 || self->stride[d] == bytes))
                next = d;
        if (next == self->ndim)
            return false;
        merged[next] = true;
        bytes *= (int64_t)self->extent[next];
    }
    return true;
}

/* Adds the stream of an array to the list's. False if there are too many. */
static bool add_stream(py_array_list *self, gr_stream stream) {
    if (stream == self->stream)
        return true;
    for (size_t i = 0; i < self->stream_count; ++i)
        if (self->streams[i] == stream)
            return true;
    if (self->stream_count == PY_LIST_STREAMS)
        return false;
    self->streams[self->stream_count++] = stream;
    return true;
}

static void set_first(size_t *first, size_t i, bool is_one) {
    if (is_one && *first == SIZE_MAX)
        *first = i;
}

/* The dtype of results: that of all arrays, else float64 if any array has it, else float32. */
static gr_dtype common_dtype(gr_dtype a, gr_dtype b) {
    return a == b ? a : a == GR_DTYPE_f64 || b == GR_DTYPE_f64 ? GR_DTYPE_f64 : GR_DTYPE_f32;
}

static void take_device(py_array_list *self, const py_operand *first) {
    self->kind = first->kind;
    self->index = first->index;
    self->stream = first->stream;
    self->stream_owner = first->stream_owner;
    self->stream_persists = first->stream_persists;
    self->dtype = first->dtype;
}

/* Appends the row of an array that has elements. */
static void add_row(builder *self, size_t i, gr_dtype dtype, gr_devptr address, uint64_t elements) {
    py_array_list *list = self->list;
    const uint64_t count = elements * gr_multi_parts(dtype);
    self->dtypes[list->row_count] = (unsigned char)dtype;
    self->dtype_set |= 1u << dtype;
    list->rows[list->row_count++] =
        (gr_multi_array){.address = address, .count = count, .result = i, .position = self->position};
    self->position += gr_multi_words(dtype, count);
}

/* Updates the dtype of results, and which array is the first that is not real. */
static void add_dtype(py_array_list *self, size_t i, gr_dtype dtype) {
    self->dtype = common_dtype(self->dtype, dtype);
    set_first(&self->first_other, i, gr_dtypes[dtype].kind != GR_KIND_REAL);
}

/* Whether a tensor is in C order; `count` is the number of its elements. */
static bool is_in_order(const dl_tensor *tensor, uint64_t *count) {
    bool in_order = tensor->ndim >= 0 && tensor->ndim <= GR_MAX_NDIM;
    *count = 1;
    for (int32_t d = in_order ? tensor->ndim : 0; d-- > 0;) {
        in_order = in_order && (tensor->strides == NULL || tensor->shape[d] == 1 ||
                                tensor->strides[d] == (int64_t)*count);
        *count *= (uint64_t)tensor->shape[d];
    }
    return in_order;
}

/* Whether objects of a type are tensors that torch_view_of describes. */
static bool has_views(builder *self, PyTypeObject *type) {
    if (type != self->asked) {
        if (self->views.shim == NULL)
            self->views = torch_views_get();
        self->asked = type;
        self->answer = self->views.type != NULL && PyType_IsSubtype(type, self->views.type);
    }
    return self->answer;
}

/* Appends a tensor as add_similar does, by PyTorch's C shim, which takes a quarter of the time of DLPack's
   functions. */
static int add_view(builder *self, size_t i, PyObject *object, const py_borrowing *borrowing) {
    torch_view view;
    if (!torch_view_of(&self->views, object, &view) || view.device != borrowing->device)
        return 0;
    if (self->from->signs_matter) {
        int lazy = torch_view_has_lazy_sign(&self->views, &view);
        if (lazy < 0)
            lazy = py_tensor_has_lazy_sign(self->state, object, gr_dtype_is_complex(view.dtype));
        if (lazy != 0)
            return lazy < 0 ? -1 : 0;
    }
    add_dtype(self->list, i, view.dtype);
    if (view.count > 0)
        add_row(self, i, view.dtype, view.address, view.count);
    if (self->list->views != NULL)
        self->list->views[i] = view;
    ++self->view_count;
    return 1;
}

/* Allocates the views of a list whose first array is a tensor of PyTorch, and describes that one.
   Without memory the list has no views. */
static void begin_views(builder *self, PyObject *first) {
    py_array_list *list = self->list;
    if (list->kind != GR_DEVICE_CUDA || list->stream_owner != NULL || !has_views(self, Py_TYPE(first)))
        return;
    list->views = PyMem_Malloc(list->count * sizeof list->views[0]);
    list->view_type = Py_TYPE(first);
    if (list->views != NULL)
        self->view_count += torch_view_of(&self->views, first, &list->views[0]);
}

/* Appends the row of a tensor of the type, on the device and in the stream of the one before it, in C order:
   of many tensors, nearly all. 1: appended; 0: it is another array, and describe has to look at it; -1 with
   an exception set. */
static int add_similar(builder *self, size_t i, PyObject *object, const py_borrowing *borrowing) {
    py_array_list *list = self->list;
    dl_tensor tensor;
    uint64_t count;
    if (i == 0 || list->kind != GR_DEVICE_CUDA || list->index != borrowing->device ||
        list->stream != borrowing->stream)
        return 0;
    if (Py_TYPE(object) == borrowing->type && borrowing->has_stream && has_views(self, borrowing->type)) {
        const int added = add_view(self, i, object, borrowing);
        if (added != 0)
            return added;
    }
    const int borrowed = py_tensor_borrow_similar(object, borrowing, &tensor);
    if (borrowed <= 0 || !is_in_order(&tensor, &count))
        return borrowed < 0 ? -1 : 0;
    if (memcmp(&tensor.dtype, &self->similar, sizeof tensor.dtype) != 0) {
        if (!dl_find_dtype(tensor.dtype, &self->similar_dtype))
            return 0;
        self->similar = tensor.dtype;
    }
    const int lazy =
        self->from->signs_matter
            ? py_tensor_has_lazy_sign(self->state, object, gr_dtype_is_complex(self->similar_dtype))
            : 0;
    if (lazy != 0)
        return lazy < 0 ? -1 : 0;
    add_dtype(list, i, self->similar_dtype);
    if (count > 0)
        add_row(self, i, self->similar_dtype, (uintptr_t)tensor.data + tensor.byte_offset, count);
    return 1;
}

/* Appends the row of an array. As parse_list. */
static int add_item(builder *self, size_t i, const py_operand *item) {
    py_array_list *list = self->list;
    if (!item->on_device || item->source.host != NULL)
        return 0;
    if (i == 0)
        take_device(list, item);
    if (item->kind != list->kind || item->index != list->index)
        return PY_RAISE(PyExc_ValueError, "arrays[%zu]: is not on the device of arrays[0]", i);
    const uint64_t count = py_operand_count(item, NULL);
    add_dtype(list, i, item->dtype);
    set_first(&list->first_ro, i, item->read_only);
    if (count == 0)
        return 1;
    if (!py_operand_is_contiguous(item, true)) {
        set_first(&list->first_order, i, true);
        if (!is_dense(item))
            return 0;
    }
    if (!add_stream(list, item->stream))
        return 0;
    add_row(self, i, item->dtype, item->source.origin, count);
    return 1;
}

/* Describes an array, or a view given as a tuple. As parse_list. The elements of a tensor with a
   negative or conjugate bit are not those in its memory. Such a tensor has no gaps only if it has one
   element, and norms do not depend on signs. */
static int describe(const builder *self, PyObject *object, py_borrowing *borrowing, py_operand *item) {
    const py_list_source *from = self->from;
    if (!PyTuple_Check(object) || from->view_device == NULL) {
        const int borrowed = py_operand_borrow(self->state, object, borrowing, item);
        if (borrowed == 0)
            return py_operand_from_object(self->state, object, PY_NO_COPY, GR_SCOPE_GENERAL, "arrays", item);
        const int lazy = borrowed < 0 || !from->signs_matter || py_array_check(self->state, object)
                             ? 0
                             : py_tensor_has_lazy_sign(self->state, object, gr_dtype_is_complex(item->dtype));
        return lazy != 0 ? (lazy < 0 ? -1 : 0) : borrowed;
    }
    if (py_operand_from_object(self->state, object, PY_NATIVE, GR_SCOPE_GENERAL, "arrays", item) < 0)
        return -1;
    const gr_device_info *info = &from->view_device->backend->info;
    item->on_device = true;
    item->kind = info->kind;
    item->index = info->index;
    item->stream = from->view_stream;
    item->read_only = false;
    return 1;
}

/* Sorts the rows by dtype. -1 with an exception set. */
static int sort_rows(const builder *self) {
    py_array_list *list = self->list;
    gr_multi_array *sorted = PyMem_Malloc(list->count * sizeof list->rows[0]);
    size_t next = 0;
    if (sorted == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (gr_dtype dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype)
        for (size_t i = 0; (self->dtype_set >> dtype & 1) != 0 && i < list->row_count; ++i)
            if (self->dtypes[i] == dtype)
                sorted[next++] = list->rows[i];
    PyMem_Free(list->rows);
    list->rows = sorted;
    return 0;
}

/* Makes a group of rows for each dtype. -1 with an exception set. */
static int group_rows(const builder *self) {
    py_array_list *list = self->list;
    size_t counts[GR_DTYPE_COUNT] = {0}, first = 0;
    if ((self->dtype_set & (self->dtype_set - 1)) != 0 && sort_rows(self) < 0)
        return -1;
    for (size_t i = 0; i < list->row_count; ++i)
        ++counts[self->dtypes[i]];
    for (gr_dtype dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype) {
        if (counts[dtype] == 0)
            continue;
        gr_multi_group *group = &list->groups[list->group_count++];
        *group = (gr_multi_group){.dtype = dtype, .first = first, .arrays = counts[dtype]};
        gr_multi_divide(group, list->rows + first);
        first += counts[dtype];
    }
    return 0;
}

static void drop_views(py_array_list *self) {
    PyMem_Free(self->views);
    self->views = NULL;
}

static int add_all(builder *self, PyObject *arrays) {
    py_borrowing borrowing = {.type = NULL};
    for (size_t i = 0; i < self->list->count; ++i) {
        PyObject *const object = PyTuple_GET_ITEM(arrays, (Py_ssize_t)i);
        int parsed = add_similar(self, i, object, &borrowing);
        if (parsed < 0)
            return -1;
        if (parsed > 0)
            continue;
        py_operand item;
        py_operand_init(&item);
        parsed = describe(self, object, &borrowing, &item);
        if (parsed > 0)
            parsed = add_item(self, i, &item);
        py_operand_release(&item);
        if (parsed <= 0)
            return parsed;
        if (i == 0)
            begin_views(self, object);
    }
    if (self->view_count < self->list->count)
        drop_views(self->list);
    return group_rows(self) < 0 ? -1 : 1;
}

/* Describes the arrays of a tuple, as py_array_list_get. Always call release_list afterwards. */
static int parse_list(py_state *state, PyObject *arrays, const py_list_source *from, py_array_list *out) {
    const size_t count = (size_t)PyTuple_GET_SIZE(arrays);
    *out = (py_array_list){
        .count = count, .first_other = SIZE_MAX, .first_order = SIZE_MAX, .first_ro = SIZE_MAX};
    if (count == 0)
        return PY_RAISE(PyExc_ValueError, "arrays: expected at least one array");
    builder self = {.state = state, .from = from, .list = out};
    int parsed = -1;
    out->rows = PyMem_Malloc(count * sizeof out->rows[0]);
    self.dtypes = PyMem_Malloc(count);
    if (out->rows == NULL || self.dtypes == NULL)
        PyErr_NoMemory();
    else
        parsed = add_all(&self, arrays);
    PyMem_Free(self.dtypes);
    return parsed;
}

static void release_list(py_array_list *self) {
    PyMem_Free(self->rows);
    drop_views(self);
}

void py_array_list_first(const py_array_list *self, py_operand *out) {
    py_operand_init(out);
    out->on_device = true;
    out->kind = self->kind;
    out->index = self->index;
    out->stream = self->stream;
    out->stream_owner = self->stream_owner;
    out->stream_persists = self->stream_persists;
    out->source = (gr_source){.host = NULL};
}

/* ---- capsules ---- */

const py_array_list *py_array_list_of_capsule(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, CAPSULE);
}

static void free_capsule(PyObject *capsule) {
    py_array_list *self = PyCapsule_GetPointer(capsule, CAPSULE);
    release_list(self);
    PyMem_Free(self);
}

/* Makes a new list. As py_array_list_get. */
static int make_list(py_state *state, PyObject *arrays, const py_list_source *from, PyObject **out) {
    PyObject *tuple = PySequence_Tuple(arrays);
    py_array_list *self = tuple == NULL ? NULL : PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        if (tuple != NULL)
            PyErr_NoMemory();
        Py_XDECREF(tuple);
        return -1;
    }
    const int parsed = parse_list(state, tuple, from, self);
    Py_DECREF(tuple);
    *out = parsed > 0 ? PyCapsule_New(self, CAPSULE, free_capsule) : NULL;
    if (*out != NULL)
        return 1;
    release_list(self);
    PyMem_Free(self);
    return parsed == 0 ? 0 : -1;
}

/* Whether the first array, which decides on the stream, is where the list has it. */
static bool is_first_of(const py_array_list *self, py_state *state, PyObject *first,
                        const py_list_source *from) {
    const builder described_by = {.state = state, .from = from};
    py_borrowing borrowing = {.type = NULL};
    py_operand item;
    py_operand_init(&item);
    const int parsed = describe(&described_by, first, &borrowing, &item);
    const bool found = parsed > 0 && item.on_device && item.kind == self->kind && item.index == self->index &&
                       item.stream == self->stream && item.stream_owner == NULL;
    py_operand_release(&item);
    PyErr_Clear();
    return found;
}

/* Whether the arrays would make the same list. Only the last condition may run code of Python, which may
   change a list of Python. */
static bool is_list_of(const py_array_list *self, py_state *state, PyObject *arrays,
                       const py_list_source *from) {
    if (self->views == NULL || self->count != (size_t)PySequence_Fast_GET_SIZE(arrays))
        return false;
    PyObject *const *objects = PySequence_Fast_ITEMS(arrays);
    const torch_views views = torch_views_get();
    if (!PyType_IsSubtype(Py_TYPE(objects[0]), views.type) ||
        (from->signs_matter && views.shim->is_negative == NULL))
        return false;
    for (size_t i = 0; i < self->count; ++i)
        if (Py_TYPE(objects[i]) != self->view_type ||
            !torch_view_is_current(&views, objects[i], &self->views[i]) ||
            (from->signs_matter && torch_view_has_lazy_sign(&views, &self->views[i]) != 0))
            return false;
    return is_first_of(self, state, objects[0], from);
}

static void put_list(_Atomic(PyObject *) *entry, PyObject *capsule) {
    Py_XDECREF(atomic_exchange(entry, capsule));
}

/* Returns one of the last lists that has these arrays; NULL: there is none. */
static PyObject *find_list(py_state *state, PyObject *arrays, const py_list_source *from) {
    for (size_t i = 0; i < PY_LAST_LISTS; ++i) {
        PyObject *capsule = atomic_exchange(&state->last_lists[i], NULL);
        if (capsule == NULL)
            continue;
        bool is_found;
        Py_BEGIN_CRITICAL_SECTION(arrays);
        is_found = is_list_of(py_array_list_of_capsule(capsule), state, arrays, from);
        Py_END_CRITICAL_SECTION();
        PyObject *found = is_found ? Py_NewRef(capsule) : NULL;
        put_list(&state->last_lists[i], capsule);
        if (found != NULL)
            return found;
    }
    return NULL;
}

int py_array_list_get(py_state *state, PyObject *arrays, const py_list_source *from, PyObject **out) {
    *out = from->view_device == NULL ? find_list(state, arrays, from) : NULL;
    if (*out != NULL)
        return 1;
    const int made = make_list(state, arrays, from, out);
    if (made > 0 && py_array_list_of_capsule(*out)->views != NULL)
        put_list(&state->last_lists[atomic_fetch_add(&state->next_list, 1) % PY_LAST_LISTS], Py_NewRef(*out));
    return made;
}

void py_array_lists_clear(py_state *state) {
    for (size_t i = 0; i < PY_LAST_LISTS; ++i)
        put_list(&state->last_lists[i], NULL);
}

/* Returns a capsule with the description of a tuple or list of arrays, which the caller keeps alive;
   NotImplemented if Python has to convert an array. Unless `signs_matter`, it is for norms and scaling alone.
 */
PyObject *py_multi_list(PyObject *module, PyObject *args) {
    PyObject *arrays, *capsule;
    int signs_matter;
    if (!PyArg_ParseTuple(args, "Op", &arrays, &signs_matter))
        return NULL;
    if (!PyTuple_Check(arrays) && !PyList_Check(arrays))
        return PyErr_Format(PyExc_TypeError, "arrays: expected a tuple or a list");
    const int found = py_array_list_get(PyModule_GetState(module), arrays,
                                        &(py_list_source){.signs_matter = signs_matter}, &capsule);
    return found == 0 ? Py_NewRef(Py_NotImplemented) : capsule;
}

/* Returns the name of the dtype of results: that of all arrays, else float64 if any array has it, else
 * float32.
 */
PyObject *py_multi_dtype(PyObject *Py_UNUSED(module), PyObject *capsule) {
    const py_array_list *list = py_array_list_of_capsule(capsule);
    return list == NULL ? NULL : PyUnicode_FromString(gr_dtypes[list->dtype].numpy_name);
}
