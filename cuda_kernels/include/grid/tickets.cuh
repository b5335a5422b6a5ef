// Waiting for other blocks: which block may wait for which, and why the wait ends.
//
// CUDA C++ promises parallel forward progress (libcu++, "Execution model"): a block that has begun eventually
// goes on, whatever other blocks do. A block that has not begun may have to wait until another block ends.
// CUDA defines no order of blocks, and a device that is shared, partitioned or small holds few blocks at a
// time. Each kernel whose blocks wait follows one of four rules. The first two need no more than that
// promise.
//
// 1. Tickets: scan/scan.cuh, scan/persistent.cuh, segments/segments.cuh.
//    A block draws the number of each piece of its work, and does its pieces in ascending order. A piece
//    waits for pieces with smaller numbers. All of those have been drawn, so their blocks have begun. The
//    piece with the smallest number that is not done waits for none.
// 2. The last ticket: exact/window.cuh, last_block.
//    Each block draws a ticket. The block with the last one combines the values that all blocks publish. When
//    it draws, all others have begun, and these wait for nothing. Blocks that draw after they have published,
//    as in last_block, need not even wait.
// 3. Co-resident blocks: scan/one_wave.cuh, segments/row_streaming.cuh.
//    A piece has the number of its block, and waits for pieces with smaller numbers. The host launches the
//    grid in parts of as many blocks as the device holds at once (first_block_offset of gr_launch). A part
//    begins its work when the part before it has ended (pdl_wait). When all blocks of a part are resident,
//    the block with the smallest number that is not done waits for none. This needs more than the promise:
//    that all blocks of a part become resident. They do if blocks of other grids end, and if a device starts
//    all blocks of a grid before those of a later grid of the same priority. Devices also start the blocks of
//    a grid in ascending order; then blocks with smaller numbers have begun even where fewer blocks fit than
//    the device says, as in a green context. A ticket instead, drawn before the first load, takes 0.3 to 0.6
//    us more between other kernels on an H100: 3.1 instead of 2.5 us for a scan of 20,000 float32.
// 4. Block 0 waits: reduce/flat/flat.cuh.
//    Block 0 combines the values that all other blocks publish. The others wait for nothing, so room for one
//    more block beside block 0 is enough. A device has it, as each multiprocessor holds one block. Of many
//    such grids at once, not all have only their block 0 resident, as a device starts all blocks of a grid
//    first. The last ticket instead took 0.2 to 0.4 us more in 5 of 104 calls on an H100: 4.3 instead of 3.9
//    us for the variance of 20,000 float32.
//
// Results do not depend on which block does a piece, nor on the size of the device: pieces are cut for the
// reference device (gr_reference_device).
#pragma once

namespace gr::grid {

// Draws the next of `count` tickets, from 0 on, for the calling thread. The counter is zero before the first
// draw and after the last.
inline __device__ unsigned draw_ticket(unsigned *counter, unsigned count) {
    return atomicInc(counter, count - 1);
}

} // namespace gr::grid
