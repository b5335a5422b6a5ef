/* Implements parity.h: counts the nonzero elements, and then takes the lowest bit of each count, by a
   reduction along an axis of length one. */
#include "python/parity.h"

#include <string.h>

#include "python/errors.h"

typedef struct parity_call {
    const gr_reduction *counting;
    gr_reduction lowest_bit; /* bitwise_and of 1 and the lowest byte of each count */
    py_array *counts;        /* temporary */
} parity_call;

/* Reduces in the stream of the call. */
static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    const parity_call *self = arg;
    gr_binding counting = *binding, finishing = *binding;
    gr_status status = py_array_allocate(self->counts, device, error);
    if (status != GR_OK)
        return status;
    counting.device_out = self->counts->pointer;
    counting.out_bytes *= sizeof(int64_t);
    status = gr_reduction_run(device, self->counting, &counting, NULL, interrupt, error);
    finishing.inputs[0] = (gr_source){.host = NULL, .origin = self->counts->pointer};
    if (status == GR_OK)
        status = gr_reduction_run(device, &self->lowest_bit, &finishing, NULL, interrupt, error);
    return status == GR_OK ? py_array_detach_stream(self->counts, device, error) : status;
}

static gr_status plan_lowest_bit(uint64_t count, const gr_device *device, gr_reduction *self,
                                 gr_error *error) {
    static const unsigned char one = 1;
    gr_layout *layout = &self->layout;
    self->op = GR_OP_bitwise_and;
    self->dtype = GR_DTYPE_u8;
    self->initial = &one;
    self->parameter = 0;
    self->shape = NULL;
    memset(layout, 0, sizeof *layout);
    layout->ndim = 2;
    layout->extent[0] = count;
    layout->extent[1] = 1;
    layout->stride[0] = sizeof(int64_t);
    layout->stride[1] = 1;
    layout->reduced[1] = true;
    gr_reduction_fill_layout(self, device, false);
    return gr_general_plan_make(layout, &self->plan, error);
}

PyObject *py_parity_on_device(py_call *call) {
    py_job *job = &call->job;
    const gr_device_info *info = &job->device->backend->info;
    parity_call self = {.counting = &call->reduction};
    gr_error error;
    uint64_t count = 1;
    for (size_t d = 0; d < job->ndim; ++d)
        count *= job->extent[d];
    if (plan_lowest_bit(count, job->device, &self.lowest_bit, &error) != GR_OK) {
        py_fail(job->state, &error);
        return NULL;
    }
    self.counts = py_array_new(job->state, info->kind, info->index, GR_DTYPE_i64, 1, &count);
    if (self.counts == NULL)
        return NULL;
    py_array_set_stream(self.counts, job->stream, job->stream_owner, job->stream_persists);
    job->dtype = GR_DTYPE_b8;
    PyObject *result = py_job_run(job, work, &self);
    Py_DECREF(self.counts);
    return result;
}
