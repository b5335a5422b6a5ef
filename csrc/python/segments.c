/* Segmented reductions along one axis: each segment is a range of elements given by two offsets, in place or
   through a permutation (row numbers) for reductions by group. The fast paths of segment_reduce, reduceat and
   group_reduce, and the entry behind the Python fallback, share the conversion of the elements and the shape
   of the result. */
#include "segments/segments.h"

#include <string.h>

#include "device/tables.h"
#include "groups/groups.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"

enum { ELEMENTS, OFFSETS };

typedef struct segments_call {
    py_job job;
    gr_segments segments;
    gr_groups groups;
    gr_groups_path path;
    bool states;   /* the result is states of exact sums */
    bool by_label; /* `groups` is the request, whose second input is labels; else `segments` */
    size_t axis;
    PyObject *cut; /* of a fast path: offsets, then the permutation, or labels; a new reference or NULL */
    PyObject
        *labels; /* of a fast path: labels on the device, of which the cut is to be made; borrowed, or NULL */
} segments_call;

static void init(segments_call *self, py_state *state) {
    py_job_init(&self->job, state);
    self->job.as_array = true;
    self->segments.permuted_rows = 0;
    self->segments.ddof = 0;
    self->segments.path = GR_SEGMENTS_ANY;
    self->cut = self->labels = NULL;
    self->path = GR_GROUPS_ANY;
    self->states = false;
    self->by_label = false;
}

static void release(segments_call *self) {
    py_job_release(&self->job);
    Py_CLEAR(self->cut);
}

static bool merge_axes(segments_call *self) {
    const py_operand *source = &self->job.inputs[ELEMENTS];
    gr_segments *segments = &self->segments;
    segments->length = source->extent[self->axis];
    segments->along_stride = source->stride[self->axis];
    return py_operand_merge(source, 0, self->axis, &segments->lines, &segments->line_stride) &&
           py_operand_merge(source, self->axis + 1, source->ndim, &segments->inner, &segments->inner_stride);
}

/* Converts the elements. 1: converted; 0: PY_NO_COPY is not enough; -1 with an exception set. */
static int take_elements(segments_call *self, PyObject *a, py_conversion conversion) {
    py_operand *source = &self->job.inputs[ELEMENTS];
    const int taken = py_operand_from_object(self->job.state, a, conversion, GR_SCOPE_GENERAL, "a", source);
    if (taken <= 0 || py_operand_ensure_element_strides(source) < 0)
        return taken > 0 ? -1 : taken;
    self->segments.dtype = source->dtype;
    return 1;
}

/* Splits the elements by the axis, and infers the result but for the number of segments. 1: done; 0: the
   strides of a device array do not fit; -1 with an exception set. */
static int split_elements(segments_call *self) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[ELEMENTS];
    if (!merge_axes(self)) {
        if (source->owner == NULL)
            return 0;
        if (py_operand_make_contiguous(source) < 0 || !merge_axes(self))
            return -1;
    }
    self->segments.empty_result = gr_segments_empty_result(self->segments.op, source->dtype);
    job->dtype = gr_op_result(self->segments.op, source->dtype);
    job->ndim = source->ndim;
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
    return 1;
}

