/* Reads files of compiled kernels, loads machine code or PTX, and finds kernels in them. */
#include "device/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/ptx_text.h"

/* One kernel of PTX. A file has up to 120 kernels, of which a process needs few, and the driver takes seconds
   to compile them all. */
typedef struct kernel_part {
    struct kernel_part *next;
    gr_module *module;
    char entry[GR_KERNEL_NAME_BYTES];
} kernel_part;

/* A backend may keep pointing into the data, so they live as long as the modules. */
typedef struct gr_kernel_file {
    struct gr_kernel_file *next;
    gr_module *module;  /* of machine code; NULL for PTX */
    kernel_part *parts; /* of PTX, the most recently used first */
    char name[GR_KERNEL_NAME_BYTES];
    char *data;
    size_t size;
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

static gr_status damaged(const char *path, gr_error *error) {
    return gr_fail(error, GR_ERR_DEVICE, "the compiled kernels in %s are damaged; reinstall gpureduce", path);
}

/* Restores PTX if it has differences instead of registers. */
static gr_status restore(const char *path, char **data, size_t *size, gr_error *error) {
    if (!gr_has_differences(*data))
        return GR_OK;
    char *text = *data;
    const gr_restore_result result = gr_restore_registers(text, *size, data, size);
    free(text);
    switch (result) {
    case GR_RESTORE_OK:
        return GR_OK;
    case GR_RESTORE_NO_MEMORY:
        return no_memory(path, error);
    case GR_RESTORE_DAMAGED:
        break;
    }
    return damaged(path, error);
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
        return restore(path, data, size, error);
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
    return damaged(path, error);
}

gr_status gr_read_kernel(const char *path, const char *entry, char **text, size_t *size, gr_error *error) {
    const gr_status status = gr_read_image(path, text, size, error);
    if (status != GR_OK)
        return status;
    char *file = *text;
    *text = gr_extract_kernel(file, *size, entry);
    free(file);
    if (*text == NULL)
        return no_memory(path, error);
    *size = strlen(*text);
    return GR_OK;
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
        while (file->parts != NULL) {
            kernel_part *part = file->parts;
            file->parts = part->next;
            kernels->backend->unload(kernels->backend, part->module);
            free(part);
        }
        if (file->module != NULL)
            kernels->backend->unload(kernels->backend, file->module);
        free(file->data);
        free(file);
    }
}

/* Reads the file with this suffix. */
static gr_status read_as(const gr_kernels *kernels, const gr_kernel_id *id, const char *suffix,
                         gr_kernel_file *file, gr_error *error) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s%s", kernels->folder, id->file, suffix);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the compiled kernels is too long: %.512s",
                       kernels->folder);
    const bool optional = strcmp(suffix, GR_TEXT_SUFFIX) != 0;
    return optional && access(path, F_OK) != 0 ? GR_OK : gr_read_image(path, &file->data, &file->size, error);
}

/* Loads machine code. Leaves file->module NULL if there is none for the device. */
static gr_status load_machine_code(const gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file *file,
                                   gr_error *error) {
    gr_backend *backend = kernels->backend;
    gr_status status = read_as(kernels, id, backend->machine_code_suffix, file, error);
    if (status != GR_OK || file->data == NULL)
        return status;
    const gr_image image = {.name = id->owner, .data = file->data, .size = file->size, .optional = true};
    status = backend->load(backend, &image, &file->module, error);
    if (status != GR_OK || file->module == NULL) {
        free(file->data);
        file->data = NULL;
    }
    return status;
}

/* Loads machine code if there is any for the device, else reads the PTX. */
static gr_status load(const gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file *file,
                      gr_error *error) {
    const gr_backend *backend = kernels->backend;
    const bool compiles = backend->machine_code_suffix != NULL;
    gr_status status = compiles ? load_machine_code(kernels, id, file, error) : GR_OK;
    if (status != GR_OK || file->module != NULL)
        return status;
    status = read_as(kernels, id, GR_TEXT_SUFFIX, file, error);
    if (status == GR_OK && compiles && backend->info.caps.capability >= GR_HOPPER)
        gr_enable_remarks(file->data);
    return status;
}

/* The file, which then comes first in the list. */
static gr_status find_file(gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file **out,
                           gr_error *error) {
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
    *out = kernels->files = file;
    return GR_OK;
}

/* The module of one kernel of PTX, which then comes first in the list. */
static gr_status find_part(const gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file *file,
                           gr_module **out, gr_error *error) {
    kernel_part **place = &file->parts;
    while (*place != NULL && strcmp((*place)->entry, id->entry) != 0)
        place = &(*place)->next;
    kernel_part *part = *place;
    if (part != NULL) {
        *place = part->next;
    } else {
        part = calloc(1, sizeof *part);
        if (part == NULL)
            return gr_fail(error, GR_ERR_MEMORY, "no host memory for %s", id->entry);
        memcpy(part->entry, id->entry, sizeof part->entry);
        const gr_image image = {
            .name = id->owner, .data = file->data, .size = file->size, .kernel = part->entry};
        const gr_status status = kernels->backend->load(kernels->backend, &image, &part->module, error);
        if (status != GR_OK) {
            free(part);
            return status;
        }
    }
    part->next = file->parts;
    file->parts = part;
    *out = part->module;
    return GR_OK;
}

/* The module that has the kernel. */
static gr_status find_module(gr_kernels *kernels, const gr_kernel_id *id, gr_module **out, gr_error *error) {
    gr_kernel_file *file = NULL;
    const gr_status status = find_file(kernels, id, &file, error);
    if (status != GR_OK)
        return status;
    *out = file->module;
    return file->module != NULL ? GR_OK : find_part(kernels, id, file, out, error);
}

gr_status gr_kernels_find(gr_kernels *kernels, const gr_kernel_id *id, gr_kernel **out, gr_error *error) {
    gr_module *module = NULL;
    gr_status status = GR_OK;
    pthread_mutex_lock(&kernels->lock);
    if (strcmp(kernels->last, id->entry) != 0) {
        status = find_module(kernels, id, &module, error);
        if (status == GR_OK)
            status = kernels->backend->find(kernels->backend, module, id->entry, &kernels->found, error);
        GR_KERNEL_NAME(kernels->last, status == GR_OK ? id->entry : "");
    }
    *out = kernels->found;
    pthread_mutex_unlock(&kernels->lock);
    return status;
}
