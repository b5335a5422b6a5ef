#include "device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"
#include "feed/direct.h"
#include "feed/ring.h"

/* A backend may keep pointing into the text, so it lives as long as the module. */
typedef struct gr_device_image {
    char *data;
    gr_module *module;
} gr_device_image;

static size_t image_count(void) {
    return gr_variant_count + 2 * (size_t)GR_OP_COUNT;
}

gr_image_id gr_image_of_variant(const gr_variant *variant) {
    gr_image_id id = {.slot = (size_t)(variant - gr_variants), .name = variant->name};
    snprintf(id.file, sizeof id.file, "%s", variant->file);
    return id;
}

gr_image_id gr_image_of_op(gr_op op) {
    gr_image_id id = {.slot = gr_variant_count + (size_t)op, .name = gr_ops[op].name};
    snprintf(id.file, sizeof id.file, "general_%s", gr_ops[op].name);
    return id;
}

gr_image_id gr_image_of_flat(gr_op op, bool hopper) {
    gr_image_id id = {.slot = gr_variant_count + GR_OP_COUNT + (size_t)op, .name = gr_ops[op].name};
    snprintf(id.file, sizeof id.file, "flat_%s%s", gr_ops[op].name, hopper ? "" : "_75");
    return id;
}

static gr_status read_file(const char *path, char **data, size_t *size, gr_error *error) {
    gr_status status = GR_OK;
    char *text = NULL;
    long length = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) != 0) {
        status =
            gr_fail(error, GR_ERR_DEVICE, "cannot read the compiled kernels in %s: %s; reinstall gpureduce",
                    path, strerror(errno));
        goto cleanup;
    }
    text = malloc((size_t)length + 1);
    if (text == NULL) {
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory for %ld bytes of compiled kernels", length);
        goto cleanup;
    }
    if (fread(text, 1, (size_t)length, file) != (size_t)length) {
        status =
            gr_fail(error, GR_ERR_DEVICE, "cannot read the compiled kernels in %s: file cut short", path);
        goto cleanup;
    }
    text[length] = '\0';
    *data = text;
    *size = (size_t)length;
    text = NULL;
cleanup:
    free(text);
    if (file != NULL)
        fclose(file);
    return status;
}

/* Pieces of this size are all alike, so that calls of any kind share one; larger ones are not kept. */
enum { SCRATCH_KEPT = 1 << 20 };

gr_status gr_device_scratch_take(gr_device *device, size_t bytes, gr_devptr *out, size_t *granted,
                                 gr_error *error) {
    *granted = bytes > SCRATCH_KEPT ? bytes : SCRATCH_KEPT;
    if (bytes <= SCRATCH_KEPT) {
        pthread_mutex_lock(&device->lock);
        *out = device->scratch;
        device->scratch = 0;
        pthread_mutex_unlock(&device->lock);
        if (*out != 0)
            return GR_OK;
    }
    return device->backend->alloc(device->backend, *granted, out, error);
}

void gr_device_scratch_give(gr_device *device, gr_devptr address, size_t granted) {
    gr_devptr unwanted = address;
    if (address != 0 && granted == SCRATCH_KEPT) {
        pthread_mutex_lock(&device->lock);
        unwanted = device->scratch;
        device->scratch = address;
        pthread_mutex_unlock(&device->lock);
    }
    device->backend->free(device->backend, unwanted);
}

