/* Reads files of compiled kernels, which may be packed by gzip. */
#ifndef GR_DEVICE_IMAGE_H
#define GR_DEVICE_IMAGE_H

#include <stddef.h>

#include "base/status.h"

/* Reads a file, unpacked, with a NUL appended. The caller frees *data, also after a failure. */
gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error);

#endif
