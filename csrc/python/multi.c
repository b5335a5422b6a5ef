/* Reductions of a list of arrays (gpureduce.multi): converts the arrays to a table, and runs the program.
   Python code converts arrays that need more than a look at their memory. */
#include "multi/multi.h"

#include <string.h>

#include "multi/table.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

enum { MAX_STREAMS = 32 };

typedef struct multi_call {
    py_job job;
    gr_multi multi;
    gr_multi_tables *tables;
    gr_device *view_device; /* device of arrays that are given as views */
    bool has_dtype;
    size_t count;          /* arrays of the list */
    gr_multi_array *rows;  /* of arrays with elements */
    unsigned char *dtypes; /* of the rows */
    uint32_t dtype_set;    /* a bit for each dtype of the rows */
    size_t row_count;
    uint64_t position;
    size_t stream_count;
    gr_stream streams[MAX_STREAMS]; /* streams of the arrays, but that of the call */
} multi_call;

/* ---- arrays ---- */

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

/* Remembers the stream of an array. False if there are too many. */
static bool add_stream(multi_call *self, gr_stream stream) {
    if (stream == self->job.inputs[0].stream)
        return true;
    for (size_t i = 0; i < self->stream_count; ++i)
        if (self->streams[i] == stream)
            return true;
    if (self->stream_count == MAX_STREAMS)
        return false;
    self->streams[self->stream_count++] = stream;
    return true;
}

static int raise_for_item(Py_ssize_t i, PyObject *type, const char *message) {
    return PY_RAISE(type, "arrays[%zd]: %s", i, message);
}

static int check_item(const multi_call *self, Py_ssize_t i, const py_operand *item) {
    const py_operand *first = &self->job.inputs[0];
    if (item->kind != first->kind || item->index != first->index)
        return raise_for_item(i, PyExc_ValueError, "is not on the device of arrays[0]");
    if (!gr_multi_takes(self->multi.op, item->dtype))
        return raise_for_item(i, PyExc_TypeError, "expected real floating-point numbers");
    if (self->multi.op == GR_MULTI_SCALE && item->read_only)
        return raise_for_item(i, PyExc_ValueError, "is read-only");
    return 0;
}

/* Appends the row of an array. 1: appended; 0: Python has to convert the array; -1 with an exception set. */
static int add_item(multi_call *self, Py_ssize_t i, const py_operand *item) {
    if (!item->on_device || item->source.host != NULL)
        return 0;
    if (check_item(self, i, item) < 0)
        return -1;
    const uint64_t words = py_operand_count(item, NULL) * gr_multi_words(item->dtype);
    if (words > 0) {
        const bool usable =
            self->multi.op == GR_MULTI_FINGERPRINT ? py_operand_is_contiguous(item, true) : is_dense(item);
        if (!usable || !add_stream(self, item->stream))
            return 0;
        self->dtypes[self->row_count] = (unsigned char)item->dtype;
        self->dtype_set |= 1u << item->dtype;
        self->rows[self->row_count++] = (gr_multi_array){.address = item->source.origin,
                                                         .count = words,
                                                         .result = (uint64_t)i,
                                                         .position = self->multi.each ? 0 : self->position};
    }
    self->position += words;
    return 1;
}

/* The dtype of results: that of all arrays, else float64 if any array has it, else float32. */
static gr_dtype common_dtype(gr_dtype a, gr_dtype b) {
    return a == b ? a : a == GR_DTYPE_f64 || b == GR_DTYPE_f64 ? GR_DTYPE_f64 : GR_DTYPE_f32;
}

/* Describes an array, or a view given as a tuple, which is in `self->view_device`. As add_item. The elements
   of a tensor with a negative or conjugate bit are not those in its memory. Such a tensor has no gaps only if
   it has one element, and norms do not depend on signs. */
