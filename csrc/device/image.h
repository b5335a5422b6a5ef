/* Files of compiled kernels. */
#ifndef GR_DEVICE_IMAGE_H
#define GR_DEVICE_IMAGE_H

#include <stddef.h>

#include "base/status.h"

/* What a file holds, unpacked if it is packed, and a NUL. The caller frees *data, after a failure as well. */
gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error);

#endif
