/* Opens libraries and finds their functions; calls the functions of CUB. */
#include "device/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *gr_find_symbols(void *library, const gr_symbol *symbols) {
    for (; symbols->name != NULL; ++symbols) {
        void *address = dlsym(library, symbols->name);
        if (address == NULL)
            return symbols->name;
        /* ISO C has no conversion from data to function pointers */
        memcpy(symbols->out, &address, sizeof address);
    }
    return NULL;
}

/* ---- libraries of NVIDIA ---- */

static gr_status open_vendor(gr_vendor *self, gr_error *error) {
    const char *asked = getenv(self->environment);
    const bool named = asked != NULL && *asked != '\0';
    const char *first = named ? asked : self->names[0], *second = named ? NULL : self->names[1];
    void *library = dlopen(first, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL && second != NULL)
        library = dlopen(second, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        if (gr_is_exhausted(error, self->variant, reason))
            return error->status;
        return gr_fail(error, GR_ERR_VALUE,
                       "variant: %s is NVIDIA's library, which was not found: looked for %s%s%s (%s)",
                       self->variant, first, second != NULL ? " and " : "", second != NULL ? second : "",
                       reason);
    }
    if (gr_find_symbols(library, self->symbols) != NULL) {
        gr_fail(error, GR_ERR_VALUE, "variant: %s needs %s: %s", self->variant, self->needed, dlerror());
        dlclose(library);
        return error->status;
    }
    self->library = library;
    return GR_OK;
}

gr_status gr_vendor_open(gr_vendor *self, gr_error *error) {
    pthread_mutex_lock(&self->lock);
    const gr_status status = self->library != NULL ? GR_OK : open_vendor(self, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

gr_status gr_vendor_check(const gr_vendor *self, int code, const char *doing, gr_error *error) {
    return code == 0
               ? GR_OK
               : gr_fail(error, GR_ERR_DEVICE, "%s: %s: %s", self->variant, doing, (*self->describe)(code));
}

/* ---- CUB ---- */

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

static gr_status check(const gr_cub_call *call, int code, gr_error *error) {
    return code == 0 ? GR_OK
                     : gr_fail(error, GR_ERR_DEVICE, "running %s: %s", call->call.name, call->describe(code));
}

static gr_status run(const gr_library_call *self, void *stream, gr_error *error) {
    const gr_cub_call *call = (const gr_cub_call *)self;
    size_t temp_bytes = call->temp_bytes;
    return check(call, call->reduce(call->temp, &temp_bytes, call->in, call->out, call->n, stream), error);
}

gr_status gr_library_query_temp_bytes(gr_cub_call *call, gr_error *error) {
    return check(call, call->reduce(0, &call->temp_bytes, 0, 0, call->n, NULL), error);
}

gr_status gr_library_find(const char *folder, const char *entry, gr_cub_call *call, gr_error *error) {
    void *library = NULL;
    gr_status status = open_library(folder, &library, error);
    if (status != GR_OK)
        return status;
    const gr_symbol symbols[] = {{entry, &call->reduce}, {"cub_describe", &call->describe}, {NULL, NULL}};
    const char *missing = gr_find_symbols(library, symbols);
    if (missing != NULL)
        status = gr_fail(error, GR_ERR_DEVICE, "the CUB library has no %s; reinstall gpureduce", missing);
    dlclose(library);
    call->call = (gr_library_call){.name = entry, .run = run};
    return status;
}
