/* What the simulator's backend offers beyond backend.h: watching its launches. */
#ifndef GR_DEVICE_SIM_BACKEND_H
#define GR_DEVICE_SIM_BACKEND_H

#include "device/backend.h"
#include "ptxsim/ptxsim.h"

/* Called before each launch; may add observers to the configuration. */
typedef struct gr_sim_watch {
    gr_status (*prepare)(void *arg, const ptx_kernel *kernel, ptx_launch_config *config, gr_error *error);
    void *arg;
} gr_sim_watch;

/* For a backend of one's own: `watch` sees the launches of every thread that uses it. */
void gr_backend_sim_watch(gr_backend *backend, const gr_sim_watch *watch);

/* The host threads that a launch may use: $GPUREDUCE_SIM_THREADS, or as many as there are CPUs. */
unsigned gr_sim_threads(void);

/* Far beyond any reduction that a person waits for, so that only an endless loop meets it. */
#define GR_SIM_STEP_BUDGET (UINT64_C(1) << 40)

gr_status gr_sim_check(ptx_status status, const ptx_error *from, gr_error *error);

#endif
