#include "flat_plan.h"

#include "launch_plan.h"

/* Up to which bytes of input a choice is best; float32 sums on an H200, replayed as graphs over inputs out of
   cache, 2026-11-21.
 */
enum {
    /* One block of few threads: 1.09 us at 1 KiB with 128, 1.21 with 512; 1.31 at 16 KiB with 256, 1.38 with
       512. At 32 KiB a second block would cost more than threads: 1.53 us with one of 512, 1.84 with two. */
    FEW_BYTES = 128 * GR_FLAT_CHUNKS * 16,
    LONE_BYTES = 512 * GR_FLAT_CHUNKS * 16,
    /* Up to here blocks of 256 threads, more of which share the work: 1.97 us at 256 KiB, 2.21 with 512. */
    SPREAD_BYTES = 1 << 20,
    /* From here on letting the next kernel in at the start pays, as it then covers the end of this one: 5.59
       against 6.20 us. Below it delays the hand-over: 3.88 us against 2.92 at 4 MiB. */
    EARLY_BYTES = 16 << 20,
    /* From here on the copy engine wins: 237.2 against 237.5 us, 935.1 against 943.1 at 4 GiB; 120.6 against
       119.7 at half of this. */
    RING_BYTES = 1 << 30,
};

static uint32_t threads_of(uint64_t bytes) {
    if (bytes <= FEW_BYTES)
        return 128;
    if (bytes > LONE_BYTES / 2 && bytes <= LONE_BYTES)
        return 512;
    return bytes <= SPREAD_BYTES ? 256 : bytes < EARLY_BYTES ? 512 : GR_FLAT_MOST_THREADS;
}

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
    const bool early = bytes >= EARLY_BYTES;
    /* Of a large input, one block a multiprocessor keeps those of this kernel and of the next from crowding
       on some. */
    const uint32_t most = early ? GR_FLAT_MOST_BLOCKS / 2 : GR_FLAT_MOST_BLOCKS;
    out->kernel = "flat";
    out->block = threads_of(bytes);
    const uint64_t blocks = gr_ceil_div(bytes, (uint64_t)out->block * GR_FLAT_CHUNKS * 16);
    out->grid = (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
    out->params.flags = early ? GR_FLAT_EARLY : 0;
}
