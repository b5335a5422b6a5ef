/* Devices that are open, with the images of the rungs loaded on them so far. */
#ifndef GR_DEVICE_DEVICE_H
#define GR_DEVICE_DEVICE_H

#include <pthread.h>

#include "device/backend.h"
#include "reduce/flat/params.h"
#include "reduce/ladder/registry.h"

enum { GR_MAX_CUDA_DEVICES = 64 };

typedef struct gr_device {
    gr_backend *backend;
    struct gr_device_image *images; /* one for each variant, two for each operator, loaded at first use */
    gr_devptr scratch;              /* kept from call to call, 0 while one of them has it */
    gr_devptr slots;                /* of the flat kernels, likewise */
    struct gr_ring *rings;          /* of host_stream.c, those that no call has */
    struct gr_direct *directs;      /* of direct.c, likewise */
    gr_kernel *flat[GR_OP_COUNT][GR_DTYPE_COUNT]; /* those that were asked for */
    pthread_mutex_t lock;
} gr_device;

/* Zeroes in device memory. */
gr_status gr_backend_clear(gr_backend *backend, gr_devptr address, size_t bytes, gr_error *error);

/* Device memory for the time of one call. A small piece is kept for the next call: work of all calls is
   ordered in one stream, so that the next one may overwrite it at once. */
gr_status gr_device_scratch_take(gr_device *device, size_t bytes, gr_devptr *out, size_t *granted,
                                 gr_error *error);
void gr_device_scratch_give(gr_device *device, gr_devptr address, size_t granted);

/* Where the blocks of a flat kernel meet: zero, as each launch leaves them. Given back unclean after a launch
   that failed. As with scratch memory, the next call may have them at once. */
gr_status gr_device_slots_take(gr_device *device, gr_devptr *out, gr_error *error);
void gr_device_slots_give(gr_device *device, gr_devptr slots, bool clean);

/* Releases what is kept for later calls, but for loaded kernels. */
void gr_device_trim(gr_device *device);

/* All devices of one Python module, opened at first use and kept until the registry closes. */
typedef struct gr_registry {
    char *image_folder;
    void *cub; /* the CUB library, once it is open */
    gr_device *sim;
    gr_device *cuda[GR_MAX_CUDA_DEVICES];
    pthread_mutex_t lock;
} gr_registry;

gr_status gr_registry_open(gr_registry *registry, const char *image_folder, gr_error *error);
void gr_registry_close(gr_registry *registry);

/* Trims every device that is open. */
void gr_registry_trim(gr_registry *registry);
/* Takes the locks of the registry and of what is in it, or gives them back; around a fork. */
void gr_registry_hold(gr_registry *registry, bool taken);

/* A device of one's own, beside those of the registry; without index for the simulator. */
gr_status gr_device_open(gr_device_kind kind, int index, gr_device **out, gr_error *error);
void gr_device_close(gr_device *device);

/* The device, opened if need be; it belongs to the registry. */
gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error);

/* What a file of compiled kernels holds: a rung, or the general kernels of an operator. */
typedef struct gr_image_id {
    size_t slot;
    const char *name;
    char file[GR_KERNEL_NAME_BYTES]; /* without ending */
} gr_image_id;

gr_image_id gr_image_of_variant(const gr_variant *variant);
gr_image_id gr_image_of_op(gr_op op);
/* Of the flat kernels there is one for compute capability 9.0 and later, and one for devices before. */
gr_image_id gr_image_of_flat(gr_op op, bool hopper);

/* The kernel `entry` of an image, which is loaded if need be. Safe to call from many threads. */
gr_status gr_device_kernel(gr_registry *registry, gr_device *device, const gr_image_id *id, const char *entry,
                           gr_kernel **out, gr_error *error);
/* A flat kernel, `name` being "flat" or "ring". */
gr_status gr_device_flat_kernel(gr_registry *registry, gr_device *device, const char *name, gr_op op,
                                gr_dtype dtype, gr_kernel **out, gr_error *error);

#endif
