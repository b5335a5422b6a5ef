// Waiting for other blocks: which block may wait for which, and why the wait ends.
//
// CUDA C++ gives the threads of a grid parallel forward progress (libcu++, "Execution model"): a block that
// has begun goes on, whatever other blocks do. A block that has not begun may have to wait until another
// block ends: CUDA defines no order of blocks, and a device that is shared, partitioned or small holds only
// some of them at a time. Each kernel whose blocks wait follows one of these rules.
//   1. Tickets. A block draws the number of its next piece of work when it is ready for it, and pieces wait
//      for pieces with smaller numbers: scan/scan.cuh, scan/persistent.cuh, segments/segments.cuh. Of the
//      pieces that are not done the one with the smallest number waits for none, and the block that has it
//      has begun. So it gets done, for any order and any number of resident blocks.
//   2. The last ticket. The block that draws the last ticket combines the values that all blocks publish:
//      exact/window.cuh. All others have begun, and wait for nothing. If blocks draw the ticket behind their
//      work (last_block), all others have even published.
//   3. Co-resident blocks. Pieces are numbered by blockIdx and wait for pieces with smaller numbers, as a
//      ticket costs 0.3 to 0.5 us where it is drawn before the first load (a scan of 20,000 float32 between
//      other kernels on an H100: 3.1 us instead of 2.5): scan/one_wave.cuh, segments/row_streaming.cuh. The
//      host launches a grid in parts of as many blocks as the device holds at once (first_block_offset in
//      gr_launch), so a block waits for blocks of its part and for parts before it, which have ended. Once
//      all blocks of a part are resident, the one with the smallest number that is not done waits for none.
//      Blocks of other kernels that hold multiprocessors meanwhile do not wait for this grid, so they end.
//      Two such grids cannot hold multiprocessors from each other as long as a device starts all blocks of a
//      grid before those of a later grid of the same priority. While a device starts blocks in ascending
//      order, a block waits for resident blocks alone even if the device holds fewer than it says, as in a
//      green context.
//   4. One block. Block 0 combines the values that all others publish, which wait for nothing: reduce/flat.
//      The others run one after another wherever there is room, so two resident blocks are enough. The last
//      ticket in its place, though drawn before the loads, took 0.2 to 0.4 us longer in 5 of 104 rows on an
//      H100 (var of 20,000 float32: 4.3 instead of 3.9 us).
// Which block does a piece has no influence on the result: the cut of the work is that of the reference
// device.
#pragma once

// Draws the next of `count` tickets for the calling thread. The counter is zero before the first draw and
// after the last.
inline __device__ unsigned draw_ticket(unsigned *counter, unsigned count) {
    return atomicInc(counter, count - 1);
}
