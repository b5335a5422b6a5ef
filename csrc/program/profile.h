/* The simulator with observers on every launch: what each instruction did, and its races. */
#ifndef GR_PROGRAM_PROFILE_H
#define GR_PROGRAM_PROFILE_H

#include "device/device.h"
#include "device/sim/backend.h"
#include "ptxsim/instrumentation/access_log.h"
#include "ptxsim/instrumentation/counters.h"
#include "ptxsim/instrumentation/racecheck.h"
#include "ptxsim/instrumentation/trace.h"

/* One launch and what was seen of it. */
typedef struct gr_observed {
    struct gr_observed *next;
    const ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    size_t dynamic_shared_bytes;
    ptx_counters *counters;
    ptx_racecheck *races;   /* NULL when races are not looked for */
    ptx_access_log *visits; /* NULL when they are not written down */
    ptx_trace *trace;       /* likewise */
    ptx_observer *observers[PTX_MAX_OBSERVERS];
    char *printed; /* by the kernel */
    size_t printed_bytes;
} gr_observed;

/* What is written down of the timeline's block on demand. */
enum { GR_WATCH_VISITS = 1, GR_WATCH_STEPS = 2 };

/* Zeroed but for its first fields, and released by gr_profile_release. */
typedef struct gr_profile {
    bool look_for_races;
    unsigned watched;        /* GR_WATCH_*, together */
    uint64_t timeline_block; /* UINT64_MAX for none */
    gr_observed *launches;   /* in their order */
    gr_device *device;       /* holds the kernels */
} gr_profile;

/* Adds a launch that is about to be made to the profile, and its observers to the configuration. */
gr_status gr_profile_observe(gr_profile *profile, const ptx_kernel *kernel, ptx_launch_config *config,
                             gr_error *error);

/* Opens profile->device, a simulator of its own whose launches are seen, also those of a program that fails.
 */
gr_status gr_profile_open(gr_profile *profile, const char *image_folder, gr_error *error);
void gr_profile_release(gr_profile *profile);

#endif
