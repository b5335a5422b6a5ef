#include "reduce/ladder/cub.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The library stays loaded for good: it registered its kernels with the CUDA runtime inside it. */
static gr_status open_library(gr_registry *registry, gr_error *error) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/libgpureduce_cub.so", registry->image_folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the CUB library is too long: %.512s", path);
    if (access(path, F_OK) != 0)
        return gr_fail(
            error, GR_ERR_VALUE,
            "variant: cub is not part of this installation; install gpureduce from its source with "
            "GPUREDUCE_CUB=1 in the environment");
    registry->cub = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return registry->cub ? GR_OK
                         : gr_fail(error, GR_ERR_DEVICE, "cannot load the CUB library: %s", dlerror());
}

static gr_status find_symbol(gr_registry *registry, const char *name, void *function, gr_error *error) {
    void *address = dlsym(registry->cub, name);
    if (!address)
        return gr_fail(error, GR_ERR_DEVICE, "the CUB library has no %s; reinstall gpureduce", name);
    memcpy(function, &address, sizeof address); /* C has no conversion from data to function pointers */
    return GR_OK;
}

gr_status gr_cub_find(gr_registry *registry, const char *entry, gr_library_call *call, gr_error *error) {
    pthread_mutex_lock(&registry->lock);
    gr_status status = registry->cub ? GR_OK : open_library(registry, error);
    pthread_mutex_unlock(&registry->lock);
    if (status == GR_OK)
        status = find_symbol(registry, entry, &call->run, error);
    if (status == GR_OK)
        status = find_symbol(registry, "cub_describe", &call->describe, error);
    call->name = entry;
    return status;
}
