/* The simulator backend beyond backend.h: observers of launches, and host threads. */
#ifndef GR_DEVICE_SIM_BACKEND_H
#define GR_DEVICE_SIM_BACKEND_H

#include "device/backend.h"
#include "ptxsim/ptxsim.h"

/* Called before each launch; may add observers to the configuration. */
typedef gr_status gr_sim_prepare(void *arg, const ptx_kernel *kernel, ptx_launch_config *config,
                                 gr_error *error);

/* Sets the function that is called before each launch, by any thread that uses this backend. */
void gr_backend_sim_watch(gr_backend *backend, gr_sim_prepare *prepare, void *arg);

/* Sets the fields of a launch that environment variables control: host threads by $GPUREDUCE_SIM_THREADS
   (default: the number of CPUs), $GPUREDUCE_SIM_BLOCK_ORDER and $GPUREDUCE_SIM_RESIDENT_BLOCKS. */
void gr_sim_configure(ptx_launch_config *config);

/* A step limit that only endless loops reach. */
#define GR_SIM_STEP_BUDGET (UINT64_C(1) << 40)

/* Converts a status of ptxsim and its error. Returns GR_OK for success. */
gr_status gr_sim_check(ptx_status status, const ptx_error *from, gr_error *error);

#endif