/* Sets the number of segments. -1 with an exception set. */
static int set_segments(segments_call *self, uint64_t segments) {
    self->segments.segments = self->job.extent[self->axis] = segments;
    return py_job_set_c_strides(&self->job)
               ? 0
               : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

/* Whether the second input is offsets, one more than segments, then `permuted_rows` row numbers (0: elements
   are in order). */
static bool are_offsets(const segments_call *self) {
    const py_operand *offsets = &self->job.inputs[OFFSETS];
    return offsets->dtype == GR_DTYPE_i64 && offsets->ndim == 1 && py_operand_is_contiguous(offsets, true) &&
           offsets->extent[0] > self->segments.permuted_rows;
}

/* Whether offsets or labels in host memory are copied to a table on the device: then the call waits for no
   other work, and a graph can read them. */
static bool needs_table(const segments_call *self, const gr_binding *binding) {
    enum { MAX_TABLE_BYTES = 1 << 20 };
    const gr_source *cut = &binding->inputs[OFFSETS];
    return self->job.input_count == 2 && binding->inputs[ELEMENTS].host == NULL &&
           binding->host_out == NULL && cut->host != NULL && cut->bytes > 0 && cut->bytes <= MAX_TABLE_BYTES;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const segments_call *self = arg;
    gr_tables *tables = self->job.state->tables;
    gr_binding bound = *binding;
    gr_table *table = NULL;
    gr_status status = GR_OK;
    if (needs_table(self, binding)) {
        const gr_source *cut = &binding->inputs[OFFSETS];
        gr_stream_state state = {.capture = 0};
        status = gr_stream_get_state(device, binding->stream, &state, error);
        if (status == GR_OK)
            status =
                gr_table_acquire(tables, device, cut->host, cut->bytes, state.capture != 0, &table, error);
        if (status != GR_OK)
            return status;
        bound.inputs[OFFSETS] = (gr_source){.host = NULL, .origin = gr_table_address(table) + cut->origin};
    }
    status = self->by_label ? gr_groups_run(device, &self->groups, &bound, interrupt, error)
                            : gr_segments_run(device, &self->segments, &bound, interrupt, error);
    gr_table_release(tables, table);
    return status;
}

/* Makes a request for exact group sums, if there are kernels for it, once the elements are split. */
static bool take_groups(segments_call *self, gr_dtype label_dtype, int64_t label_stride, uint64_t groups) {
    const gr_segments *segments = &self->segments;
    self->groups = (gr_groups){
        .op = segments->op,
        .dtype = segments->dtype,
        .label_dtype = label_dtype,
        .lines = segments->lines,
        .length = segments->length,
        .inner = segments->inner,
        .line_stride = segments->line_stride,
        .along_stride = segments->along_stride,
        .inner_stride = segments->inner_stride,
        .label_stride = label_stride,
        .aligned = self->job.inputs[ELEMENTS].source.origin % 16 == 0,
        .groups = groups,
        .empty_result = segments->empty_result,
        .path = self->path,
        .states = self->states,
    };
    return self->by_label = gr_groups_take(&self->groups);
}

/* ---- the fast path ---- */

/* Makes the segments of the arguments, once the elements are parsed, `length` rows along the axis. 1: made;
   0: fall back to Python; -1 with an exception set. */
typedef int cutter(segments_call *self, const py_arguments arguments, uint64_t length);

static const int64_t *integers_of(PyObject *array) {
    return PyArray_DATA((PyArrayObject *)array);
}

/* Allocates the cut on the host. -1 with an exception set. */
static int allocate_cut(segments_call *self, uint64_t count) {
    npy_intp length = (npy_intp)count;
    self->cut = PyArray_SimpleNew(1, &length, NPY_INT64);
    return self->cut == NULL ? -1 : 1;
}

/* The offsets of segment_reduce, on the host or on the device. */
static int cut_by_offsets(segments_call *self, const py_arguments arguments, uint64_t length) {
    py_operand *operand = &self->job.inputs[OFFSETS];
    PyObject *const offsets = arguments[PY_NAME_offsets];
    int taken = py_host_integers(offsets, &self->cut);
    if (taken > 0) {
        const int64_t *values = integers_of(self->cut);
        const npy_intp count = PyArray_SIZE((PyArrayObject *)self->cut);
        bool ascends = count > 0 && values[0] >= 0 && (uint64_t)values[count - 1] <= length;
        for (npy_intp i = 1; ascends && i < count; ++i)
            ascends = values[i - 1] <= values[i];
        return !ascends ? 0 : set_segments(self, (uint64_t)count - 1) == 0 ? 1 : -1;
    }
    if (taken == 0 && self->job.inputs[ELEMENTS].on_device && !PyArray_Check(offsets))
        taken = py_operand_from_object(self->job.state, offsets, self->job.conversion, GR_SCOPE_GENERAL,
                                       "offsets", operand);
    if (taken <= 0)
        return taken;
    self->job.input_count = 2;
    if (py_job_is_on_other_device(&self->job, operand) || !are_offsets(self))
        return 0;
    return set_segments(self, operand->extent[0] - 1) == 0 ? 1 : -1;
}

/* The indices of reduceat, if they ascend. */
static int cut_by_indices(segments_call *self, const py_arguments arguments, uint64_t length) {
    PyObject *indices;
    int taken = py_host_integers(arguments[PY_NAME_indices], &indices);
    if (taken <= 0)
        return taken;
    const int64_t *values = integers_of(indices);
    const npy_intp count = PyArray_SIZE((PyArrayObject *)indices);
    bool ascends = count > 0 && values[0] >= 0 && (uint64_t)values[count - 1] < length;
    for (npy_intp i = 1; ascends && i < count; ++i)
        ascends = values[i - 1] < values[i];
    taken = ascends ? allocate_cut(self, (uint64_t)count + 1) : 0;
    if (taken > 0) {
        int64_t *offsets = PyArray_DATA((PyArrayObject *)self->cut);
        memcpy(offsets, values, (size_t)count * sizeof *values);
        offsets[count] = (int64_t)length;
        taken = set_segments(self, (uint64_t)count) == 0 ? 1 : -1;
    }
    Py_DECREF(indices);
    return taken;
}

/* The bin of a label: 0 for rows of no group, else one more than the group. */
static int64_t bin_of(int64_t label) {
    return label < 0 ? 0 : label + 1;
}

/* Sorts row numbers by the labels of the rows (stable counting sort): offsets of the groups, then the rows,
   those of no group first; without the rows if the labels ascend. 1: made; -1 with an exception set. */
static int sort_labels(segments_call *self, const int64_t *labels, uint64_t rows, uint64_t groups) {
    bool ascends = true;
    for (uint64_t i = 1; ascends && i < rows; ++i)
        ascends = bin_of(labels[i - 1]) <= bin_of(labels[i]);
    self->segments.permuted_rows = ascends ? 0 : rows;
    if (allocate_cut(self, groups + 1 + self->segments.permuted_rows) < 0)
        return -1;
    int64_t *offsets = PyArray_DATA((PyArrayObject *)self->cut), *order = offsets + groups + 1;
    memset(offsets, 0, (size_t)(groups + 1) * sizeof *offsets);
    for (uint64_t i = 0; i < rows; ++i)
        ++offsets[bin_of(labels[i])];
    for (uint64_t g = 1; g <= groups; ++g) /* the end of each bin */
        offsets[g] += offsets[g - 1];
    if (ascends)
        return 1;
    for (uint64_t i = rows; i-- > 0;) /* from the end of each bin to its start */
        order[--offsets[bin_of(labels[i])]] = (int64_t)i;
    memmove(offsets, offsets + 1, (size_t)groups * sizeof *offsets);
    offsets[groups] = (int64_t)rows;
    return 1;
}

/* Parses `num_groups`, which need not be given with labels of the host. False: fall back to Python. */
static bool parse_group_count(PyObject *value, const int64_t *labels, uint64_t rows, uint64_t *groups) {
    enum { MAX_EMPTY_GROUPS = 1 << 24 }; /* with more, Python checks the memory */
    int64_t largest = -1;
    int overflow = 0;
    for (uint64_t i = 0; labels != NULL && i < rows; ++i)
        largest = labels[i] > largest ? labels[i] : largest;
    *groups = (uint64_t)largest + 1;
    if (!py_is_none(value)) {
        const long long given =
            PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
        if (given <= largest)
            return false;
        *groups = (uint64_t)given;
    }
    return overflow == 0 && *groups > 0 && *groups <= rows + MAX_EMPTY_GROUPS;
}

/* Whether labels are integers, one per row. */
static bool are_labels(const py_operand *labels, uint64_t rows) {
    return labels->ndim == 1 && labels->extent[0] == rows && gr_dtypes[labels->dtype].kind == GR_KIND_BITS &&
           labels->dtype != GR_DTYPE_b8;
}

/* Labels on the device of the elements: of exact sums they are an input, else they are to be put in order. */
static int cut_by_device_labels(segments_call *self, PyObject *object, PyObject *count, uint64_t length,
                                uint64_t *groups) {
    py_job *job = &self->job;
    py_operand *labels = &job->inputs[OFFSETS];
    if (object == NULL || PyArray_Check(object) || py_is_none(count) || !job->inputs[ELEMENTS].on_device ||
        !parse_group_count(count, NULL, length, groups) ||
        (*groups > length ? *groups : length) >= UINT32_MAX)
        return 0;
    const int taken =
        py_operand_from_object(job->state, object, job->conversion, GR_SCOPE_GENERAL, "labels", labels);
    if (taken <= 0)
        return taken;
    job->input_count = 2;
    if (py_job_is_on_other_device(job, labels) || !are_labels(labels, length))
        return 0;
    if (!take_groups(self, labels->dtype, labels->stride[0], *groups)) {
        py_operand_release(labels);
        py_operand_init(labels);
        job->input_count = 1;
        self->labels = object;
        self->segments.permuted_rows = length;
    }
    return 1;
}

/* The labels of group_reduce, on the host or on the device. */
static int cut_by_labels(segments_call *self, const py_arguments arguments, uint64_t length) {
    enum { MAX_HOST_LABELS = 1 << 15 }; /* a GPU sorts more of them faster */
    py_job *job = &self->job;
    PyObject *const object = arguments[PY_NAME_labels], *const count = arguments[PY_NAME_num_groups];
    PyObject *labels = NULL;
    uint64_t groups = 0;
    int taken = py_host_integers(object, &labels);
    if (taken > 0) {
        const int64_t *values = integers_of(labels);
        const bool sorts = length < MAX_HOST_LABELS || job->device->backend->info.kind == GR_DEVICE_SIM;
        if ((uint64_t)PyArray_SIZE((PyArrayObject *)labels) != length ||
            !parse_group_count(count, values, length, &groups))
            taken = 0;
        else if (take_groups(self, GR_DTYPE_i64, sizeof *values, groups))
            self->cut = Py_NewRef(labels);
        else
            taken = sorts ? sort_labels(self, values, length, groups) : 0;
        Py_DECREF(labels);
    } else if (taken == 0) {
        taken = cut_by_device_labels(self, object, count, length, &groups);
    }
    return taken > 0 && set_segments(self, groups) < 0 ? -1 : taken;
}

/* Parses `ddof=`, which only variances have. False: fall back to Python. */
static bool parse_ddof(PyObject *value, gr_segments *segments) {
    if (value != NULL && PyFloat_CheckExact(value))
        segments->ddof = PyFloat_AS_DOUBLE(value);
    else if (value != NULL && PyLong_CheckExact(value))
        segments->ddof = PyLong_AsDouble(value);
    else if (value != NULL)
        return false;
    PyErr_Clear(); /* an integer beyond a double is -1.0 here */
    return gr_op_is_variance(segments->op) ? segments->ddof >= 0 : segments->ddof == 0;
}

static bool parse_op(PyObject *value, gr_segments *segments) {
    const char *name = value == NULL ? "sum" : py_text_of(value);
    return name != NULL && gr_op_find(name, &segments->op) && gr_segments_take(segments->op, segments->dtype);
}

/* Parses `exact=`; sums and means of floating-point numbers are exact anyway. False: fall back to Python,
   which reports integers that do not fit. */
static bool parse_exact(PyObject *value, const gr_segments *segments) {
    return value == NULL || value == Py_False ||
           (value == Py_True && (segments->op == GR_OP_sum || segments->op == GR_OP_mean) &&
            gr_dtypes[segments->dtype].kind != GR_KIND_BITS);
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(segments_call *self, const py_arguments arguments, cutter *cut) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[ELEMENTS];
    PyObject *const axis = arguments[PY_NAME_axis];
    if (!py_is_none(arguments[PY_NAME_dtype]) || arguments[PY_NAME_variant] != NULL ||
        (arguments[PY_NAME_where] != NULL && arguments[PY_NAME_where] != Py_True) ||
        !py_is_none(arguments[PY_NAME_weights]) || !py_is_none(arguments[PY_NAME_q]))
        return 0;
    int parsed = take_elements(self, arguments[PY_NAME_a], job->conversion);
    self->axis = 0;
    if (parsed > 0 &&
        (source->ndim == 0 || (axis != NULL && !py_parse_axis(axis, source->ndim, &self->axis)) ||
         !parse_op(arguments[PY_NAME_op], &self->segments) ||
         !parse_exact(arguments[PY_NAME_exact], &self->segments) ||
         !parse_ddof(arguments[PY_NAME_ddof], &self->segments)))
        return 0;
    if (parsed > 0)
        parsed = split_elements(self);
    if (parsed > 0)
        parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    if (parsed > 0)
        parsed = cut(self, arguments, self->segments.length);
    if (parsed > 0)
        parsed = py_job_parse_out_and_stream(job, arguments, source->on_device);
    if (parsed <= 0)
        return parsed;
    job->check_nonfinite =
        gr_ops[self->segments.op].result == GR_RESULT_SUM && gr_dtypes[source->dtype].kind != GR_KIND_BITS;
    return py_job_out_overlaps(job) || py_job_is_empty(job) ? 0 : 1;
}

/* Makes the cut of labels on the device, and the operand of every cut. -1 with an exception set. */
static int bind_cut(segments_call *self) {
    py_job *job = &self->job;
    if (self->labels != NULL)
        self->cut = py_labels_to_segments(job, self->labels, (Py_ssize_t)self->segments.segments);
    if (self->cut == NULL)
        return self->labels != NULL ? -1 : 1;
    job->input_count = 2;
    return py_operand_from_object(job->state, self->cut, PY_NATIVE, GR_SCOPE_GENERAL, "offsets",
                                  &job->inputs[OFFSETS]);
}

/* Lets Python report a result with an infinity or NaN. Steals the reference to the result. */
static PyObject *report_nonfinite(const py_signature *signature, const segments_call *self,
                                  const py_arguments arguments, PyObject *result) {
    const gr_device_info *info = &self->job.device->backend->info;
    PyObject *const cut = self->cut != NULL ? self->cut
                          : self->by_label  ? arguments[PY_NAME_labels]
                                            : arguments[PY_NAME_offsets];
    const Py_ssize_t permuted_rows = self->by_label ? -1 : (Py_ssize_t)self->segments.permuted_rows;
    return py_reported(result,
                       PyObject_CallFunction(signature->report, "OOsnOnii", result, arguments[PY_NAME_a],
                                             gr_ops[self->segments.op].name, (Py_ssize_t)self->axis, cut,
                                             permuted_rows, (int)info->kind, info->index));
}

static PyObject *run_fast(const py_signature *signature, const py_arguments arguments, cutter *cut) {
    segments_call self;
    init(&self, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    py_job_accept_jax(&self.job);
    int parsed = parse_arguments(&self, arguments, cut);
    if (parsed > 0)
        parsed = bind_cut(&self);
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (self.by_label && parsed > 0)
        result = py_job_fall_back_without_memory(result);
    if (result != NULL && parsed > 0 && self.job.has_nonfinite && signature->report != Py_None)
        result = report_nonfinite(signature, &self, arguments, result);
    release(&self);
    return result;
}

PyObject *py_fast_segments(const py_signature *signature, const py_arguments arguments) {
    static cutter *const cutters[] = {
        [PY_BY_OFFSETS] = cut_by_offsets, [PY_BY_INDICES] = cut_by_indices, [PY_BY_LABELS] = cut_by_labels};
    return run_fast(signature, arguments, cutters[signature->parameter]);
}

/* ---- behind the Python fallback ---- */

/* Parses the elements, the operator and the axis. -1 with an exception set. */
static int parse_elements(segments_call *self, PyObject *a, PyObject *op, Py_ssize_t axis) {
    const py_operand *source = &self->job.inputs[ELEMENTS];
    if (py_find_op(op, &self->segments.op) < 0 || take_elements(self, a, PY_NATIVE) < 0)
        return -1;
    if (!gr_segments_take(self->segments.op, source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: segments of %s have no %s", gr_dtypes[source->dtype].numpy_name,
                        gr_ops[self->segments.op].name);
    if (axis < 0 || (size_t)axis >= source->ndim)
        return PY_RAISE(PyExc_ValueError, "axis: expected one of %zu", source->ndim);
    self->axis = (size_t)axis;
    const int split = split_elements(self);
    return split != 0 ? split
                      : PY_RAISE(PyExc_ValueError, "a: a device array with such strides cannot be cut "
                                                   "into segments; copy it to C order first");
}

static int parse_offsets(segments_call *self, PyObject *value, Py_ssize_t permuted_rows) {
    py_operand *offsets = &self->job.inputs[OFFSETS];
    if (py_operand_from_object(self->job.state, value, PY_NATIVE, GR_SCOPE_GENERAL, "offsets", offsets) < 0)
        return -1;
    self->job.input_count = 2;
    self->segments.permuted_rows = (uint64_t)permuted_rows;
    if (permuted_rows < 0 || !are_offsets(self))
        return PY_RAISE(PyExc_ValueError, "offsets: expected int64 side by side, one more than segments");
    return set_segments(self, offsets->extent[0] - (uint64_t)permuted_rows - 1);
}

PyObject *py_segments(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"a",    "op",          "axis", "offsets", "permuted_rows",
                            "ddof", "destination", "path", NULL};
    PyObject *a, *op, *offsets, *destination, *result = NULL;
    Py_ssize_t axis, permuted_rows;
    int path = GR_SEGMENTS_ANY;
    segments_call self;
    init(&self, PyModule_GetState(module));
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOnOndO|i", names, &a, &op, &axis, &offsets,
                                     &permuted_rows, &self.segments.ddof, &destination, &path))
        return NULL;
    if (path < 0 || path >= GR_SEGMENTS_PATHS)
        return PyErr_Format(PyExc_ValueError, "path: expected 0 to %d, got %d", GR_SEGMENTS_PATHS - 1, path);
    self.segments.path = (gr_segments_path)path;
    if (parse_elements(&self, a, op, axis) > 0 && parse_offsets(&self, offsets, permuted_rows) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0 && py_job_check_overlap(&self.job, "a") == 0)
        result = py_job_run(&self.job, work, &self);
    release(&self);
    return result;
}

