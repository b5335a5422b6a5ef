/* Opens and closes cached mapped host memory. */
#include "executor/mapped.h"

gr_status gr_mapped_open(gr_backend *backend, gr_cached *cached, gr_error *error) {
    gr_mapped *self = (gr_mapped *)cached;
    return backend->streams->host_alloc(backend, cached->bytes, &self->host, &self->there, error);
}

void gr_mapped_close(gr_backend *backend, gr_cached *self) {
    backend->streams->host_free(backend, ((gr_mapped *)self)->host);
}
