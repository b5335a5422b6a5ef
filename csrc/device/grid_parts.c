/* Implements grid_parts.h. */
#include "device/grid_parts.h"

#include <string.h>

gr_status gr_launch_parts(const gr_launch *launch, uint32_t resident, gr_part_launcher *enqueue, void *arg,
                          gr_error *error) {
    _Alignas(16) char params[GR_MAX_PATCHED_PARAMS];
    const uint32_t blocks = launch->grid[0];
    gr_status status = GR_OK;
    gr_launch part = *launch;
    part.params = memcpy(params, launch->params, launch->param_bytes);
    for (uint32_t first = 0; status == GR_OK && first < blocks; first += part.grid[0]) {
        part.grid[0] = blocks - first < resident ? blocks - first : resident;
        memcpy(params + launch->first_block_offset, &first, sizeof first);
        status = enqueue(arg, &part, error);
    }
    return status;
}
