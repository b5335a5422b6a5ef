/* Modules of kernels on a CUDA device: how the driver loads their images and finds kernels in them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/context.h"
#include "device/ptx_text.h"

struct gr_module {
    gr_cu_module handle;
    const char *name;
    pthread_mutex_t lock; /* guards the list; the kernels live until the module is unloaded */
    gr_kernel *kernels;
};

/* Calls the driver with the image, or with the PTX of the one kernel that it is loaded for: the driver copies
   what it needs. */
static gr_cu_result load_image(const cuda_backend *self, const gr_image *image, gr_cu_module *out,
                               int *options, void **values) {
    if (image->kernel == NULL)
        return self->driver->module_load(out, image->data, 2, options, values);
    char *text = gr_extract_kernel(image->data, image->size, image->kernel);
    const gr_cu_result result =
        text == NULL ? GR_CU_OUT_OF_MEMORY : self->driver->module_load(out, text, 2, options, values);
    free(text);
    return result;
}

gr_status gr_cuda_load(gr_backend *base, const gr_image *image, gr_module **out, gr_error *error) {
    char log[768] = "";
    int options[] = {GR_CU_JIT_ERROR_LOG, GR_CU_JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    gr_module *module = calloc(1, sizeof *module);
    if (!module)
        return gr_fail(error, GR_ERR_MEMORY, "out of memory loading the kernels of %s", image->name);
    const cuda_backend *self = as_cuda(base);
    gr_cu_result result = GR_CU_SUCCESS;
    gr_status status = gr_cuda_enter(self, error);
    if (status == GR_OK) {
        result = load_image(self, image, &module->handle, options, values);
        status = gr_cuda_check(self->driver, result, error, "loading the kernels of %s on cuda:%d",
                               image->name, base->info.index);
        status = gr_cuda_leave(self, status, error);
    }
    if (image->optional && result == GR_CU_NO_MACHINE_CODE) {
        free(module);
        *out = NULL;
        return GR_OK;
    }
    if (status != GR_OK) {
        const gr_error plain = *error;
        if (*log)
            gr_fail(error, status, "%.640s\n%s", plain.message, log);
        if (module->handle)
            self->driver->module_unload(module->handle);
        free(module);
        return status;
    }
    module->name = image->name;
    pthread_mutex_init(&module->lock, NULL);
    *out = module;
    return GR_OK;
}

void gr_cuda_unload(gr_backend *base, gr_module *module) {
    cuda_backend *self = as_cuda(base);
    if (!module)
        return;
    GR_CUDA_RELEASE(self, module_unload(module->handle));
    while (module->kernels) {
        gr_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        free(kernel);
    }
    pthread_mutex_destroy(&module->lock);
    free(module);
}

/* Looks up a kernel by the driver; the caller owns *out. */
static gr_status make_kernel(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                             gr_error *error) {
    const size_t size = strlen(entry) + 1;
    gr_kernel *kernel = calloc(1, sizeof *kernel + size);
    if (!kernel)
        return gr_fail(error, GR_ERR_MEMORY, "out of memory finding the kernel %s", entry);
    memcpy(kernel->name, entry, size);
    int static_shared = 0;
    gr_status status = GR_CUDA_CALL(base, 0, error, module_function(&kernel->function, module->handle, entry),
                                    "finding the kernel %s of %s", entry, module->name);
    /* Reading an attribute also completes lazy loading, which is not allowed during a capture. */
    if (status == GR_OK)
        status = GR_CUDA_CALL(base, 0, error,
                              function_get(&static_shared, GR_CU_FUNCTION_STATIC_SHARED, kernel->function),
                              "reading the attributes of %s", entry);
    kernel->static_shared = (uint32_t)static_shared;
    if (status == GR_OK)
        *out = kernel;
    else
        free(kernel);
    return status;
}

gr_status gr_cuda_find(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                       gr_error *error) {
    /* Before the lock, which a forked child may have inherited locked. */
    gr_status status = gr_cuda_check_process(error);
    if (status != GR_OK)
        return status;
    pthread_mutex_lock(&module->lock);
    gr_kernel **place = &module->kernels;
    while (*place && strcmp((*place)->name, entry) != 0)
        place = &(*place)->next;
    gr_kernel *kernel = *place;
    if (kernel)
        *place = kernel->next;
    else
        status = make_kernel(base, module, entry, &kernel, error);
    if (status == GR_OK) { /* most recently used first */
        kernel->next = module->kernels;
        module->kernels = *out = kernel;
    }
    pthread_mutex_unlock(&module->lock);
    return status;
}
