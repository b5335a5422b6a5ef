/* Memory of a device that other libraries of the process keep unused in caches of their own. */
#ifndef GR_DEVICE_LOW_MEMORY_H
#define GR_DEVICE_LOW_MEMORY_H

#include "device/backend.h"

/* Releases such memory of CUDA device `index`, which is current; returns whether there was any. */
typedef bool (*gr_low_memory)(int index);
/* The callback for the whole process; NULL for none. It is called without a lock of ours. */
void gr_on_low_memory(gr_low_memory callback);

/* To be called when an allocation failed. True: the allocation is worth a second attempt. */
bool gr_release_caches(gr_backend *backend);

#endif