static int parse_labels(segments_call *self, PyObject *value) {
    py_operand *labels = &self->job.inputs[OFFSETS];
    if (py_operand_from_object(self->job.state, value, PY_NATIVE, GR_SCOPE_GENERAL, "labels", labels) < 0)
        return -1;
    self->job.input_count = 2;
    if (!are_labels(labels, self->segments.length))
        return PY_RAISE(PyExc_ValueError, "labels: expected integers, one for each row");
    return 0;
}

/* Makes the result one of states: two more axes, of the components of an element and of the words. -1 with an
   exception set. */
static int set_states(segments_call *self) {
    py_job *job = &self->job;
    const gr_dtype dtype = self->segments.dtype;
    if (job->ndim + 2 > GR_MAX_NDIM)
        return PY_RAISE(PyExc_ValueError, "a: too many dimensions");
    job->dtype = GR_DTYPE_i64;
    job->extent[job->ndim++] = gr_dtype_is_complex(dtype) ? 2 : 1;
    job->extent[job->ndim++] = gr_groups_state_words(dtype);
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
}

PyObject *py_groups(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {
        "a", "op", "axis", "labels", "num_groups", "destination", "path", "partition_shift", "states", NULL};
    PyObject *a, *op, *labels, *destination, *result = NULL;
    Py_ssize_t axis, groups;
    int path = GR_GROUPS_ANY, states = 0;
    unsigned partition_shift = 0;
    segments_call self;
    init(&self, PyModule_GetState(module));
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOnOnO|iIp", names, &a, &op, &axis, &labels, &groups,
                                     &destination, &path, &partition_shift, &states) ||
        py_find_op(op, &self.segments.op) < 0)
        return NULL;
    if (path < 0 || path >= GR_GROUPS_PATHS)
        return PyErr_Format(PyExc_ValueError, "path: expected 0 to %d, got %d", GR_GROUPS_PATHS - 1, path);
    self.path = (gr_groups_path)path;
    self.states = states != 0;
    if (!gr_groups_have(self.segments.op))
        return Py_NewRef(Py_NotImplemented);
    if (parse_elements(&self, a, op, axis) > 0 && parse_labels(&self, labels) == 0 &&
        set_segments(&self, (uint64_t)groups) == 0) {
        const py_operand *source = &self.job.inputs[OFFSETS];
        if (!take_groups(&self, source->dtype, source->stride[0], (uint64_t)groups))
            result = Py_NewRef(Py_NotImplemented);
        else if ((!self.states || set_states(&self) == 0) &&
                 py_job_parse_destination(&self.job, destination) == 0 &&
                 py_job_check_overlap(&self.job, "a") == 0) {
            self.groups.partition_shift = partition_shift;
            result = py_job_run(&self.job, work, &self);
        }
    }
    release(&self);
    return result;
}

PyObject *py_segment_coverage(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored)) {
    PyObject *list = PyList_New(0);
    for (int op = 0; list != NULL && op < GR_OP_COUNT; ++op)
        for (int dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype)
            if (gr_segments_take((gr_op)op, (gr_dtype)dtype))
                py_append(&list, Py_BuildValue("(ss)", gr_ops[op].name, gr_dtypes[dtype].numpy_name));
    return list;
}
