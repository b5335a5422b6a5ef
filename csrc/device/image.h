/* Files of compiled kernels. */
#ifndef GR_DEVICE_IMAGE_H
#define GR_DEVICE_IMAGE_H

#include <stddef.h>

#include "base/status.h"

/* What a file holds, unpacked if it is packed, with a NUL behind it. The caller frees *data, also after a
 * failure. */
gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error);

#endif
