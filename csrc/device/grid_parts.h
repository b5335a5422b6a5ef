/* Launches of a grid in parts: blocks that wait for blocks with smaller numbers must be resident together
   with these, or come after them. */
#ifndef GR_DEVICE_GRID_PARTS_H
#define GR_DEVICE_GRID_PARTS_H

#include "device/backend.h"

/* Enqueues one part, which is a whole launch. */
typedef gr_status gr_part_launcher(void *arg, const gr_launch *part, gr_error *error);

/* Enqueues a launch with a first_block_offset in parts of up to `resident` blocks along x. Each part has the
   number of its first block in a copy of the parameters. Stops at the first failure. */
gr_status gr_launch_parts(const gr_launch *launch, uint32_t resident, gr_part_launcher *enqueue, void *arg,
                          gr_error *error);

#endif
