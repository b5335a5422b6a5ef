// g3: integers that commute.
//
// What g2 still cost: the bits, which depend on the order of threads, because each addition of floats
// rounds.
// The change: no addition rounds. A first pass finds the largest element. It defines a unit, a power of
// two so small that all elements are integers of at most 62 bits together (fixed_point.cuh). Integers
// commute, and their atomic additions return the same sum in any order; it is rounded to a float once, at
// the end. Of 2^20 elements, those within 2^18 of the largest are exact in this window of exponents, and
// the sum is correctly rounded; bits below the unit are rounded off each element, by the same rule for
// every order.
// What limits it now: a second read of the elements, and two words of shared memory per group, where g2
// has one: half as many groups fit.
// Where it shows: twice the sectors and the wavefronts of g2; the same bits for every order of blocks, and
// of the elements themselves.
#include "groups/fixed_point.cuh"

using namespace gr::groups;

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g3_top(const gr_group_rung_params p) {
    find_top(p);
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g3_sum_f32(const gr_group_rung_params p) {
    const Rung rung(p);
    Windows windows(p, unsigned(p.groups));
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const int32_t label = rung.labels[i];
        if (is_group(label, p))
            add_element(p, windows, label, unsigned(label), rung.values[i]);
    }
    windows.publish(p, 0);
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g3_round(const gr_group_rung_params p) {
    round_sums(p);
}