static int parse_item(multi_call *self, PyObject *object, py_borrowing *borrowing, py_operand *item) {
    const bool signs_matter = self->multi.op == GR_MULTI_SUM || self->multi.op == GR_MULTI_FINGERPRINT;
    if (!PyTuple_Check(object) || self->view_device == NULL) {
        const int borrowed = signs_matter ? 0 : py_operand_borrow(self->job.state, object, borrowing, item);
        return borrowed != 0 ? borrowed
                             : py_operand_from_object(self->job.state, object, PY_NO_COPY, GR_SCOPE_GENERAL,
                                                      "arrays", item);
    }
    if (py_operand_from_object(self->job.state, object, PY_NATIVE, GR_SCOPE_GENERAL, "arrays", item) < 0)
        return -1;
    const gr_device_info *info = &self->view_device->backend->info;
    item->on_device = true;
    item->kind = info->kind;
    item->index = info->index;
    item->stream = self->job.stream;
    item->read_only = false;
    return 1;
}

/* Converts all arrays of a tuple. As add_item. */
static int parse_arrays(multi_call *self, PyObject *arrays) {
    gr_dtype dtype = GR_DTYPE_f32;
    py_borrowing borrowing = {.type = NULL};
    for (size_t i = 0; i < self->count; ++i) {
        py_operand other;
        py_operand_init(&other);
        py_operand *item = i == 0 ? &self->job.inputs[0] : &other;
        int parsed = parse_item(self, PyTuple_GET_ITEM(arrays, (Py_ssize_t)i), &borrowing, item);
        if (parsed > 0)
            parsed = add_item(self, (Py_ssize_t)i, item);
        if (parsed > 0)
            dtype = i == 0 ? item->dtype : common_dtype(dtype, item->dtype);
        if (i > 0)
            py_operand_release(item);
        if (parsed <= 0)
            return parsed;
    }
    if (!self->has_dtype)
        self->multi.dtype = dtype;
    return 1;
}

/* Sorts the rows by dtype. -1 with an exception set. */
static int sort_rows(multi_call *self) {
    gr_multi_array *sorted = PyMem_Malloc(self->count * sizeof self->rows[0]);
    size_t next = 0;
    if (sorted == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (gr_dtype dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype)
        for (size_t i = 0; (self->dtype_set >> dtype & 1) != 0 && i < self->row_count; ++i)
            if (self->dtypes[i] == dtype)
                sorted[next++] = self->rows[i];
    PyMem_Free(self->rows);
    self->rows = sorted;
    return 0;
}

/* Makes a group of rows for each dtype. -1 with an exception set. */
static int group_rows(multi_call *self) {
    gr_multi *multi = &self->multi;
    size_t counts[GR_DTYPE_COUNT] = {0}, first = 0;
    if ((self->dtype_set & (self->dtype_set - 1)) != 0 && sort_rows(self) < 0)
        return -1;
    for (size_t i = 0; i < self->row_count; ++i)
        ++counts[self->dtypes[i]];
    for (gr_dtype dtype = 0; dtype < GR_DTYPE_COUNT; ++dtype) {
        if (counts[dtype] == 0)
            continue;
        gr_multi_group *group = &multi->groups[multi->group_count++];
        *group = (gr_multi_group){.dtype = dtype, .first = first, .arrays = counts[dtype]};
        gr_multi_divide(group, self->rows + first);
        first += counts[dtype];
    }
    return 0;
}

/* ---- the call ---- */

static gr_status order_streams(const multi_call *self, gr_device *device, bool after, gr_error *error) {
    const gr_stream own = self->job.stream;
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < self->stream_count; ++i)
        if (self->streams[i] != own)
            status = gr_stream_wait_for(device, after ? own : self->streams[i],
                                        after ? self->streams[i] : own, error);
    return status;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const multi_call *self = arg;
    gr_binding with_table = *binding;
    gr_multi_table *table = NULL;
    gr_stream_state state = {.capture = 0};
    gr_status status = order_streams(self, device, false, error);
    if (status == GR_OK)
        status = gr_stream_get_state(device, binding->stream, &state, error);
    if (status == GR_OK && self->row_count > 0)
        status = gr_multi_table_acquire(self->tables, device, self->rows, self->row_count, state.capture != 0,
                                        &table, error);
    if (status != GR_OK)
        return status;
    if (self->multi.op != GR_MULTI_NORM2_STATE)
        with_table.inputs[0] = (gr_source){.origin = table == NULL ? 0 : gr_multi_table_address(table)};
    status = gr_multi_run(device, &self->multi, &with_table, interrupt, error);
    gr_multi_table_release(self->tables, table);
    return status == GR_OK ? order_streams(self, device, true, error) : status;
}

