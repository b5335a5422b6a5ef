/* The fast path of bincount: integers on a device are labels of groups, of which a given number is counted,
   or whose weights are added up. Python counts bins that depend on the integers. */
#include "base/limits.h"
#include "device/tables.h"
#include "groups/groups.h"
#include "python/args.h"
#include "python/job.h"
#include "python/signature.h"
#include "segments/segments.h"

enum { ELEMENTS, LABELS };

typedef struct bins_call {
    py_job job;
    gr_groups groups;
    bool counts; /* the elements are ones */
} bins_call;

/* Adds up the elements of the groups. Ones are a table of one number, which all rows repeat. */
static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    static const int32_t one[] = {1};
    const bins_call *self = arg;
    gr_tables *tables = self->job.state->tables;
    gr_binding bound = *binding;
    gr_stream_state state = {.capture = 0};
    gr_table *table = NULL;
    if (self->counts) {
        gr_status status = gr_stream_get_state(device, binding->stream, &state, error);
        if (status == GR_OK)
            status = gr_table_acquire(tables, device, one, sizeof one, state.capture != 0, &table, error);
        if (status != GR_OK)
            return status;
        bound.inputs[ELEMENTS] = (gr_source){.host = NULL, .origin = gr_table_address(table)};
    }
    const gr_status status = gr_groups_run(device, &self->groups, &bound, interrupt, error);
    gr_table_release(tables, table);
    return status;
}

/* Describes the ones, which are where the integers are. */
static void take_ones(bins_call *self) {
    const py_operand *labels = &self->job.inputs[LABELS];
    py_operand *ones = &self->job.inputs[ELEMENTS];
    ones->on_device = true;
    ones->kind = labels->kind;
    ones->index = labels->index;
    ones->stream = labels->stream;
    ones->stream_owner = labels->stream_owner;
    ones->stream_persists = labels->stream_persists;
    ones->dtype = GR_DTYPE_i32;
    ones->ndim = 1;
    ones->extent[0] = labels->extent[0];
    ones->stride[0] = 0;
    ones->source = (gr_source){.host = NULL};
}

/* Parses the integers and the weights. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int take_rows(bins_call *self, const py_arguments arguments) {
    py_job *job = &self->job;
    py_operand *labels = &job->inputs[LABELS], *elements = &job->inputs[ELEMENTS];
    int parsed =
        py_operand_from_object(job->state, arguments[PY_NAME_x], PY_NO_COPY, GR_SCOPE_GENERAL, "x", labels);
    if (parsed <= 0)
        return parsed;
    if (!labels->on_device || labels->ndim != 1 || labels->extent[0] == 0 ||
        labels->extent[0] >= UINT32_MAX || gr_dtypes[labels->dtype].kind != GR_KIND_BITS ||
        labels->dtype == GR_DTYPE_b8)
        return 0;
    self->counts = py_is_none(arguments[PY_NAME_weights]);
    job->input_count = 2;
    if (self->counts) {
        take_ones(self);
        return 1;
    }
    parsed = py_operand_from_object(job->state, arguments[PY_NAME_weights], PY_NO_COPY, GR_SCOPE_GENERAL,
                                    "weights", elements);
    return parsed <= 0 ? parsed
                       : elements->on_device && py_operand_same_shape(elements, labels) &&
                             !gr_dtype_is_complex(elements->dtype);
}

/* Parses the number of bins of integers. False: fall back to Python. */
static bool parse_size(PyObject *value, uint64_t rows, uint64_t *out) {
    enum { MAX_EMPTY_BINS = 1 << 24 }; /* with more, Python checks the memory */
    int overflow = 0;
    const long long size = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    *out = (uint64_t)size;
    return overflow == 0 && size > 0 && *out <= rows + MAX_EMPTY_BINS && *out < UINT32_MAX;
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(bins_call *self, const py_arguments arguments) {
    py_job *job = &self->job;
    const py_operand *labels = &job->inputs[LABELS], *elements = &job->inputs[ELEMENTS];
    uint64_t size;
    if (arguments[PY_NAME_minlength] != NULL || arguments[PY_NAME_size] == NULL)
        return 0;
    int parsed = take_rows(self, arguments);
    if (parsed <= 0)
        return parsed;
    if (!parse_size(arguments[PY_NAME_size], labels->extent[0], &size))
        return 0;
    self->groups = (gr_groups){
        .op = GR_OP_sum,
        .dtype = elements->dtype,
        .label_dtype = labels->dtype,
        .lines = 1,
        .length = labels->extent[0],
        .inner = 1,
        .along_stride = elements->stride[0],
        .label_stride = labels->stride[0],
        .aligned = elements->source.origin % 16 == 0,
        .groups = size,
        .empty_result = gr_segments_empty_result(GR_OP_sum, elements->dtype),
    };
    job->dtype = gr_op_result(GR_OP_sum, elements->dtype);
    job->ndim = 1;
    job->extent[0] = size;
    if (!gr_groups_take(&self->groups) || !py_job_set_c_strides(job))
        return 0;
    parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    if (parsed > 0 && py_job_is_on_other_device(job, labels))
        return 0;
    return parsed > 0 ? py_job_parse_out_and_stream(job, arguments, true) : parsed;
}

PyObject *py_fast_bincount(const py_signature *signature, const py_arguments arguments) {
    bins_call self;
    py_job_init(&self.job, signature->state);
    self.job.as_array = true;
    const int parsed = signature->tensors == NULL ? parse_arguments(&self, arguments) : 0;
    PyObject *result = py_job_run_parsed(&self.job, parsed, work, &self);
    if (parsed > 0)
        result = py_job_fall_back_without_memory(result);
    py_job_release(&self.job);
    return result;
}
