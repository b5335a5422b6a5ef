/* The search of a rung by name, and its check against a device. */
#include "rungs/rung.h"

#include <stdio.h>
#include <string.h>

enum { ALL_DEVICES = 75 }; /* compute capability of rungs that run on every supported device */

gr_status gr_rung_check(const gr_rung *rung, const gr_device_info *info, gr_error *error) {
    if (rung->backends == GR_BACKENDS_CUDA && info->kind != GR_DEVICE_CUDA)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s runs on CUDA devices only, not on the simulator",
                       rung->name);
    if (rung->capability > ALL_DEVICES && info->caps.capability < rung->capability)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s needs compute capability %u.%u; %s has %d.%d",
                       rung->name, (unsigned)(rung->capability / 10), (unsigned)(rung->capability % 10),
                       info->name, info->capability_major, info->capability_minor);
    return GR_OK;
}

const void *gr_rung_find(const gr_ladder *ladder, const char *name, gr_error *error) {
    char names[512] = "auto";
    size_t used = strlen(names);
    for (size_t i = 0; i < ladder->count; ++i) {
        const gr_rung *rung = (const void *)((const char *)ladder->rows + i * ladder->row_bytes);
        if (strcmp(rung->name, name) == 0)
            return rung;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, ", %s", rung->name);
    }
    gr_fail(error, GR_ERR_VALUE, "variant: unknown variant '%.64s'%s; expected one of %s", name, ladder->of,
            names);
    return NULL;
}
