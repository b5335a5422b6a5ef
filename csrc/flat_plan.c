#include "flat_plan.h"

#include "launch_plan.h"

/* Up to which bytes of input a choice is best; float32 sums on an H200, replayed as graphs over inputs out of
   cache, 2026-11-21.
 */
enum {
    /* From here on letting the next kernel in at the start pays, as it then covers the end of this one: 5.59
       against 6.20 us. Below it delays the hand-over: 3.88 us against 2.92 at 4 MiB. */
    EARLY_BYTES = 16 << 20,
    /* From here on the copy engine wins: 231.9 against 233.0 us at 1 GiB, 933.8 against 942.9 at 4 GiB. */
    RING_BYTES = 512 << 20,
};

void gr_flat_plan_make(uint64_t count, size_t item_bytes, bool pair, bool hopper, gr_flat_launch *out) {
    const uint64_t bytes = count * item_bytes;
    *out = (gr_flat_launch){.params = {.count = count, .divisor = count}};
    if (hopper && !pair && bytes >= RING_BYTES) {
        out->kernel = "ring";
        out->block = GR_RING_THREADS;
        out->grid = GR_FLAT_MOST_BLOCKS / 2; /* a block fills the shared memory of an SM */
        out->shared_bytes = GR_RING_STAGES * GR_RING_STAGE_BYTES;
        return;
    }
    /* Few threads a block spread a small input over more multiprocessors; of a large one, one block each
       keeps the blocks of this kernel and of the next from crowding on some. */
    const bool early = bytes >= EARLY_BYTES;
    const uint32_t most = early ? GR_FLAT_MOST_BLOCKS / 2 : GR_FLAT_MOST_BLOCKS;
    out->kernel = "flat";
    out->block = early ? GR_FLAT_MOST_THREADS : GR_FLAT_MOST_THREADS / 2;
    const uint64_t blocks = gr_ceil_div(bytes, (uint64_t)out->block * GR_FLAT_CHUNKS * 16);
    out->grid = (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
    out->params.flags = early ? GR_FLAT_EARLY : 0;
}
