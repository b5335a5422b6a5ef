/* Reads files of compiled kernels, loads machine code or PTX, and finds kernels in them. */
#include "device/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "device/xz.h"

/* A backend may keep pointing into the text, so it lives as long as the module. */
typedef struct gr_kernel_file {
    struct gr_kernel_file *next;
    gr_module *module;
    char name[GR_KERNEL_NAME_BYTES];
    char *data;
} gr_kernel_file;

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
    if (code != Z_OK || end != Z_OK)
        return failed(code == Z_OK ? end : code, number, path, error);
    if (!gr_is_xz((const uint8_t *)*data, *size))
        return GR_OK;
    char *packed = *data;
    *data = NULL;
    const gr_xz_result result = gr_unpack_xz((const uint8_t *)packed, *size, data, size);
    free(packed);
    return result == GR_XZ_OK
               ? GR_OK
               : failed(result == GR_XZ_NO_MEMORY ? Z_MEM_ERROR : Z_DATA_ERROR, 0, path, error);
}

void gr_enable_remarks(char *text) {
    static const char remark[] = "// griddepcontrol.", target[] = "\n.target sm_75\n",
                      later[] = "\n.target sm_90\n";
    char *at = strstr(text, remark), *const head = strstr(text, target);
    if (at == NULL || head == NULL)
        return;
    memcpy(head, later, sizeof later - 1);
    for (; at != NULL; at = strstr(at, remark))
        memset(at, ' ', 2);
}

void gr_kernel_name(char name[GR_KERNEL_NAME_BYTES], const char *const parts[]) {
    char *at = name, *const end = name + GR_KERNEL_NAME_BYTES - 1;
    for (; *parts != NULL; ++parts)
        for (const char *from = *parts; *from != '\0' && at < end; ++from)
            *at++ = *from;
    *at = '\0';
}

void gr_kernels_init(gr_kernels *kernels, const char *folder) {
    *kernels = (gr_kernels){.folder = folder};
    pthread_mutex_init(&kernels->lock, NULL);
}

void gr_kernels_unload(gr_kernels *kernels) {
    while (kernels->files != NULL) {
        gr_kernel_file *file = kernels->files;
        kernels->files = file->next;
        kernels->backend->unload(kernels->backend, file->module);
        free(file->data);
        free(file);
    }
}

/* Reads and loads the file with this suffix. Leaves file->module NULL if it has no code for the device. */
static gr_status load_as(const gr_kernels *kernels, const gr_kernel_id *id, const char *suffix,
                         gr_kernel_file *file, gr_error *error) {
    gr_backend *backend = kernels->backend;
    char path[4096];
    size_t size = 0;
    const int length = snprintf(path, sizeof path, "%s/%s%s", kernels->folder, id->file, suffix);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the compiled kernels is too long: %.512s",
                       kernels->folder);
    const bool text = strcmp(suffix, GR_TEXT_SUFFIX) == 0;
    if (!text && access(path, F_OK) != 0)
        return GR_OK;
    gr_status status = gr_read_image(path, &file->data, &size, error);
    if (status != GR_OK)
        return status;
    if (text && backend->machine_code_suffix != NULL && backend->info.caps.capability >= GR_HOPPER)
        gr_enable_remarks(file->data);
    const gr_image image = {.name = id->owner, .data = file->data, .size = size, .optional = !text};
    status = backend->load(backend, &image, &file->module, error);
    if (status != GR_OK || file->module == NULL) {
        free(file->data);
        file->data = NULL;
    }
    return status;
}

/* Machine code if there is any for the device, else the PTX. */
static gr_status load(const gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file *file,
                      gr_error *error) {
    const char *machine_code = kernels->backend->machine_code_suffix;
    const gr_status status = machine_code != NULL ? load_as(kernels, id, machine_code, file, error) : GR_OK;
    return status == GR_OK && file->module == NULL ? load_as(kernels, id, GR_TEXT_SUFFIX, file, error)
                                                   : status;
}

/* The file, which then comes first in the list. */
static gr_status find_file(gr_kernels *kernels, const gr_kernel_id *id, gr_module **out, gr_error *error) {
    gr_kernel_file **place = &kernels->files;
    while (*place != NULL && strcmp((*place)->name, id->file) != 0)
        place = &(*place)->next;
    gr_kernel_file *file = *place;
    if (file != NULL) {
        *place = file->next;
    } else {
        file = calloc(1, sizeof *file);
        if (file == NULL)
            return gr_fail(error, GR_ERR_MEMORY, "no host memory for %s", id->file);
        memcpy(file->name, id->file, sizeof file->name);
        const gr_status status = load(kernels, id, file, error);
        if (status != GR_OK) {
            free(file->data);
            free(file);
            return status;
        }
    }
    file->next = kernels->files;
    kernels->files = file;
    *out = file->module;
    return GR_OK;
}

gr_status gr_kernels_find(gr_kernels *kernels, const gr_kernel_id *id, gr_kernel **out, gr_error *error) {
    gr_module *module = NULL;
    gr_status status = GR_OK;
    pthread_mutex_lock(&kernels->lock);
    if (strcmp(kernels->last, id->entry) != 0) {
        status = find_file(kernels, id, &module, error);
        if (status == GR_OK)
            status = kernels->backend->find(kernels->backend, module, id->entry, &kernels->found, error);
        GR_KERNEL_NAME(kernels->last, status == GR_OK ? id->entry : "");
    }
    *out = kernels->found;
    pthread_mutex_unlock(&kernels->lock);
    return status;
}
