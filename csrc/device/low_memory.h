/* Asks other libraries of the process (PyTorch) to free the device memory that their caches hold unused. */
#ifndef GR_DEVICE_LOW_MEMORY_H
#define GR_DEVICE_LOW_MEMORY_H

#include "device/backend.h"

/* Frees cached memory of CUDA device `index`, which is current; true if any was freed. */
typedef bool (*gr_low_memory)(int index);
/* Sets the callback of the process; NULL for none. It is called without holding a lock of this library. */
void gr_on_low_memory(gr_low_memory callback);

/* Called after a failed allocation. True if another attempt may succeed. */
bool gr_release_caches(gr_backend *backend);

#endif
