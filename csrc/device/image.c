/* Reads kernel files by zlib. */
#include "device/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { STEP = 1 << 17 };

static gr_status failed(int code, int number, const char *path, gr_error *error) {
    if (code == Z_MEM_ERROR || (code == Z_ERRNO && number == ENOMEM))
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to read the compiled kernels in %s", path);
    const bool missing = number == ENOENT || number == ENOTDIR || number == EISDIR;
    if (code == Z_ERRNO) {
        gr_fail(error, missing ? GR_ERR_DEVICE : GR_ERR_SYSTEM,
                "cannot read the compiled kernels in %s: %s%s", path, strerror(number),
                missing ? "; reinstall gpureduce" : "");
        error->number = number;
        return error->status;
    }
    return gr_fail(error, GR_ERR_DEVICE, "the compiled kernels in %s are damaged; reinstall gpureduce", path);
}

/* Reads to the end of the file: a gzip file does not tell the length of its text. */
static int read_all(gzFile file, char **data, size_t *size) {
    for (size_t room = 0;;) {
        if (room - *size < STEP) {
            room = 2 * room + 2 * STEP;
            char *more = realloc(*data, room);
            if (more == NULL)
                return Z_MEM_ERROR;
            *data = more;
        }
        const int count = gzread(file, *data + *size, STEP - 1);
        int code = Z_OK;
        if (count < 0)
            gzerror(file, &code);
        if (count <= 0) {
            (*data)[*size] = '\0';
            return code;
        }
        *size += (size_t)count;
    }
}

gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error) {
    errno = ENOMEM; /* zlib leaves errno unchanged when it gets no memory */
    gzFile file = gzopen(path, "rb");
    if (file == NULL)
        return failed(Z_ERRNO, errno, path, error);
    *size = 0;
    const int code = read_all(file, data, size), number = errno;
    const int end = gzclose_r(file); /* fails if the packed text is truncated */
    return code == Z_OK && end == Z_OK ? GR_OK : failed(code == Z_OK ? end : code, number, path, error);
}
