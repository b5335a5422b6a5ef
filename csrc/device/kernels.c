/* Reads files of compiled kernels, loads machine code or PTX, and finds kernels in them. */
#include "device/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A backend may keep pointing into the text, so it lives as long as the module. */
typedef struct gr_kernel_file {
    struct gr_kernel_file *next;
    gr_module *module;
    char name[GR_KERNEL_NAME_BYTES];
    char *data;
} gr_kernel_file;

static gr_status no_memory(const char *path, gr_error *error) {
    return gr_fail(error, GR_ERR_MEMORY, "no host memory to read the compiled kernels in %s", path);
}

static gr_status cannot_read(int number, const char *path, gr_error *error) {
    const bool missing = number == ENOENT || number == ENOTDIR || number == EISDIR;
    gr_fail(error, missing ? GR_ERR_DEVICE : GR_ERR_SYSTEM, "cannot read the compiled kernels in %s: %s%s",
            path, strerror(number), missing ? "; reinstall gpureduce" : "");
    error->number = number;
    return error->status;
}

/* Reads a file to its end. */
static gr_status read_file(const char *path, char **data, size_t *size, gr_error *error) {
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &about) != 0) {
        const int number = errno;
        if (file != NULL)
            fclose(file);
        return number == ENOMEM ? no_memory(path, error) : cannot_read(number, path, error);
    }
    *data = malloc((size_t)about.st_size + 1);
    errno = 0;
    *size = *data != NULL ? fread(*data, 1, (size_t)about.st_size, file) : 0;
    const int number = errno;
    fclose(file);
    if (*data == NULL)
        return no_memory(path, error);
    (*data)[*size] = '\0';
    return *size < (size_t)about.st_size && number != 0 ? cannot_read(number, path, error) : GR_OK;
}

gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error) {
    const gr_status status = read_file(path, data, size, error);
    if (status != GR_OK || !gr_is_xz((const uint8_t *)*data, *size))
        return status;
    char *packed = *data;
    *data = NULL;
    const gr_xz_result result = gr_unpack_xz((const uint8_t *)packed, *size, data, size);
    free(packed);
    switch (result) {
    case GR_XZ_OK:
        return GR_OK;
    case GR_XZ_NO_MEMORY:
        return no_memory(path, error);
    case GR_XZ_NO_LIBRARY:
        return gr_fail(
            error, GR_ERR_DEVICE,
            "neither liblzma.so.5 nor Python's module lzma is there to unpack the compiled kernels; "
            "install the package liblzma5 (Debian, Ubuntu) or xz-libs (Fedora, RHEL)");
    case GR_XZ_DAMAGED:
        break;
    }
    return gr_fail(error, GR_ERR_DEVICE, "the compiled kernels in %s are damaged; reinstall gpureduce", path);
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
    const gr_image image = {
        .name = id->owner, .data = file->data, .size = size, .optional = !text, .one_by_one = true};
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
