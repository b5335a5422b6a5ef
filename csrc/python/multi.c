/* Reductions of a list of arrays (gpureduce.multi): describes the arrays, and runs the program. Python code
   converts arrays that need more than a look at their memory. */
#include "multi/multi.h"

#include <string.h>

#include "device/tables.h"
#include "python/array_list.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

typedef struct multi_call {
    py_job job;
    gr_multi multi;
    gr_tables *tables;
    bool has_dtype;
    PyObject *capsule;         /* has the list, unless it is empty */
    const py_array_list *list; /* no rows: of NORM2_STATE */
} multi_call;

static gr_status order_streams(const multi_call *self, gr_device *device, bool after, gr_error *error) {
    const gr_stream own = self->job.stream;
    const py_array_list *list = self->list;
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < list->stream_count; ++i)
        if (list->streams[i] != own)
            status = gr_stream_wait_for(device, after ? own : list->streams[i],
                                        after ? list->streams[i] : own, error);
    return status;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const multi_call *self = arg;
    const py_array_list *list = self->list;
    gr_binding with_table = *binding;
    gr_table *table = NULL;
    gr_stream_state state = {.capture = 0};
    gr_status status = order_streams(self, device, false, error);
    if (status == GR_OK)
        status = gr_stream_get_state(device, binding->stream, &state, error);
    if (status == GR_OK && list->row_count > 0)
        status = gr_table_acquire(self->tables, device, list->rows, list->row_count * sizeof list->rows[0],
                                  state.capture != 0, &table, error);
    if (status != GR_OK)
        return status;
    if (self->multi.op != GR_MULTI_NORM2_STATE)
        with_table.inputs[0] = (gr_source){.origin = table == NULL ? 0 : gr_table_address(table)};
    status = gr_multi_run(device, &self->multi, &with_table, interrupt, error);
    gr_table_release(self->tables, table);
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

/* ---- arguments ---- */

static int find_op(const char *name, gr_multi_op *out) {
    for (int i = 0; i < GR_MULTI_OPS; ++i)
        if (strcmp(name, gr_multi_op_names[i]) == 0) {
            *out = (gr_multi_op)i;
            return 0;
        }
    return PY_RAISE(PyExc_ValueError, "op: unknown operation '%s'", name);
}

/* Whether the operation takes the arrays. As py_array_list_get. */
static int check_arrays(const multi_call *self) {
    const py_array_list *list = self->list;
    const gr_multi_op op = self->multi.op;
    if (list->first_other != SIZE_MAX && op != GR_MULTI_FINGERPRINT)
        return PY_RAISE(PyExc_TypeError, "arrays[%zu]: expected real floating-point numbers",
                        list->first_other);
    if (list->first_ro != SIZE_MAX && op == GR_MULTI_SCALE)
        return PY_RAISE(PyExc_ValueError, "arrays[%zu]: is read-only", list->first_ro);
    return list->first_order == SIZE_MAX || op != GR_MULTI_FINGERPRINT;
}

/* Parses the states of NORM2_STATE, which are the one array. As py_array_list_get. */
static int parse_states(multi_call *self, PyObject *arrays, gr_device *view_device) {
    py_job *job = &self->job;
    py_operand *states = &job->inputs[0];
    PyObject *object =
        PyTuple_Check(arrays) && PyTuple_GET_SIZE(arrays) == 1 ? PyTuple_GET_ITEM(arrays, 0) : Py_None;
    const int parsed = py_operand_from_object(
        job->state, object, view_device == NULL ? PY_NO_COPY : PY_NATIVE, GR_SCOPE_GENERAL, "states", states);
    if (parsed > 0 && view_device != NULL) {
        states->on_device = true;
        states->kind = view_device->backend->info.kind;
        states->index = view_device->backend->info.index;
        states->stream = job->stream;
    }
    if (parsed <= 0 || !states->on_device)
        return parsed < 0 ? -1 : 0;
    const uint64_t words = py_operand_count(states, NULL);
    if (states->dtype != GR_DTYPE_i64 || words == 0 || words % GR_EXACT_WIDEST_WORDS != 0)
        return PY_RAISE(PyExc_ValueError, "states: expected %d int64 words per state", GR_EXACT_WIDEST_WORDS);
    self->multi.count = words / GR_EXACT_WIDEST_WORDS;
    return py_operand_is_contiguous(states, true);
}

