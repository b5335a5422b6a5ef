/* Makes the context of a CUDA device current around calls of the driver. */
#include "device/cuda/context.h"

/* The context that this thread has made current. */
static _Thread_local struct {
    const cuda_backend *attached;
    int attachments; /* nested attachments of that device; another one is only made current */
    int depth;       /* contexts that are pushed */
    int mode;        /* capture mode of the thread before the first of them */
} entered;

gr_status gr_cuda_enter(const cuda_backend *self, gr_error *error) {
    if (entered.attached == self)
        return GR_OK;
    gr_status status = gr_cuda_check_process(error);
    if (status == GR_OK)
        status = gr_cuda_check(self->driver, self->driver->context_push(self->context), error,
                               "making the context of cuda:%d current", self->base.info.index);
    if (status == GR_OK && entered.depth++ == 0) {
        entered.mode = GR_CU_CAPTURE_RELAXED;
        self->driver->capture_mode(&entered.mode); /* exchanges them */
    }
    return status;
}

gr_status gr_cuda_leave(const cuda_backend *self, gr_status status, gr_error *error) {
    if (entered.attached == self)
        return status;
    gr_cu_context popped = NULL;
    if (--entered.depth == 0)
        self->driver->capture_mode(&entered.mode);
    gr_cu_result result = self->driver->context_pop(&popped);
    if (status != GR_OK)
        return status;
    return gr_cuda_check(self->driver, result, error, "restoring the caller's CUDA context");
}

gr_status gr_cuda_check_stream(const cuda_backend *self, gr_stream stream, gr_status status,
                               gr_error *error) {
    const gr_cuda_driver *driver = self->driver;
    gr_cu_context context = NULL, popped = NULL;
    gr_cu_device device = self->device;
    gr_error ignored;
    if (status != GR_ERR_DEVICE || stream <= GR_PER_THREAD_HANDLE || gr_cuda_enter(self, &ignored) != GR_OK)
        return status;
    if (driver->stream_context(gr_cuda_stream(stream), &context) == GR_CU_SUCCESS &&
        driver->context_push(context) == GR_CU_SUCCESS) {
        if (driver->context_device(&device) != GR_CU_SUCCESS)
            device = self->device;
        driver->context_pop(&popped);
    }
    gr_cuda_leave(self, GR_OK, &ignored);
    if (device == self->device)
        return status;
    return gr_fail(error, GR_ERR_DEVICE,
                   "stream: stream 0x%llx belongs to cuda:%d, but the call works on cuda:%d",
                   (unsigned long long)stream, (int)device, self->base.info.index);
}

gr_status gr_cuda_attach(gr_backend *base, gr_error *error) {
    const cuda_backend *self = as_cuda(base);
    const gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    if (entered.attached == NULL)
        entered.attached = self;
    entered.attachments += entered.attached == self;
    return GR_OK;
}

void gr_cuda_detach(gr_backend *base) {
    gr_error ignored;
    if (entered.attached == as_cuda(base)) {
        if (--entered.attachments > 0)
            return;
        entered.attached = NULL;
    }
    gr_cuda_leave(as_cuda(base), GR_OK, &ignored);
}
