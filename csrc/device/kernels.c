#include "device/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/image.h"

/* A backend may keep pointing into the text, so it lives as long as the module. */
typedef struct gr_kernel_file {
    struct gr_kernel_file *next;
    gr_module *module;
    char name[GR_KERNEL_NAME_BYTES];
    char *data;
} gr_kernel_file;

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

static gr_status load(const gr_kernels *kernels, const gr_kernel_id *id, gr_kernel_file *file,
                      gr_error *error) {
    char path[4096];
    size_t size = 0;
    int length =
        snprintf(path, sizeof path, "%s/%s%s", kernels->folder, id->file, kernels->backend->image_suffix);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the compiled kernels is too long: %.512s",
                       kernels->folder);
    const gr_status status = gr_read_image(path, &file->data, &size, error);
    const gr_image image = {.name = id->owner, .data = file->data, .size = size};
    return status == GR_OK ? kernels->backend->load(kernels->backend, &image, &file->module, error) : status;
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
