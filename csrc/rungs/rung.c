#include "rungs/rung.h"

enum { ALL_DEVICES = 75 }; /* of a rung that runs on every device */

gr_status gr_rung_check(const gr_rung *rung, const gr_device_info *info, gr_error *error) {
    if (rung->backends == GR_BACKENDS_CUDA && info->kind != GR_DEVICE_CUDA)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s runs on CUDA devices only, not on the simulator",
                       rung->name);
    if (rung->capability > ALL_DEVICES && info->can.capability < rung->capability)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s needs compute capability %u.%u; %s has %d.%d",
                       rung->name, (unsigned)(rung->capability / 10), (unsigned)(rung->capability % 10),
                       info->name, info->capability_major, info->capability_minor);
    return GR_OK;
}
