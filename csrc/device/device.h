/* Open devices with their loaded kernels and their allocator, and the registry of all devices of the process.
 * Other folders include this header. */
#ifndef GR_DEVICE_DEVICE_H
#define GR_DEVICE_DEVICE_H

#include "device/allocator.h"
#include "device/kernels.h"
#include "device/library.h"

enum {
    GR_MAX_CUDA_DEVICES = 64,
    GR_MAX_SIM_DEVICES = 8, /* simulators, each with its own memory */
    GR_DEVICES = GR_MAX_SIM_DEVICES + GR_MAX_CUDA_DEVICES
};

/* The index of a device in an array of GR_DEVICES, or -1 if there is no such device. */
int gr_device_slot(gr_device_kind kind, long index);

typedef struct gr_device {
    gr_backend *backend;
    gr_kernels kernels;
    gr_allocator allocator;
} gr_device;

/* All devices of a Python module. A device is opened at its first use and stays open until the registry is
 * closed. */
typedef struct gr_registry {
    char *image_folder;
    gr_device *devices[GR_DEVICES]; /* by gr_device_slot */
    pthread_mutex_t lock;
} gr_registry;

gr_status gr_registry_open(gr_registry *registry, const char *image_folder, gr_error *error);
void gr_registry_close(gr_registry *registry);

/* Frees cached memory and objects of all open devices; kernels stay loaded. */
void gr_registry_release_cached(gr_registry *registry);
/* Locks or unlocks the registry, its devices and the driver, around fork(). */
void gr_registry_lock_for_fork(gr_registry *registry, bool taken);

/* Returns a device, which the registry owns, and opens it at its first use. */
gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error);

/* Makes the context of a device current for several calls. Until gr_device_detach the thread may only call
 * the core, for this device. */
gr_status gr_device_attach(gr_device *device, gr_error *error);
void gr_device_detach(gr_device *device);

/* The state of a stream in which work will be enqueued. GR_ERR_DEVICE if it accepts no work. */
gr_status gr_stream_get_state(gr_device *device, gr_stream stream, gr_stream_state *out, gr_error *error);

/* Makes later work of the stream `to` wait for the present work of `from` by an event; the host does not
 * wait. Does nothing if both are one stream, or if one of the two is being captured into a graph of which the
 * other is not a part. */
gr_status gr_stream_wait_for(gr_device *device, gr_stream from, gr_stream to, gr_error *error);

/* Whether the host may wait for a stream. GR_ERR_VALUE if it is being captured, as its work runs with the
 * graph; GR_ERR_DEVICE for the legacy default stream while a blocking stream is captured. */
gr_status gr_stream_check(gr_device *device, gr_stream stream, gr_error *error);

/* Allocates the memory of a result: see allocation.h. */
gr_status gr_allocation_new(gr_device *device, gr_stream stream, size_t bytes, gr_allocation **out,
                            gr_error *error);
/* Moves an allocation to the internal stream of the device: its stream may be destroyed before the allocation
 * is freed. */
gr_status gr_allocation_move(gr_device *device, gr_allocation *allocation, gr_error *error);

/* Opens a device outside the registry, for profiles. gr_device_close frees it. */
gr_status gr_device_open(gr_device_kind kind, int index, const char *image_folder, gr_device **out,
                         gr_error *error);
void gr_device_close(gr_device *device);

#endif
