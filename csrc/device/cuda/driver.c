/* Opens and initialises the CUDA driver library. */
#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/library.h"
#include "device/process.h"

/* The record of the driver, of which a process has one. */
static struct {
    pthread_mutex_t lock;
    void *library;
    gr_cuda_driver table;
    atomic_int owner; /* the process that initialises the driver or has done so; 0 before */
    bool ready;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const gr_symbol symbols[] = {
#define GR_CUDA_SYMBOL(field, symbol, parameters) {#symbol, &driver.table.field},
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
    {NULL, NULL}};

static gr_status open_library(gr_error *error) {
    const char *path = getenv("GPUREDUCE_LIBCUDA");
    if (!path || !*path)
        path = "libcuda.so.1";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        if (gr_is_exhausted(error, "cannot look for the CUDA driver", reason))
            return error->status;
        return gr_fail(error, GR_ERR_DEVICE, "no CUDA driver: %s", reason);
    }
    const char *missing = gr_find_symbols(library, symbols);
    if (missing != NULL) {
        dlclose(library);
        return gr_fail(error, GR_ERR_DEVICE, "%s has no %s: the CUDA driver is too old (12.0 is needed)",
                       path, missing);
    }
    driver.library = library;
    return GR_OK;
}

static gr_status initialise(gr_error *error) {
    if (!driver.library) {
        gr_status status = open_library(error);
        if (status != GR_OK)
            return status;
    }
    atomic_store(&driver.owner, gr_process());
    gr_cu_result result = driver.table.init(0);
    if (result == GR_CU_SUCCESS)
        return GR_OK;
    atomic_store(&driver.owner, 0);
    const char *hint = "";
    if (result == GR_CU_NOT_INITIALIZED)
        hint = " (in a child forked from a process that used CUDA? start it with the spawn method)";
    gr_cuda_check(&driver.table, result, error, "initialising the CUDA driver%s", hint);
    return error->status = GR_ERR_DEVICE; /* whatever the reason, no device can be used */
}

gr_status gr_cuda_driver_get(const gr_cuda_driver **out, gr_error *error) {
    gr_status status = gr_cuda_check_process(error);
    if (status != GR_OK)
        return status;
    pthread_mutex_lock(&driver.lock);
    if (!driver.ready)
        status = initialise(error);
    driver.ready = status == GR_OK;
    pthread_mutex_unlock(&driver.lock);
    if (status == GR_OK)
        *out = &driver.table;
    return status;
}

void gr_cuda_driver_lock_for_fork(bool taken) {
    (taken ? pthread_mutex_lock : pthread_mutex_unlock)(&driver.lock);
}

gr_status gr_cuda_check_process(gr_error *error) {
    int owner = atomic_load(&driver.owner);
    if (owner == 0 || owner == gr_process())
        return GR_OK;
    return gr_fail(
        error, GR_ERR_DEVICE,
        "CUDA was initialised in the parent process (pid %d); a forked child cannot use it, start it "
        "with the spawn method",
        owner);
}

gr_status gr_cuda_check(const gr_cuda_driver *table, gr_cu_result result, gr_error *error, const char *doing,
                        ...) {
    if (result == GR_CU_SUCCESS)
        return GR_OK;
    char what[512];
    va_list arguments;
    va_start(arguments, doing);
    vsnprintf(what, sizeof what, doing, arguments);
    va_end(arguments);

    const char *name = NULL, *text = NULL;
    table->error_name(result, &name);
    table->error_text(result, &text);
    gr_status status = result == GR_CU_OUT_OF_MEMORY ? GR_ERR_MEMORY : GR_ERR_DEVICE;
    if (!name)
        return gr_fail(error, status, "%s: CUDA error %d", what, result);
    return gr_fail(error, status, "%s: %s: %s", what, name, text ? text : "no description");
}
