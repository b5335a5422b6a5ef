/* Profiles: a simulator whose launches are all instrumented with counters and, on demand, the race detector,
 * the access log and the trace of one block. */
#ifndef GR_PROGRAM_PROFILE_H
#define GR_PROGRAM_PROFILE_H

#include "device/device.h"
#include "device/sim/backend.h"
#include "ptxsim/instrumentation/access_log.h"
#include "ptxsim/instrumentation/counters.h"
#include "ptxsim/instrumentation/global_races.h"
#include "ptxsim/instrumentation/racecheck.h"
#include "ptxsim/instrumentation/trace.h"

/* One launch, and what its observers recorded. */
typedef struct gr_observed {
    struct gr_observed *next;
    const ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    size_t dynamic_shared_bytes;
    ptx_counters *counters;
    ptx_racecheck *races;           /* NULL if the race detector is off */
    ptx_global_races *global_races; /* adds to `races`; NULL if it is off */
    ptx_access_log *accesses;       /* the access log; NULL if it is off */
    ptx_trace *trace;               /* NULL if it is off */
    ptx_observer *observers[PTX_MAX_OBSERVERS];
    char *printed; /* text that the kernel printed, not NUL-terminated */
    size_t printed_bytes;
} gr_observed;

/* Bits of gr_profile.watched: what is recorded of timeline_block in addition to the timeline. */
enum { GR_WATCH_ACCESSES = 1, GR_WATCH_STEPS = 2 };

/* The caller sets the first three fields and zeroes the others. Freed by gr_profile_release. */
typedef struct gr_profile {
    ptx_race_scope races;
    unsigned watched;        /* GR_WATCH_* bits */
    uint64_t timeline_block; /* linear index of a block; UINT64_MAX for none */
    gr_observed *launches;   /* in the order of execution */
    gr_device *device;       /* owns the kernels that `launches` refer to */
} gr_profile;

/* Adds a launch to the profile before it runs, and its observers to the launch configuration. */
gr_status gr_profile_observe(gr_profile *profile, const ptx_kernel *kernel, ptx_launch_config *config,
                             gr_error *error);

/* Opens profile->device, a simulator that only this profile uses. Its launches are recorded, also those of a
 * program that fails. */
gr_status gr_profile_open(gr_profile *profile, const char *image_folder, gr_error *error);
void gr_profile_release(gr_profile *profile);

#endif