/* Runs a call without a result. */
static PyObject *run_in_place(multi_call *self) {
    py_job *job = &self->job;
    gr_binding binding = {.stream = job->stream, .inputs = {[1] = job->inputs[1].source}};
    py_begin(&job->work);
    const gr_status status = py_job_execute(job, work, self, NULL, &binding, &job->work.error);
    if (py_end(job->state, &job->work, status) < 0)
        return NULL;
    py_count_run();
    Py_RETURN_NONE;
}

/* Describes the result, and parses a view of device memory to which it is written. */
static int set_result(multi_call *self, PyObject *out) {
    py_job *job = &self->job;
    gr_multi *multi = &self->multi;
    job->dtype = multi->dtype = multi->op == GR_MULTI_ALL_FINITE    ? GR_DTYPE_b8
                                : multi->op == GR_MULTI_FINGERPRINT ? GR_DTYPE_u64
                                : multi->op == GR_MULTI_SQUARES     ? GR_DTYPE_i64
                                                                    : multi->dtype;
    job->on_device = job->as_array = true;
    job->ndim = 0;
    if (multi->each)
        job->extent[job->ndim++] = self->count;
    if (multi->op == GR_MULTI_SQUARES)
        job->extent[job->ndim++] = GR_EXACT_WIDEST_WORDS;
    return py_job_parse_device_out(job, out);
}

static int find_op(const char *name, gr_multi_op *out) {
    for (int i = 0; i < GR_MULTI_OPS; ++i)
        if (strcmp(name, gr_multi_op_names[i]) == 0) {
            *out = (gr_multi_op)i;
            return 0;
        }
    return PY_RAISE(PyExc_ValueError, "op: unknown operation '%s'", name);
}

/* Parses the norm by which arrays are scaled. */
static int parse_norm(multi_call *self, PyObject *norm) {
    py_job *job = &self->job;
    py_operand *operand = &job->inputs[1];
    if (self->multi.op != GR_MULTI_SCALE)
        return 0;
    job->input_count = 2;
    if (py_operand_from_object(job->state, norm, PY_NATIVE, GR_SCOPE_GENERAL, "norm", operand) < 0)
        return -1;
    if (operand->source.host != NULL || py_operand_count(operand, NULL) != 1 ||
        (operand->dtype != GR_DTYPE_f32 && operand->dtype != GR_DTYPE_f64) ||
        (operand->on_device && py_job_is_on_other_device(job, operand)))
        return PY_RAISE(PyExc_ValueError, "norm: expected one float32 or float64 on the device of arrays[0]");
    self->multi.dtype = operand->dtype;
    return 0;
}

/* Parses states of NORM2_STATE, which is the one array. */
static int parse_states(multi_call *self) {
    const py_operand *states = &self->job.inputs[0];
    if (self->multi.op != GR_MULTI_NORM2_STATE)
        return 0;
    const uint64_t words = py_operand_count(states, NULL);
    if (states->source.host != NULL || !states->on_device || states->dtype != GR_DTYPE_i64 || words == 0 ||
        words % GR_EXACT_WIDEST_WORDS != 0 || !py_operand_is_contiguous(states, true))
        return PY_RAISE(PyExc_ValueError, "states: expected %d int64 words per state on a device",
                        GR_EXACT_WIDEST_WORDS);
    self->multi.count = words / GR_EXACT_WIDEST_WORDS;
    return 0;
}

