// Windows in shared memory: an integer per window and group, of two or three 32-bit words, for elements of
// neighbouring exponents. Words are signed digits: an element costs one atomic addition to the lowest word,
// and one to each further word only if the element is large, or if the word below overflows.
#pragma once

#include "common/shared_array.cuh"
#include "groups/addends.cuh"
#include "groups/planes.cuh"
#include "groups/sample.cuh"

namespace gr::groups {

template <class In> struct WindowTable {
    using Traits = Addends<In>;
    using Addend = typename Traits::Addend;
    static constexpr unsigned min_runs = 16; // lanes with rows of one group, at least, that add them up first
    static constexpr unsigned shared_groups = 2, min_lanes = 8; // of which several lanes add up their sums
    const unsigned groups, windows;                             // for which there is shared memory
    const bool mean;
    uint32_t *const words; // [window][word][group]
    uint32_t *const rows;  // [group]: of means

    __device__ WindowTable(unsigned groups, const gr_group_params &p)
        : groups(groups), windows(p.windows), mean(p.options & GR_GROUP_MEAN),
          words(shared_array<uint32_t>()), rows(words + p.windows * Traits::words * groups) {
    }
    __device__ void clear() const {
        clear(words, (windows * Traits::words + mean) * groups);
    }
    // The numbers of rows and the first window; the number of groups is a multiple of 4.
    __device__ void clear_first() const {
        clear(words, Traits::words * groups);
        if (mean)
            clear(rows, groups);
    }
    // The other windows.
    __device__ void clear_others() const {
        clear(words + Traits::words * groups, (windows - 1) * Traits::words * groups);
    }
    __device__ static void clear(uint32_t *first, unsigned count) {
        for (unsigned i = threadIdx.x; i < (count + 3) / 4;
             i += GR_GROUP_WINDOW_THREADS) // the launch rounds up
            reinterpret_cast<uint4 *>(first)[i] = {};
    }

    __device__ int32_t *word_at(unsigned group, unsigned window) const {
        return reinterpret_cast<int32_t *>(words) + (window * Traits::words * groups + group);
    }
    __device__ void add_words(const Addend &addend, unsigned group, unsigned window) const {
        int32_t *at = word_at(group, window);
        int32_t digit = Traits::low(addend);
        typename Traits::Upper rest = Traits::upper(addend) + (digit < 0);
#pragma unroll
        for (unsigned word = 0; word < Traits::words; ++word)
            if (word + 1 == Traits::words)
                atomicAdd(at, digit);
            else
                next_digit(atomicAdd(at, digit), digit, rest, at);
    }

    // Adds elements of groups of the table: those whose bit in `valid` is set, and that are in a window.
    // Returns a bit for each of the others. The atomic additions of several elements to a word are in flight
    // at once.
    template <unsigned Count, class Group>
    __device__ unsigned add(const In (&x)[Count], const Group (&group)[Count], unsigned valid,
                            const WindowChoice &choice) const {
        constexpr unsigned most = Traits::words > 2 ? 1 : Count; // three words need more registers
        unsigned inside = 0;
#pragma unroll
        for (unsigned first = 0; first < Count; first += most)
            inside |= add_some<most>(x, group, first, valid, choice);
        return valid & ~inside;
    }
    // Adds Some elements from `first` on. Returns a bit for each that is in a window.
    template <unsigned Some, unsigned Count, class Group>
    __device__ unsigned add_some(const In (&x)[Count], const Group (&group)[Count], unsigned first,
                                 unsigned valid, const WindowChoice &choice) const {
        int32_t *at[Some];
        int32_t digit[Some];
        typename Traits::Upper rest[Some];
        unsigned inside = 0;
#pragma unroll
        for (unsigned i = 0; i < Some; ++i) {
            const WindowPlace place = Traits::place(x[first + i], choice);
            const Addend addend = Traits::addend(x[first + i], choice, place.window);
            inside |= place.inside ? valid & 1u << (first + i) : 0;
            at[i] = word_at(unsigned(group[first + i]), place.window);
            digit[i] = Traits::low(addend);
            rest[i] = Traits::upper(addend) + (digit[i] < 0);
        }
#pragma unroll
        for (unsigned word = 0; word < Traits::words; ++word) {
            int32_t old[Some];
#pragma unroll
            for (unsigned i = 0; i < Some; ++i)
                if (inside >> (first + i) & 1 && (word == 0 || digit[i] != 0)) {
                    const int32_t before = atomicAdd(at[i], digit[i]);
                    if (word + 1 < Traits::words)
                        old[i] = before;
                } else {
                    old[i] = 0;
                }
            if (word + 1 < Traits::words)
#pragma unroll
                for (unsigned i = 0; i < Some; ++i)
                    next_digit(old[i], digit[i], rest[i], at[i]);
        }
        return inside;
    }
    // Goes on to the next digit of an addend, after the addition of a digit to the word `old`.
    __device__ void next_digit(int32_t old, int32_t &digit, typename Traits::Upper &rest,
                               int32_t *&at) const {
        const int32_t sum = int32_t(uint32_t(old) + uint32_t(digit));
        rest += ((old ^ sum) & (digit ^ sum)) < 0 ? (digit < 0 ? -1 : 1) : 0;
        digit = int32_t(rest);
        if constexpr (Traits::words > 2)
            rest = (rest - digit) >> 32;
        at += groups;
    }
    // Adds rows of each lane of a warp: those whose bit in `valid` is set. Returns a bit for each of them
    // that is in no window. If the rows of most lanes have one group per lane, as in sorted labels, these
    // lanes add up their rows first: additions to one address wait for each other.
    template <unsigned Count>
    __device__ unsigned add_batch(const In (&x)[Count], const unsigned (&group)[Count], unsigned valid,
                                  const WindowChoice &choice) const {
        bool run = valid == (1u << Count) - 1;
#pragma unroll
        for (unsigned i = 1; i < Count; ++i)
            run = run && group[i] == group[0];
        const unsigned runs = __ballot_sync(0xffffffffu, run);
        unsigned outside = 0;
        if (__popc(runs) >= min_runs) {
            if (mean)
                count_runs(group[0], runs, Count);
            outside = add_runs(x, group[0], runs, choice);
            if (run)
                return outside;
        }
        if (mean)
#pragma unroll
            for (unsigned i = 0; i < Count; ++i)
                if (valid >> i & 1)
                    atomicAdd(&rows[group[i]], 1u);
        return add(x, group, valid, choice);
    }
    // The lanes of `lanes` whose group is that of the first of them; for a warp.
    static __device__ unsigned lanes_of_one_group(unsigned group, unsigned lanes) {
        const unsigned of_first = __shfl_sync(0xffffffffu, group, __ffs(int(lanes)) - 1);
        return lanes & __ballot_sync(0xffffffffu, group == of_first);
    }
    static __device__ bool is_first(unsigned lanes) {
        return threadIdx.x % 32 == unsigned(__ffs(int(lanes)) - 1);
    }
    static __device__ bool is_in(unsigned lanes) {
        return lanes >> threadIdx.x % 32 & 1;
    }
    // Adds `each` rows of each of the lanes to the numbers of rows.
    __device__ void count_runs(unsigned group, unsigned lanes, unsigned each) const {
        for (unsigned k = 0; k < shared_groups && lanes != 0; ++k) {
            const unsigned same = lanes_of_one_group(group, lanes);
            if (is_first(same))
                atomicAdd(&rows[group], each * __popc(same));
            lanes &= ~same;
        }
        if (is_in(lanes))
            atomicAdd(&rows[group], each);
    }
    // Adds the elements of each of the lanes, all of one group. Returns a bit for each that is in no window.
    template <unsigned Count>
    __device__ unsigned add_runs(const In (&x)[Count], unsigned group, unsigned lanes,
                                 const WindowChoice &choice) const {
        unsigned outside = (1u << Count) - 1;
        GR_EXACT_NO_UNROLL
        for (unsigned window = 0; window < choice.windows; ++window) {
            Addend sum = Addend();
            unsigned taken = 0;
#pragma unroll
            for (unsigned i = 0; i < Count; ++i) {
                const WindowPlace place = Traits::place(x[i], choice);
                if (place.inside && place.window == window) {
                    Traits::add_to(sum, Traits::addend(x[i], choice, window));
                    taken |= 1u << i;
                }
            }
            outside &= ~taken;
            add_sums(sum, group, lanes & __ballot_sync(0xffffffffu, taken != 0), window);
        }
        return outside;
    }
    // Adds a sum of each of the lanes. Those of the first groups add them up before.
    __device__ void add_sums(const Addend &sum, unsigned group, unsigned lanes, unsigned window) const {
        for (unsigned k = 0; k < shared_groups && __popc(lanes) >= min_lanes; ++k) {
            const unsigned same = lanes_of_one_group(group, lanes);
            const Addend all = Traits::warp_sum(is_in(same) ? sum : Addend());
            if (is_first(same))
                add_words(all, group, window);
            lanes &= ~same;
        }
        if (is_in(lanes))
            add_words(sum, group, window);
    }
    // The integer of a group, in units of the first exponent, if it surely has less than 63 bits.
    __device__ bool narrow(unsigned group, const WindowChoice &choice, int64_t &units) const {
        const int32_t *at = word_at(group, 0);
        const int32_t upper = at[groups];
        units = int64_t(uint64_t(int64_t(upper)) << 32) + at[0];
        return choice.windows == 1 && uint32_t(upper) + (1u << 29) < 1u << 30;
    }
    // The integer of a group of three words, rounded once, if the upper two words surely have less than 54
    // bits: the sum of two doubles, of which an FMA multiplies one by 2^32.
    __device__ bool narrow(unsigned group, const WindowChoice &choice, double &units) const {
        const int32_t *at = word_at(group, 0);
        const int32_t top = at[2 * groups];
        const int64_t upper = int64_t(uint64_t(int64_t(top)) << 32) + at[groups];
        units = __fma_rn(double(upper), 0x1p32, double(at[0]));
        return choice.windows == 1 && uint32_t(top) + (1u << 19) < 1u << 20;
    }
    // The integer of a window.
    __device__ exact::Whole window(unsigned number, unsigned group) const {
        const int32_t *at = word_at(group, number);
        exact::Whole all = 0;
#pragma unroll
        for (unsigned word = 0; word < Traits::words; ++word)
            all += static_cast<exact::Whole>(at[word * groups]) << 32 * word;
        return all;
    }
};

} // namespace gr::groups
