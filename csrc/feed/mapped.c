#include "feed/mapped.h"

gr_status gr_mapped_open(gr_backend *backend, gr_kept *kept, gr_error *error) {
    gr_mapped *self = (gr_mapped *)kept;
    return backend->streams->host_alloc(backend, kept->bytes, &self->host, &self->there, error);
}

void gr_mapped_close(gr_backend *backend, gr_kept *self) {
    backend->streams->host_free(backend, ((gr_mapped *)self)->host);
}
