/* Unpacks .xz files of one block, as the build writes them. */
#ifndef GR_DEVICE_XZ_H
#define GR_DEVICE_XZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gr_xz_result { GR_XZ_OK, GR_XZ_DAMAGED, GR_XZ_NO_MEMORY, GR_XZ_NO_LIBRARY } gr_xz_result;

bool gr_is_xz(const uint8_t *packed, size_t size);

/* Appends a NUL to the text. The caller frees *text, also after a failure. */
gr_xz_result gr_unpack_xz(const uint8_t *packed, size_t size, char **text, size_t *text_size);

/* Unpacks a file whose text has text_size bytes. Called from any thread where liblzma cannot be opened. */
typedef gr_xz_result (*gr_xz_fallback)(const uint8_t *packed, size_t size, char *text, size_t text_size);
void gr_xz_without_library(gr_xz_fallback callback);

#endif
