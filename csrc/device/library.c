/* Opens the CUB library and calls its functions. */
#include "device/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* RTLD_NODELETE: the library stays loaded, as it has registered its kernels with the CUDA runtime in it. */
static gr_status open_library(const char *folder, void **out, gr_error *error) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/libgpureduce_cub.so", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the CUB library is too long: %.512s", path);
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return gr_fail(
            error, GR_ERR_VALUE,
            "variant: cub is not part of this installation; install gpureduce from its source with "
            "GPUREDUCE_CUB=1 in the environment");
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *reason = *out != NULL ? NULL : dlerror();
    if (*out != NULL || gr_is_exhausted(error, "cannot load the CUB library", reason))
        return *out != NULL ? GR_OK : error->status;
    return gr_fail(error, GR_ERR_DEVICE, "cannot load the CUB library: %s", reason);
}

static gr_status find_symbol(void *library, const char *name, void *function, gr_error *error) {
    void *address = dlsym(library, name);
    if (!address)
        return gr_fail(error, GR_ERR_DEVICE, "the CUB library has no %s; reinstall gpureduce", name);
    memcpy(function, &address, sizeof address); /* ISO C has no conversion from data to function pointers */
    return GR_OK;
}

static gr_status check(const gr_cub_call *call, int code, gr_error *error) {
    return code == 0 ? GR_OK
                     : gr_fail(error, GR_ERR_DEVICE, "running %s: %s", call->call.name, call->describe(code));
}

static gr_status run(const gr_library_call *self, void *stream, gr_error *error) {
    const gr_cub_call *call = (const gr_cub_call *)self;
    size_t temp_bytes = call->temp_bytes;
    return check(call, call->reduce(call->temp, &temp_bytes, call->in, call->out, call->n, stream), error);
}

gr_status gr_library_ask(gr_cub_call *call, gr_error *error) {
    return check(call, call->reduce(0, &call->temp_bytes, 0, 0, call->n, NULL), error);
}

gr_status gr_library_find(const char *folder, const char *entry, gr_cub_call *call, gr_error *error) {
    void *library = NULL;
    gr_status status = open_library(folder, &library, error);
    if (status != GR_OK)
        return status;
    status = find_symbol(library, entry, &call->reduce, error);
    if (status == GR_OK)
        status = find_symbol(library, "cub_describe", &call->describe, error);
    dlclose(library);
    call->call = (gr_library_call){.name = entry, .run = run};
    return status;
}