/* Parses the list, given as a tuple, as a list of Python or as a capsule of py_multi_list. As
 * py_array_list_get. */
static int parse_arrays(multi_call *self, PyObject *arrays, gr_device *view_device) {
    gr_multi *multi = &self->multi;
    const bool signs_matter = multi->op == GR_MULTI_SUM || multi->op == GR_MULTI_FINGERPRINT;
    const py_list_source from = {view_device, self->job.stream, signs_matter};
    if (multi->op == GR_MULTI_NORM2_STATE)
        return parse_states(self, arrays, view_device);
    if (PyTuple_Check(arrays) || PyList_Check(arrays)) {
        const int found = py_array_list_get(self->job.state, arrays, &from, &self->capsule);
        if (found <= 0)
            return found;
    } else {
        self->capsule = Py_NewRef(arrays);
    }
    self->list = py_array_list_of_capsule(self->capsule);
    if (self->list == NULL)
        return -1;
    const py_array_list *list = self->list;
    py_array_list_first(list, &self->job.inputs[0]);
    multi->count = multi->each ? list->count : 1;
    multi->group_count = list->group_count;
    memcpy(multi->groups, list->groups, list->group_count * sizeof list->groups[0]);
    if (!self->has_dtype)
        multi->dtype = list->dtype;
    return check_arrays(self);
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
        job->extent[job->ndim++] = multi->count;
    if (multi->op == GR_MULTI_SQUARES)
        job->extent[job->ndim++] = GR_EXACT_WIDEST_WORDS;
    return py_job_parse_device_out(job, out);
}

/* Runs a call whose arrays are described. */
static PyObject *run(multi_call *self, PyObject *stream, PyObject *norm, PyObject *out) {
    py_job *job = &self->job;
    if (py_open_device(job->state, job->inputs[0].kind, job->inputs[0].index, &job->device) < 0 ||
        py_job_parse_stream(job, stream) < 0 || parse_norm(self, norm) < 0)
        return NULL;
    if (self->multi.op == GR_MULTI_SCALE)
        return run_in_place(self);
    return set_result(self, out) < 0 ? NULL : py_job_run(job, work, self);
}

/* Parses the device and the stream of views: a tuple (kind, index). */
static int parse_place(multi_call *self, PyObject *place, PyObject *stream, gr_device **out) {
    PyObject *kind, *index;
    if (place == Py_None)
        return 0;
    if (!PyTuple_Check(place))
        return PY_RAISE(PyExc_TypeError, "place: expected a tuple");
    return !PyArg_ParseTuple(place, "OO", &kind, &index) ||
                   py_parse_device(self->job.state, kind, index, out) < 0
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
    gr_device *view_device = NULL;
    py_state *state = PyModule_GetState(module);
    multi_call self = {.tables = state->tables};
    if (!PyArg_ParseTupleAndKeywords(args, named, "Os|pzKOOddOOI", names, &arrays, &op, &each, &dtype,
                                     &offset, &stream, &norm, &self.multi.max_norm, &self.multi.eps, &place,
                                     &out, &self.multi.blocks))
        return NULL;
    static const py_array_list empty;
    self.list = &empty;
    self.multi.each = each;
    self.multi.offset = offset;
    self.has_dtype = dtype != NULL;
    if (find_op(op, &self.multi.op) < 0 ||
        (dtype != NULL && py_find_dtype_name(dtype, "dtype", &self.multi.dtype) < 0))
        return NULL;
    if (dtype != NULL && gr_dtypes[self.multi.dtype].kind != GR_KIND_REAL)
        return PyErr_Format(PyExc_TypeError, "dtype: expected a real floating-point dtype, got %s", dtype);
    py_job_init(&self.job, state);
    const int parsed =
        parse_place(&self, place, stream, &view_device) < 0 ? -1 : parse_arrays(&self, arrays, view_device);
    if (parsed > 0)
        result = run(&self, stream, norm, out);
    else if (parsed == 0)
        result = Py_NewRef(Py_NotImplemented);
    Py_XDECREF(self.capsule);
    py_job_release(&self.job);
    return result;
}
