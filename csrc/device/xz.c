/* Unpacks .xz files by liblzma, which nearly every Linux distribution has, because its package manager needs
   it. The library is opened when a file is read, so that neither its headers nor its name are needed to
   build. */
#include "device/xz.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* lzma_stream_buffer_decode of liblzma 5: the ABI is stable. Numbers are those of lzma_ret. */
typedef int decode_function(uint64_t *memory_limit, uint32_t flags, const void *allocator, const uint8_t *in,
                            size_t *in_position, size_t in_size, uint8_t *out, size_t *out_position,
                            size_t out_size);
enum { LZMA_OK = 0, LZMA_MEM_ERROR = 5 };

enum { FOOTER_BYTES = 12, HEAD_BYTES = 12 };
static const uint8_t MAGIC[] = {0xfd, '7', 'z', 'X', 'Z', 0};

bool gr_is_xz(const uint8_t *packed, size_t size) {
    return size >= sizeof MAGIC && memcmp(packed, MAGIC, sizeof MAGIC) == 0;
}

/* Reads a number of the index: seven bits per byte, the lowest first. Returns false beyond the end. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *number) {
    *number = 0;
    for (unsigned shift = 0; shift < 63 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The size of the text, from the index of a file of one block (https://tukaani.org/xz/xz-file-format.txt).
   liblzma checks the index and the text afterwards. */
static bool read_text_size(const uint8_t *packed, size_t size, uint64_t *text_size) {
    if (size < HEAD_BYTES + FOOTER_BYTES)
        return false;
    const uint8_t *footer = packed + size - FOOTER_BYTES;
    const uint64_t index_bytes = 4 * (1 + ((uint64_t)footer[4] | (uint64_t)footer[5] << 8 |
                                           (uint64_t)footer[6] << 16 | (uint64_t)footer[7] << 24));
    if (index_bytes > size - HEAD_BYTES - FOOTER_BYTES)
        return false;
    const uint8_t *at = footer - index_bytes + 1;
    uint64_t records, packed_bytes;
    return read_number(&at, footer, &records) && records == 1 && read_number(&at, footer, &packed_bytes) &&
           read_number(&at, footer, text_size);
}

static gr_xz_fallback fallback; /* registered when the package is imported */

void gr_xz_without_library(gr_xz_fallback callback) {
    fallback = callback;
}

static gr_xz_result unpack_by_library(const uint8_t *packed, size_t size, char *text, size_t text_size) {
    void *library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
    decode_function *decode = NULL;
    if (library != NULL)
        *(void **)&decode = dlsym(library, "lzma_stream_buffer_decode");
    if (decode == NULL)
        return GR_XZ_NO_LIBRARY;
    uint64_t memory_limit = UINT64_MAX;
    size_t read = 0, written = 0;
    const int code =
        decode(&memory_limit, 0, NULL, packed, &read, size, (uint8_t *)text, &written, text_size);
    dlclose(library);
    if (code == LZMA_MEM_ERROR)
        return GR_XZ_NO_MEMORY;
    return code == LZMA_OK && read == size && written == text_size ? GR_XZ_OK : GR_XZ_DAMAGED;
}

gr_xz_result gr_unpack_xz(const uint8_t *packed, size_t size, char **text, size_t *text_size) {
    enum { MAX_RATIO = 1 << 13 }; /* LZMA packs no text to less */
    uint64_t bytes;
    if (!read_text_size(packed, size, &bytes) || bytes / MAX_RATIO > size)
        return GR_XZ_DAMAGED;
    *text = malloc(bytes + 1);
    if (*text == NULL)
        return GR_XZ_NO_MEMORY;
    gr_xz_result result = unpack_by_library(packed, size, *text, bytes);
    if (result == GR_XZ_NO_LIBRARY && fallback != NULL)
        result = fallback(packed, size, *text, bytes);
    (*text)[bytes] = '\0';
    *text_size = bytes;
    return result;
}