/* Runs a call whose arrays are converted. */
static PyObject *run(multi_call *self, PyObject *stream, PyObject *norm, PyObject *out) {
    py_job *job = &self->job;
    if (py_open_device(job->state, job->inputs[0].kind, job->inputs[0].index, &job->device) < 0 ||
        py_job_parse_stream(job, stream) < 0 || parse_norm(self, norm) < 0 || parse_states(self) < 0)
        return NULL;
    if (self->multi.op != GR_MULTI_NORM2_STATE && group_rows(self) < 0)
        return NULL;
    if (self->multi.op == GR_MULTI_SCALE)
        return run_in_place(self);
    return set_result(self, out) < 0 ? NULL : py_job_run(job, work, self);
}

static int parse_list(multi_call *self, PyObject *arrays) {
    self->count = (size_t)PyTuple_GET_SIZE(arrays);
    self->multi.count = self->multi.each ? self->count : 1;
    if (self->count == 0)
        return PY_RAISE(PyExc_ValueError, "arrays: expected at least one array");
    if (self->multi.op == GR_MULTI_NORM2_STATE) {
        const int parsed = parse_item(self, PyTuple_GET_ITEM(arrays, 0), &(py_borrowing){.type = NULL},
                                      &self->job.inputs[0]);
        return parsed > 0 ? self->job.inputs[0].on_device : parsed;
    }
    self->rows = PyMem_Malloc(self->count * sizeof self->rows[0]);
    self->dtypes = PyMem_Malloc(self->count * sizeof self->dtypes[0]);
    if (self->rows == NULL || self->dtypes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return parse_arrays(self, arrays);
}

/* Parses the device of views: a tuple (kind, index). */
static int parse_place(multi_call *self, PyObject *place, PyObject *stream) {
    PyObject *kind, *index;
    if (place == Py_None)
        return 0;
    if (!PyTuple_Check(place))
        return PY_RAISE(PyExc_TypeError, "place: expected a tuple");
    return !PyArg_ParseTuple(place, "OO", &kind, &index) ||
                   py_parse_device(self->job.state, kind, index, &self->view_device) < 0
               ? -1
               : py_stream_argument(self->job.state, stream, &self->job.stream);
}

/* Returns a device array, None of an operation in place, or NotImplemented if Python has to convert arrays.
 */
PyObject *py_multi(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"arrays",   "op",  "each",  "dtype", "offset", "stream", "norm",
                            "max_norm", "eps", "place", "out",   "blocks", NULL};
    PyObject *arrays, *stream = Py_None, *norm = Py_None, *place = Py_None, *out = Py_None, *result = NULL;
    const char *op, *dtype = NULL;
    int each = 0;
    unsigned long long offset = 0;
    py_state *state = PyModule_GetState(module);
    multi_call self = {.tables = state->multi_tables};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!s|pzKOOddOOI", names, &PyTuple_Type, &arrays, &op, &each,
                                     &dtype, &offset, &stream, &norm, &self.multi.max_norm, &self.multi.eps,
                                     &place, &out, &self.multi.blocks))
        return NULL;
    self.multi.each = each;
    self.multi.offset = offset;
    self.has_dtype = dtype != NULL;
    if (find_op(op, &self.multi.op) < 0 ||
        (dtype != NULL && py_find_dtype_name(dtype, "dtype", &self.multi.dtype) < 0))
        return NULL;
    if (dtype != NULL && gr_dtypes[self.multi.dtype].kind != GR_KIND_REAL)
        return PyErr_Format(PyExc_TypeError, "dtype: expected a real floating-point dtype, got %s", dtype);
    py_job_init(&self.job, state);
    const int parsed = parse_place(&self, place, stream) < 0 ? -1 : parse_list(&self, arrays);
    if (parsed > 0)
        result = run(&self, stream, norm, out);
    else if (parsed == 0)
        result = Py_NewRef(Py_NotImplemented);
    PyMem_Free(self.rows);
    PyMem_Free(self.dtypes);
    py_job_release(&self.job);
    return result;
}
