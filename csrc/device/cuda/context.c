#include "device/cuda/context.h"

gr_status gr_cuda_enter(const cuda_backend *self, gr_error *error) {
    gr_status status = gr_cuda_check_process(error);
    if (status != GR_OK)
        return status;
    return gr_cuda_check(self->driver, self->driver->context_push(self->context), error,
                         "making the context of cuda:%d current", self->base.info.index);
}

gr_status gr_cuda_leave(const cuda_backend *self, gr_status status, gr_error *error) {
    gr_cu_context popped = NULL;
    gr_cu_result result = self->driver->context_pop(&popped);
    if (status != GR_OK)
        return status;
    return gr_cuda_check(self->driver, result, error, "restoring the caller's CUDA context");
}