gr_status gr_backend_clear(gr_backend *backend, gr_devptr address, size_t bytes, gr_error *error) {
    void *zeroes = calloc(1, bytes);
    if (zeroes == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu bytes", bytes);
    const gr_status status = backend->upload(backend, address, zeroes, bytes, error);
    free(zeroes);
    return status;
}

gr_status gr_device_slots_take(gr_device *device, gr_devptr *out, gr_error *error) {
    enum { BYTES = GR_FLAT_MOST_BLOCKS * GR_FLAT_SLOT_BYTES };
    pthread_mutex_lock(&device->lock);
    *out = device->slots;
    device->slots = 0;
    pthread_mutex_unlock(&device->lock);
    if (*out != 0)
        return GR_OK;
    gr_status status = device->backend->alloc(device->backend, BYTES, out, error);
    if (status == GR_OK)
        status = gr_backend_clear(device->backend, *out, BYTES, error);
    if (status != GR_OK) {
        device->backend->free(device->backend, *out);
        *out = 0;
    }
    return status;
}

void gr_device_slots_give(gr_device *device, gr_devptr slots, bool clean) {
    gr_devptr unwanted = slots;
    if (slots != 0 && clean) {
        pthread_mutex_lock(&device->lock);
        unwanted = device->slots;
        device->slots = slots;
        pthread_mutex_unlock(&device->lock);
    }
    device->backend->free(device->backend, unwanted);
}

void gr_device_trim(gr_device *device) {
    pthread_mutex_lock(&device->lock);
    gr_ring *rings = device->rings;
    gr_direct *directs = device->directs;
    const gr_devptr scratch = device->scratch, slots = device->slots;
    device->rings = NULL;
    device->directs = NULL;
    device->scratch = device->slots = 0;
    pthread_mutex_unlock(&device->lock);
    gr_rings_close(device->backend, rings);
    gr_directs_close(device->backend, directs);
    device->backend->free(device->backend, scratch);
    device->backend->free(device->backend, slots);
}

void gr_device_close(gr_device *device) {
    if (device == NULL)
        return;
    if (device->backend != NULL)
        gr_device_trim(device);
    for (size_t i = 0; device->images != NULL && i < image_count(); ++i) {
        if (device->images[i].module != NULL)
            device->backend->unload(device->backend, device->images[i].module);
        free(device->images[i].data);
    }
    free(device->images);
    if (device->backend != NULL)
        device->backend->close(device->backend);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

gr_status gr_device_open(gr_device_kind kind, int index, gr_device **out, gr_error *error) {
    gr_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to open a device");
    pthread_mutex_init(&device->lock, NULL);
    gr_status status = GR_OK;
    device->images = calloc(image_count(), sizeof *device->images);
    if (device->images == NULL)
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory to open a device");
    else if (kind == GR_DEVICE_CUDA)
        status = gr_backend_cuda_open(index, &device->backend, error);
    else
        status = gr_backend_sim_open(&device->backend, error);
    if (status != GR_OK) {
        gr_device_close(device);
        return status;
    }
    *out = device;
    return GR_OK;
}

gr_status gr_registry_open(gr_registry *registry, const char *image_folder, gr_error *error) {
    memset(registry, 0, sizeof *registry);
    registry->image_folder = strdup(image_folder);
    if (registry->image_folder == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for the device registry");
    pthread_mutex_init(&registry->lock, NULL);
    return GR_OK;
}

void gr_registry_close(gr_registry *registry) {
    if (registry->image_folder == NULL)
        return;
    gr_device_close(registry->sim);
    for (int i = 0; i < GR_MAX_CUDA_DEVICES; ++i)
        gr_device_close(registry->cuda[i]);
    pthread_mutex_destroy(&registry->lock);
    free(registry->image_folder);
    memset(registry, 0, sizeof *registry);
}

void gr_registry_trim(gr_registry *registry) {
    pthread_mutex_lock(&registry->lock); /* devices stay open until the registry closes */
    gr_device *sim = registry->sim, *cuda[GR_MAX_CUDA_DEVICES];
    memcpy(cuda, registry->cuda, sizeof cuda);
    pthread_mutex_unlock(&registry->lock);
    if (sim != NULL)
        gr_device_trim(sim);
    for (int i = 0; i < GR_MAX_CUDA_DEVICES; ++i)
        if (cuda[i] != NULL)
            gr_device_trim(cuda[i]);
}

static void device_hold(gr_device *device, bool taken) {
    if (device == NULL)
        return;
    gr_backend *backend = device->backend;
    if (taken)
        pthread_mutex_lock(&device->lock);
    if (backend->hold != NULL)
        backend->hold(backend, taken);
    if (!taken)
        pthread_mutex_unlock(&device->lock);
}

void gr_registry_hold(gr_registry *registry, bool taken) {
    if (registry->image_folder == NULL)
        return;
    if (taken)
        pthread_mutex_lock(&registry->lock);
    device_hold(registry->sim, taken);
    for (int i = 0; i < GR_MAX_CUDA_DEVICES; ++i)
        device_hold(registry->cuda[i], taken);
    gr_cuda_driver_hold(taken);
    if (!taken)
        pthread_mutex_unlock(&registry->lock);
}

gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error) {
    if (registry->image_folder == NULL)
        return gr_fail(error, GR_ERR_DEVICE,
                       "the device registry is not open; import gpureduce, not its core");
    if (kind == GR_DEVICE_CUDA && (index < 0 || index >= GR_MAX_CUDA_DEVICES))
        return gr_fail(error, GR_ERR_DEVICE, "cuda:%ld: no such device; indices go from 0 to %d", index,
                       GR_MAX_CUDA_DEVICES - 1);
    gr_device **slot = kind == GR_DEVICE_CUDA ? &registry->cuda[index] : &registry->sim;
    pthread_mutex_lock(&registry->lock);
    gr_status status = *slot != NULL ? GR_OK : gr_device_open(kind, (int)index, slot, error);
    *out = *slot;
    pthread_mutex_unlock(&registry->lock);
    return status;
}

static gr_status load_image(const gr_registry *registry, gr_device *device, const gr_image_id *id,
                            gr_device_image *image, gr_error *error) {
    char path[4096];
    size_t size = 0;
    int length = snprintf(path, sizeof path, "%s/%s%s", registry->image_folder, id->file,
                          device->backend->image_suffix);
    if (length < 0 || (size_t)length >= sizeof path)
        return gr_fail(error, GR_ERR_DEVICE, "the path of the compiled kernels is too long: %.512s",
                       registry->image_folder);
    gr_status status = read_file(path, &image->data, &size, error);
    if (status != GR_OK)
        return status;
    const gr_image text = {.name = id->name, .data = image->data, .size = size};
    status = device->backend->load(device->backend, &text, &image->module, error);
    if (status != GR_OK) {
        free(image->data);
        image->data = NULL;
    }
    return status;
}

gr_status gr_device_kernel(gr_registry *registry, gr_device *device, const gr_image_id *id, const char *entry,
                           gr_kernel **out, gr_error *error) {
    gr_device_image *image = &device->images[id->slot];
    pthread_mutex_lock(&device->lock);
    gr_status status = image->module != NULL ? GR_OK : load_image(registry, device, id, image, error);
    if (status == GR_OK)
        status = device->backend->find(device->backend, image->module, entry, out, error);
    pthread_mutex_unlock(&device->lock);
    return status;
}

gr_status gr_device_flat_kernel(gr_registry *registry, gr_device *device, const char *name, gr_op op,
                                gr_dtype dtype, gr_kernel **out, gr_error *error) {
    const bool usual = strcmp(name, "flat") == 0; /* looked up by name once, as small calls feel that */
    gr_kernel *kernel = NULL;
    if (usual) {
        pthread_mutex_lock(&device->lock);
        kernel = device->flat[op][dtype];
        pthread_mutex_unlock(&device->lock);
    }
    if (kernel == NULL) {
        const gr_image_id image = gr_image_of_flat(op, device->backend->info.can.capability >= GR_HOPPER);
        char entry[GR_KERNEL_NAME_BYTES];
        snprintf(entry, sizeof entry, "%s_%s_%s", name, gr_ops[op].name, gr_dtypes[dtype].name);
        const gr_status status = gr_device_kernel(registry, device, &image, entry, &kernel, error);
        if (status != GR_OK)
            return status;
        if (usual) {
            pthread_mutex_lock(&device->lock);
            device->flat[op][dtype] = kernel;
            pthread_mutex_unlock(&device->lock);
        }
    }
    *out = kernel;
    return GR_OK;
}
