// Tickets: which of a grid's blocks draws first, second and so on. docs/contributing/waiting-for-blocks.md
// says which block may wait for which, and why the wait ends.
#pragma once

namespace gr::grid {

// Draws the next of `count` tickets, from 0 on, for the calling thread. The counter is zero before the first
// draw and after the last.
inline __device__ unsigned draw_ticket(unsigned *counter, unsigned count) {
    return atomicInc(counter, count - 1);
}

} // namespace gr::grid
