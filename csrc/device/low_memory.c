/* The callback that frees caches of other libraries. */
#include "device/low_memory.h"

#include <stdatomic.h>

static _Atomic(gr_low_memory) low_memory;

void gr_on_low_memory(gr_low_memory callback) {
    atomic_store(&low_memory, callback);
}

bool gr_release_caches(gr_backend *backend) {
    const gr_low_memory callback = atomic_load(&low_memory);
    gr_error ignored;
    if (callback == NULL || backend->info.kind != GR_DEVICE_CUDA ||
        backend->enter(backend, &ignored) != GR_OK)
        return false;
    const bool released = callback(backend->info.index);
    backend->leave(backend);
    return released;
}
