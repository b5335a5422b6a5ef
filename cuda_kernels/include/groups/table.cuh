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
    const unsigned groups, windows; // for which there is shared memory
    const bool mean;
    uint32_t *const words; // [window][word][group]
    uint32_t *const rows;  // [group]: of means

    __device__ WindowTable(unsigned groups, const gr_group_params &p)
        : groups(groups), windows(p.windows), mean(p.options & GR_GROUP_MEAN),
          words(shared_array<uint32_t>()), rows(words + p.windows * Traits::words * groups) {
    }
    __device__ void clear() const {
        const unsigned count = (windows * Traits::words + mean) * groups;
        for (unsigned i = threadIdx.x; i < (count + 3) / 4;
             i += GR_GROUP_WINDOW_THREADS) // the launch rounds up
            reinterpret_cast<uint4 *>(words)[i] = {};
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
    // Adds an element of each lane of a warp, all of one group. Returns false if it is in no window.
    __device__ bool add_together(In x, unsigned group, const WindowChoice &choice) const {
        const auto [inside, window] = Traits::place(x, choice);
        GR_EXACT_NO_UNROLL
        for (unsigned w = 0; w < GR_GROUP_MAX_WINDOWS; ++w) {
            const bool takes = inside && window == w;
            if (!__any_sync(0xffffffffu, takes))
                continue;
            const Addend all = Traits::warp_sum(takes ? Traits::addend(x, choice, w) : Addend());
            if (threadIdx.x % 32 == 0)
                add_words(all, group, w);
        }
        return inside;
    }
    // The integer of a group, in units of the first exponent, if it surely has less than 63 bits.
    __device__ bool narrow(unsigned group, const WindowChoice &choice, int64_t &units) const {
        const int32_t *at = word_at(group, 0);
        const int32_t upper = at[groups];
        units = int64_t(uint64_t(int64_t(upper)) << 32) + at[0];
        return choice.windows == 1 && uint32_t(upper) + (1u << 29) < 1u << 30;
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
