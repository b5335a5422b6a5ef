/* Profiles of launches on the simulator: creates the observers of each launch, and keeps them with what the
 * kernel printed. */
#include "program/profile.h"

#include <stdlib.h>
#include <string.h>

static void observed_free(gr_observed *observed) {
    ptx_counters_free(observed->counters);
    ptx_global_races_free(observed->global_races);
    ptx_racecheck_free(observed->races);
    ptx_access_log_free(observed->accesses);
    ptx_trace_free(observed->trace);
    free(observed->printed);
    free(observed);
}

static gr_status observed_create(const gr_profile *profile, const ptx_kernel *kernel, gr_observed *observed,
                                 gr_error *error) {
    ptx_error failed;
    observed->kernel = kernel;
    ptx_status status = ptx_counters_create(kernel, profile->timeline_block, &observed->counters, &failed);
    if (status == PTX_OK && profile->races)
        status = ptx_racecheck_create(&observed->races, &failed);
    if (status == PTX_OK && profile->races == PTX_RACES_GLOBAL)
        status = ptx_global_races_create(&observed->races->table, &observed->global_races, &failed);
    if (status == PTX_OK && profile->watched & GR_WATCH_ACCESSES)
        status = ptx_access_log_create(profile->timeline_block, &observed->accesses, &failed);
    if (status == PTX_OK && profile->watched & GR_WATCH_STEPS)
        status = ptx_trace_create(profile->timeline_block, &observed->trace, &failed);
    return gr_sim_check(status, &failed, error);
}

static bool keep_printed(void *arg, const char *text, size_t length) {
    gr_observed *observed = arg;
    char *grown = realloc(observed->printed, observed->printed_bytes + length);
    if (grown == NULL)
        return false;
    memcpy(grown + observed->printed_bytes, text, length);
    observed->printed = grown;
    observed->printed_bytes += length;
    return true;
}

gr_status gr_profile_observe(gr_profile *profile, const ptx_kernel *kernel, ptx_launch_config *config,
                             gr_error *error) {
    gr_observed *observed = calloc(1, sizeof *observed);
    if (observed == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a profile");
    const gr_status status = observed_create(profile, kernel, observed, error);
    if (status != GR_OK) {
        observed_free(observed);
        return status;
    }
    gr_observed **end = &profile->launches;
    while (*end != NULL)
        end = &(*end)->next;
    *end = observed;
    memcpy(observed->grid, config->grid, sizeof observed->grid);
    memcpy(observed->block, config->block, sizeof observed->block);
    observed->dynamic_shared_bytes = config->dynamic_shared_bytes;
    size_t count = 0;
    observed->observers[count++] = &observed->counters->base;
    if (observed->races != NULL)
        observed->observers[count++] = &observed->races->base;
    if (observed->global_races != NULL)
        observed->observers[count++] = &observed->global_races->base;
    if (observed->accesses != NULL)
        observed->observers[count++] = &observed->accesses->base;
    if (observed->trace != NULL)
        observed->observers[count++] = &observed->trace->base;
    config->observers = observed->observers;
    config->observer_count = count;
    config->print = keep_printed;
    config->print_arg = observed;
    return GR_OK;
}

static gr_status prepare(void *arg, const ptx_kernel *kernel, ptx_launch_config *config, gr_error *error) {
    return gr_profile_observe(arg, kernel, config, error);
}

gr_status gr_profile_open(gr_profile *profile, const char *image_folder, gr_error *error) {
    const gr_status status = gr_device_open(GR_DEVICE_SIM, 0, image_folder, &profile->device, error);
    if (status != GR_OK)
        return status;
    gr_backend_sim_watch(profile->device->backend, prepare, profile);
    return GR_OK;
}

void gr_profile_release(gr_profile *profile) {
    while (profile->launches != NULL) {
        gr_observed *observed = profile->launches;
        profile->launches = observed->next;
        observed_free(observed);
    }
    gr_device_close(profile->device);
    profile->device = NULL;
}
