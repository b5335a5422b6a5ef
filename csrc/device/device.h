/* Devices that are open, with what is loaded and kept on them: the door of this room. */
#ifndef GR_DEVICE_DEVICE_H
#define GR_DEVICE_DEVICE_H

#include "device/allocator.h"
#include "device/kernels.h"
#include "device/library.h"

enum {
    GR_MAX_CUDA_DEVICES = 64,
    GR_MAX_SIM_DEVICES = 8, /* simulators, each with a memory of its own */
    GR_DEVICES = GR_MAX_SIM_DEVICES + GR_MAX_CUDA_DEVICES
};

/* Where in a list of GR_DEVICES a device has its place, or -1: there is no such device. */
int gr_device_slot(gr_device_kind kind, long index);

typedef struct gr_device {
    gr_backend *backend;
    gr_kernels kernels;
    gr_allocator allocator;
} gr_device;

/* All devices of one Python module, opened at first use and kept until the registry closes. */
typedef struct gr_registry {
    char *image_folder;
    gr_device *devices[GR_DEVICES]; /* as gr_device_slot says */
    pthread_mutex_t lock;
} gr_registry;

gr_status gr_registry_open(gr_registry *registry, const char *image_folder, gr_error *error);
void gr_registry_close(gr_registry *registry);

/* Releases what every open device keeps for later calls, but for loaded kernels. */
void gr_registry_trim(gr_registry *registry);
/* Takes the locks of the registry and of what is in it, or gives them back; around a fork. */
void gr_registry_hold(gr_registry *registry, bool taken);

/* The device, opened if need be; it belongs to the registry. */
gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error);

/* Between the two the calling thread may do nothing but call the core, and that for this device. */
gr_status gr_device_attach(gr_device *device, gr_error *error);
void gr_device_detach(gr_device *device);

/* How a stream stands that is to be used now. GR_ERR_DEVICE for one that takes no work, or is barred. */
gr_status gr_stream_get_state(gr_device *device, gr_stream stream, gr_stream_state *out, gr_error *error);

/* Has what comes next in the stream `to` wait for what is in `from` by now; the host does not wait. Nothing
   is done where both are one, nor between a stream that is being captured and one that is not of that
   capture: that is the caller's to order. */
gr_status gr_stream_wait_for(gr_device *device, gr_stream from, gr_stream to, gr_error *error);

/* Whether the host may wait for a stream: GR_ERR_VALUE for one that is being captured, whose work is done
   when a graph runs, GR_ERR_DEVICE for the legacy default stream while such a one waits for it. */
gr_status gr_stream_check(gr_device *device, gr_stream stream, gr_error *error);

/* Memory of a result on the device: see block.h. */
gr_status gr_allocation_new(gr_device *device, gr_stream stream, size_t bytes, gr_allocation **out,
                            gr_error *error);
/* From now on it is the device's own stream that it is used and freed in the order of: for streams that may
   end before it. */
gr_status gr_allocation_move(gr_device *device, gr_allocation *block, gr_error *error);

/* A device of one's own, beside those of the registry. */
gr_status gr_device_open(gr_device_kind kind, int index, const char *image_folder, gr_device **out,
                         gr_error *error);
void gr_device_close(gr_device *device);

#endif
