// general_spread: neighbouring results, the elements of each a row apart, where rows begin at any address, as
// in a view of a part of an array. Neighbouring threads load neighbouring elements or, where all rows have
// the same alignment, words of four bytes of several elements. A thread holds several of these loads,
// c.across apart: a slot.
#pragma once

#include "reduce/general/words.cuh"

namespace gr::reduce {

// The address of the first element of all, and the address behind the last one.
struct Bounds {
    uint64_t low, high;
};

// The elements of a slot's row: AtOnce together, `apart` bytes from one such to the next. Of a word at an
// edge elements are loaded that are not live, if they are between others.
template <class In, unsigned AtOnce> struct Spread {
    static constexpr unsigned width = column_width<In>, words = width / AtOnce;
    Packed<In, words> all;

    __device__ void load(uint64_t from, unsigned apart, unsigned live, Bounds bounds) {
#pragma unroll
        for (unsigned i = 0; i < words; ++i) {
            const uint64_t at = from + i * apart;
            constexpr unsigned every = (1u << AtOnce) - 1;
            const unsigned mine = live >> i * AtOnce & every;
            if (mine == 0)
                continue;
            if (mine == every || (at >= bounds.low && at + 4 <= bounds.high)) {
                all.words[i] = *reinterpret_cast<const uint32_t *>(at);
                continue;
            }
            all.words[i] = 0;
#pragma unroll 1
            for (unsigned e = 0; e < AtOnce; ++e)
                if (mine >> e & 1) {
                    const uint32_t bits = reinterpret_cast<const typename Bits<sizeof(In)>::type *>(at)[e];
                    all.words[i] |= bits << 8 * sizeof(In) * e;
                }
        }
    }
    __device__ In at(unsigned e) const {
        return all.at(e);
    }
};
template <class In> struct Spread<In, 1> {
    static constexpr unsigned width = column_width<In>;
    In element[width];

    __device__ void load(uint64_t from, unsigned apart, unsigned live, Bounds) {
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            if (live >> e & 1)
                element[e] = *reinterpret_cast<const In *>(from + e * apart);
    }
    __device__ In at(unsigned e) const {
        return element[e];
    }
};
template <class In, unsigned AtOnce> __device__ In element_of(const Spread<In, AtOnce> &x, unsigned e) {
    return x.at(e);
}
template <class In, unsigned AtOnce> __device__ uint32_t word_of(const Spread<In, AtOnce> &x, unsigned i) {
    return x.all.words[i];
}

// A thread's rows from number k on along the first dimension, `first` being the address of row 0 and
// `position` its position, behind `rows` others.
template <class F, class In, unsigned AtOnce, unsigned Width = column_width<In>>
__device__ void spread_rows(const gr_general_params &p, uint64_t first, unsigned live, uint64_t position,
                            uint64_t k, typename BatchState<F, In>::ThreadState (&s)[Width], uint64_t &rows) {
    // Sixteen loads, of up to 64 bytes together.
    constexpr unsigned loads = Width / AtOnce, bytes = Width * sizeof(In);
    constexpr unsigned in_flight = 16 / loads < 64 / bytes ? 16 / loads : 64 / bytes;
    const unsigned apart = p.columns.across * AtOnce * unsigned(sizeof(In));
    const uint64_t step = p.iterator.step, length = p.along.extent[0], row[Width] = {};
    const int64_t ahead = int64_t(step) * p.along.stride[0];
    first += int64_t(k) * p.along.stride[0];
    const Bounds bounds = {p.in + uint64_t(p.columns.low), p.in + uint64_t(p.columns.high)};
    uint64_t left = k < length ? steps_in(p.iterator, length - k - 1) + 1 : 0;
    for (; left > 0; k += in_flight * step) {
        const unsigned turn = left < in_flight ? unsigned(left) : in_flight;
        Spread<In, AtOnce> loaded[in_flight];
        bool there[in_flight];
#pragma unroll
        for (unsigned j = 0; j < in_flight; ++j) {
            there[j] = j < turn;
            if (there[j])
                loaded[j].load(first, apart, live, bounds);
            first += ahead;
        }
        left -= turn;
        add_turn<F, In>(s, rows, loaded, there, row, position + k, step);
        rows += turn;
    }
}

template <class F, class In> __device__ void reduce_spread(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned width = column_width<In>, AtOnce = sizeof(In) < 4 ? 4 / sizeof(In) : 1;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * width * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    const gr_columns &c = p.columns;
    const Share share(c);
    const unsigned across = share.across, row = share.row, group = share.group;
    const uint64_t number = (uint64_t(blockIdx.x) * c.batches + group) * c.across + across;
    const bool active = group < c.batches && number < c.slots;
    const uint64_t batch = quotient(active ? number : 0, c.period, c.by_period);
    const uint64_t at = (active ? number : 0) - batch * c.period;
    // A piece of a row is of c.across slots; elements before the row count as columns less than 0.
    const int64_t column = int64_t((at - across) * width + across * AtOnce) - int64_t(c.lead);
    const auto column_of = [&](unsigned e) {
        return column + int64_t(e / AtOnce * c.across * AtOnce + e % AtOnce);
    };
    unsigned live = 0;
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        live |= unsigned(uint64_t(column_of(e)) < c.width) << e;
    const uint64_t start =
        p.in + offsets(p.keep, batch * c.width).in + uint64_t(column * int64_t(sizeof(In)));

    State s[width];
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        s[e] = F::identity();
    pdl_begin(p);
    if (active) {
        const uint64_t length = p.along.extent[0];
        const ThreadShare turns(p, row + uint64_t(c.down) * blockIdx.y);
        typename BatchState<F, In>::ThreadState kept[width];
        uint64_t rows = 0;
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            kept[e] = BatchState<F, In>::init();
        for (uint64_t outer = turns.outer; outer * length < p.count; outer += p.groups)
            spread_rows<F, In, AtOnce>(p, start + offsets<1>(p.along, outer).in, live, outer * length,
                                       turns.first, kept, rows);
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            s[e] = BatchState<F, In>::to_state(kept[e], rows);
    }
    pdl_as_comments::pdl_launch_dependents();
    combine_down<F>(shared, s, c, row, group);
    if (active && row == 0)
        put_all<F>(p, live, s, [&](unsigned e) { return batch * c.width + uint64_t(column_of(e)); });
}

} // namespace gr::reduce
