// Segmented reduction in an order that follows from the length of a segment alone, for operators that round:
// see segments/ordered/params.h. A warp has a range of the merged rows and beginnings of segments, and takes
// the segments, and the chunks of long segments, that begin there. Short segments share the lanes of the
// warp. The block in which a long segment ends combines its chunks. Rule 3 of
// docs/contributing/waiting-for-blocks.md says why the wait for them ends.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "segments/ordered/params.h"
#include "segments/values.cuh"

namespace gr::segments {

using namespace common;
using namespace grid;

// Loads what is at an address of global memory; through a pointer made of it, the load would be a generic
// one.
template <class T> __device__ T load_global(uint64_t at) {
    union {
        T value;
        uint16_t half;
        uint32_t word;
        uint64_t words[(sizeof(T) + 7) / 8];
    } x;
    if constexpr (sizeof(T) == 16)
        asm("ld.global.v2.b64 {%0, %1}, [%2];" : "=l"(x.words[0]), "=l"(x.words[1]) : "l"(at));
    else if constexpr (sizeof(T) == 8)
        asm("ld.global.b64 %0, [%1];" : "=l"(x.words[0]) : "l"(at));
    else if constexpr (sizeof(T) == 4)
        asm("ld.global.b32 %0, [%1];" : "=r"(x.word) : "l"(at));
    else if constexpr (sizeof(T) == 2)
        asm("ld.global.b16 %0, [%1];" : "=h"(x.half) : "l"(at));
    else
        asm("ld.global.u8 %0, [%1];" : "=r"(x.word) : "l"(at));
    return x.value;
}

// The subtrees of a reduction that arrive in order: levels[k] holds 2^k leaves.
template <class F> struct Subtrees {
    using State = typename F::State;
    State levels[GR_ORDERED_LEVELS];

    // Adds leaf number i.
    __device__ void add(State x, unsigned i) {
        unsigned k = 0;
        for (; i >> k & 1; ++k)
            x = F::combine(levels[k], x);
        levels[k] = x;
    }
    // What all of 2^k leaves are.
    __device__ State all(unsigned leaves) const {
        return levels[__ffs(leaves) - 1];
    }
};

// What a warp keeps in shared memory, as it has few registers.
template <class State> struct OrderedWarp {
    uint64_t in[32], out[32]; // of each lane: addresses of row 0, and the index of the first result
    State whole[32];          // of each column: the chunks so far of a segment whose chunks it all has
    int64_t begins[33];       // where the segments of the window begin, and the last of them ends
    uint64_t chunks;          // address of the States of the chain's chunks
    int64_t base, from, to;   // the first row of segments; the range
    int64_t open;             // the segment that began before the range and whose last chunk it has, or -1
};

// `wide`: rows have several columns.
template <class F, bool wide> struct Ordered {
    using Held = typename F::Held;
    using State = typename F::State;
    using Warp = OrderedWarp<State>;
    static constexpr unsigned rows_in_flight = GR_ORDERED_ROWS;

    const gr_ordered_params &p;
    const SegmentValues<F, gr_ordered_params> values;
    Warp &own;
    const unsigned lane;

    __device__ Ordered(const gr_ordered_params &params, Warp *warps)
        : p(params), values{{params}}, own(warps[threadIdx.x / 32]), lane(threadIdx.x % 32) {
    }
    __device__ unsigned columns_shift() const {
        return wide ? p.columns_shift : 0;
    }
    __device__ unsigned column() const {
        return lane & ((1u << columns_shift()) - 1);
    }
    __device__ unsigned row_lane() const {
        return lane >> columns_shift();
    }
    __device__ unsigned row_lanes() const {
        return 32u >> columns_shift();
    }

    // Sets what the lanes need of a chain.
    __device__ void begin_chain(uint64_t number) const {
        const uint64_t line = p.stripes == 1 ? number : number / p.stripes;
        const uint64_t across = ((number - line * p.stripes) << columns_shift()) + column();
        const uint64_t at = min(across, p.inner - 1);
        __syncwarp();
        own.in[lane] = p.in + line * uint64_t(p.line_stride) + at * uint64_t(p.inner_stride);
        own.out[lane] = across < p.inner ? line * p.segments * p.inner + at : ~0ull;
        if (lane == 0)
            own.chunks = p.chunks + (number * p.chain_chunks << columns_shift()) * sizeof(State);
        __syncwarp();
    }
    // Offsets on a device are as the caller made them; whatever they are, no row outside of the array is
    // read.
    __device__ int64_t offset(uint64_t i) const {
        return max(int64_t(0), min(load_global<int64_t>(p.offsets + 8 * i), int64_t(p.rows)));
    }
    // Where a segment is in the merged rows and beginnings that begins with a row.
    __device__ int64_t position_of(uint64_t segment, int64_t row) const {
        return row - own.base + int64_t(p.weight) * int64_t(segment);
    }
    // Where the State of a chunk is that begins with a row; `first`: of its segment.
    __device__ uint64_t chunk_at(int64_t begin, bool first) const {
        return own.chunks +
               (((2 * uint64_t(begin >> GR_ORDERED_CHUNK_SHIFT) + first) << columns_shift()) + column()) *
                   sizeof(State);
    }

    // What every `step`-th row of `count` from `begin` on are, from number `first` on, of which there is one.
    __device__ State of_rows(int64_t begin, unsigned count, unsigned first, unsigned step) const {
        State state;
        const uint64_t from =
            own.in[lane] + (p.permutation != 0 ? 0 : uint64_t(begin) * uint64_t(p.along_stride));
        for (unsigned i = first; i < count; i += rows_in_flight * step) {
            uint64_t at[rows_in_flight];
            Held x[rows_in_flight];
            // All lanes have all rows, whose addresses differ by constants.
            const bool dense = p.dense != 0 && step == 32 && i - first + 32 * rows_in_flight <= count;
            if (dense) {
            } else if (p.permutation != 0) {
                const uint64_t order = p.offsets + 8 * (p.permutation + uint64_t(begin));
#pragma unroll
                for (unsigned k = 0; k < rows_in_flight; ++k)
                    at[k] = load_global<uint64_t>(order + 8 * uint64_t(min(i + k * step, count - 1)));
#pragma unroll
                for (unsigned k = 0; k < rows_in_flight; ++k)
                    at[k] = from + at[k] * uint64_t(p.along_stride);
            } else {
#pragma unroll
                for (unsigned k = 0; k < rows_in_flight; ++k)
                    at[k] = from + uint64_t(min(i + k * step, count - 1)) * uint64_t(p.along_stride);
            }
            values.of_elements([&](auto zero) {
                using In = decltype(zero);
                In loaded[rows_in_flight];
                if (dense)
#pragma unroll
                    for (unsigned k = 0; k < rows_in_flight; ++k)
                        loaded[k] = load_global<In>(from + uint64_t(i) * sizeof(In) + 32 * k * sizeof(In));
                else
#pragma unroll
                    for (unsigned k = 0; k < rows_in_flight; ++k)
                        loaded[k] = load_global<In>(at[k]);
#pragma unroll
                for (unsigned k = 0; k < rows_in_flight; ++k)
                    x[k] = Value<Held>::of(loaded[k]);
            });
            if (p.flags & GR_SEGMENT_SKIP_NAN)
#pragma unroll
                for (unsigned k = 0; k < rows_in_flight; ++k)
                    x[k] = is_nan(x[k]) ? F::nothing() : x[k];
            const State former = state;
#pragma unroll
            for (unsigned k = 0; k < rows_in_flight; ++k)
                if (i + k * step < count)
                    state = k > 0 || i != first ? F::combine_near(state, F::load(x[k], 0)) : F::load(x[k], 0);
            if (!F::is_near(state) || (i != first && !F::is_near(former)))
                state =
                    F::combine_all(former, x, i == first, min(rows_in_flight, (count - i + step - 1) / step));
        }
        return state;
    }

    // Combines the States of strips side by side in the row lanes, of which this one has number `strip` of
    // `strips`; valid in number 0. Row lanes of one warp may have strips of different units.
    __device__ State tree(State x, unsigned strip, unsigned strips) const {
        constexpr bool small = sizeof(State) == 8; // A vote takes as long as to combine such States.
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            if (!small && !__any_sync(0xffffffffu, step < strips))
                break;
            const State other = shuffle_down(x, step << columns_shift());
            if (strip % (2 * step) == 0 && strip + step < strips)
                x = F::combine(x, other);
        }
        return x;
    }

    __device__ void put(uint64_t segment, const State &state, int64_t count) const {
        if (own.out[lane] != ~0ull)
            F::put(p, own.out[lane] + segment * p.inner, state, count);
    }

    // The State of every `step`-th chunk of `count` of a segment that begins with row `begin`, from number
    // `first` on, of which there is one.
    __device__ State of_chunks(int64_t begin, unsigned shift, unsigned count, unsigned first,
                               unsigned step) const {
        constexpr unsigned in_flight = 4;
        State state;
#pragma unroll 1
        for (unsigned i = first; i < count; i += in_flight * step) {
            Words<State> loaded[in_flight];
#pragma unroll
            for (unsigned k = 0; k < in_flight; ++k) {
                const unsigned chunk = min(i + k * step, count - 1);
                const auto *from = reinterpret_cast<const unsigned long long *>(
                    chunk_at(begin + (int64_t(chunk) << shift), chunk == 0));
#pragma unroll
                for (unsigned word = 0; word < sizeof(State) / 8; ++word) {
                    const unsigned long long both = __ldcg(from + word);
                    loaded[k].word[2 * word] = uint32_t(both);
                    loaded[k].word[2 * word + 1] = uint32_t(both >> 32);
                }
            }
#pragma unroll
            for (unsigned k = 0; k < in_flight; ++k)
                if (i + k * step < count)
                    state = k > 0 || i != first ? F::combine(state, loaded[k].state) : loaded[k].state;
        }
        return state;
    }

    // Combines the chunks of a segment of rows `begin` to before `end`, which are stored, and writes the
    // result: by a warp, or by all warps of the block, of which `warps` is the shared memory.
    __device__ void finish(uint64_t segment, int64_t begin, int64_t end, Warp *warps) const {
        const unsigned shift = gr_ordered_chunk_shift(end - begin);
        const unsigned chunks = unsigned((end - begin + (1ll << shift) - 1) >> shift);
        const unsigned strips = gr_ordered_chunk_strips(chunks);
        const unsigned each = warps != nullptr ? strips / GR_ORDERED_WARPS : strips;
        const unsigned from = warps != nullptr ? threadIdx.x / 32 * each : 0;
        const unsigned passes = max(1u, each / row_lanes());
        State state;
        Subtrees<F> subtrees;
#pragma unroll 1
        for (unsigned pass = 0; pass < (wide ? passes : 1); ++pass) {
            if (row_lane() < each)
                state = of_chunks(begin, shift, chunks, from + pass * row_lanes() + row_lane(), strips);
            state = tree(state, row_lane(), min(each, row_lanes()));
            if (wide && passes > 1)
                subtrees.add(state, pass);
        }
        if (wide && passes > 1)
            state = subtrees.all(passes);
        if (warps != nullptr) {
            if (row_lane() == 0)
                own.whole[column()] = state;
            __syncthreads();
            if constexpr (wide) {
                for (unsigned i = 0; i < GR_ORDERED_WARPS; ++i)
                    subtrees.add(warps[i].whole[column()], i);
                state = subtrees.all(GR_ORDERED_WARPS);
            } else {
                state = tree(warps[lane % GR_ORDERED_WARPS].whole[0], lane, GR_ORDERED_WARPS);
            }
            __syncthreads();
            if (threadIdx.x >= 32)
                return;
        }
        if (row_lane() == 0)
            put(segment, state, end - begin);
    }

    // The strips that a lane has of a unit: of a segment of one chunk, or of a chunk.
    struct Unit {
        unsigned segment; // of the window
        int64_t begin;    // the first row
        unsigned length;
        unsigned strip, strips, passes; // see of_unit(); no strips: the lane has none
    };
    // Of the segments from number `done` to before `stop` of the window, which share the row lanes, that of
    // this lane. `begin`: the first row lane of the segment with the number of the lane.
    __device__ Unit shared_unit(unsigned done, unsigned stop, unsigned begin, unsigned strips) const {
        unsigned heads = lane >= done && lane < stop ? 1u << begin : 0; // row lanes where segments begin
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2)
            heads |= __shfl_xor_sync(0xffffffffu, heads, step);
        heads &= (2u << row_lane()) - 1;
        Unit unit;
        unit.segment = done + __popc(heads) - 1;
        unit.begin = own.begins[unit.segment];
        unit.length = unsigned(max(int64_t(0), own.begins[unit.segment + 1] - unit.begin));
        unit.strip = row_lane() - (31 - __clz(heads));
        unit.strips = __shfl_sync(0xffffffffu, strips, unit.segment);
        unit.strips = unit.strip < unit.strips ? unit.strips : 0;
        unit.passes = 1;
        return unit;
    }
    // A unit of all lanes, of rows of segment `done` of the window.
    __device__ Unit whole_unit(unsigned done, int64_t begin, unsigned length) const {
        const unsigned strips = gr_ordered_strips(length);
        return {done, begin, length, row_lane(), strips, max(1u, strips / row_lanes())};
    }
    // Combines the strips of a unit. A lane has the one with its number, and with several passes every
    // row_lanes()-th one from there on. Valid in the lane that has number 0.
    __device__ State of_unit(const Unit &unit) const {
        State state;
        if constexpr (!wide) {
            if (unit.strip < unit.strips && unit.length > 0)
                state = of_rows(unit.begin, unit.length, unit.strip, unit.strips);
            return tree(state, unit.strip, unit.strips);
        } else {
            Subtrees<F> subtrees;
#pragma unroll 1
            for (unsigned pass = 0; pass < unit.passes; ++pass) {
                const unsigned strip = unit.strip + pass * row_lanes();
                if (strip < unit.strips && unit.length > 0)
                    state = of_rows(unit.begin, unit.length, strip, unit.strips);
                state = tree(state, unit.strip, unit.passes > 1 ? row_lanes() : unit.strips);
                if (unit.passes > 1)
                    subtrees.add(state, pass);
            }
            return unit.passes > 1 ? subtrees.all(unit.passes) : state;
        }
    }

    // Which chunk is the first of a segment in the range, if `chunk` is -1, or the next one; -1: none.
    __device__ int64_t chunk_in_range(uint64_t segment, int64_t begin, int64_t end, int64_t chunk) const {
        const unsigned shift = gr_ordered_chunk_shift(end - begin);
        const int64_t size = int64_t(1) << shift, at = position_of(segment, begin);
        if (chunk < 0)
            chunk = max(int64_t(0), (own.from - at + size - 1) >> shift);
        return begin + (chunk << shift) < end && at + (chunk << shift) < own.to ? chunk : -1;
    }

    // Takes the `count` segments of the window from number `next` on; of long ones, the chunks that begin in
    // the range. Returns whether it has stored chunks for other warps.
    __device__ bool take_window(uint64_t next, unsigned count) const {
        const int64_t mine = lane < count ? max(int64_t(0), own.begins[lane + 1] - own.begins[lane]) : 0;
        const bool is_long = mine > GR_ORDERED_CHUNK;
        const unsigned strips = lane >= count ? 0 : is_long ? 32 : gr_ordered_strips(unsigned(mine));
        unsigned ends = strips; // row lanes up to the end of this segment, if all segments shared them
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const unsigned before = __shfl_up_sync(0xffffffffu, ends, step);
            ends += lane >= step ? before : 0;
        }
        bool stored = false;
        int64_t chunk = -1; // of segment `done`, if that is long
        // A short segment that began before the range is another warp's.
        unsigned done =
            position_of(next, own.begins[0]) < own.from && !(__ballot_sync(0xffffffffu, is_long) & 1);
#pragma unroll 1
        while (done < count) {
            const unsigned begins = __shfl_sync(0xffffffffu, ends - strips, done);
            const unsigned fits = __ballot_sync(
                0xffffffffu, lane < done || (lane < count && !is_long && ends - begins <= row_lanes()));
            const unsigned stop = fits == 0xffffffffu ? 32 : __ffs(~fits) - 1;
            const int64_t begin = own.begins[done], end = own.begins[done + 1];
            Unit unit;
            if (stop > done) {
                unit = shared_unit(done, stop, ends - strips - begins, strips);
            } else if (end - begin <= GR_ORDERED_CHUNK) {
                unit = whole_unit(done, begin, unsigned(end - begin));
            } else {
                chunk = chunk_in_range(next + done, begin, end, chunk);
                if (chunk < 0) {
                    ++done;
                    continue;
                }
                const unsigned shift = gr_ordered_chunk_shift(end - begin);
                const int64_t row = begin + (chunk << shift);
                unit = whole_unit(done, row, unsigned(min(int64_t(1) << shift, end - row)));
            }
            const State state = of_unit(unit);
            const bool has = unit.strip == 0 && unit.strips > 0;
            if (chunk >= 0) {
                stored |= take_chunk(next + done, begin, end, chunk, has, state);
                ++chunk;
                continue;
            }
            if (has)
                put(next + unit.segment, state, unit.length);
            done = stop > done ? stop : done + 1;
        }
        return stored;
    }

    // Keeps a chunk of a segment, and writes the result if no other warp has chunks of it. Returns whether
    // others have.
    __device__ bool take_chunk(uint64_t segment, int64_t begin, int64_t end, int64_t chunk, bool has,
                               const State &state) const {
        const unsigned shift = gr_ordered_chunk_shift(end - begin);
        const int64_t at = position_of(segment, begin), last = (end - begin - 1) >> shift;
        const bool began = at >= own.from, ends = at + (last << shift) < own.to;
        if (began && ends && last < GR_ORDERED_STRIP_CHUNKS) { // one strip
            if (has)
                own.whole[column()] = chunk == 0 ? state : F::combine(own.whole[column()], state);
            if (has && chunk == last)
                put(segment, own.whole[column()], end - begin);
            return false;
        }
        if (has)
            *reinterpret_cast<State *>(chunk_at(begin + (chunk << shift), chunk == 0)) = state;
        if (chunk == last) {
            __syncwarp();
            if (began)
                finish(segment, begin, end, nullptr);
            else if (lane == 0)
                own.open = int64_t(segment);
        }
        return !(began && ends);
    }

    // How many segments begin before position `from`, by all lanes: first around where that is if segments
    // are alike.
    __device__ int64_t search(int64_t from, int64_t guess) const {
        int64_t low = 0, high = int64_t(p.segments);
        int64_t probe = lane < 16 ? guess - (1ll << 2 * (15 - lane)) : guess + (1ll << 2 * (lane - 16)) - 1;
#pragma unroll 1
        while (low < high) {
            const bool before = probe < low || (probe < high && position_of(probe, offset(probe)) < from);
            const unsigned count = __popc(__ballot_sync(0xffffffffu, before));
            const int64_t above = shuffle_from(probe, min(count, 31u)),
                          below = shuffle_from(probe, max(count, 1u) - 1);
            if (count < 32)
                high = min(high, above);
            if (count > 0)
                low = max(low, below + 1);
            probe = low + (lane + 1) * ((high - low + 31) / 32) - 1;
        }
        return low;
    }

    // What the other warps of the block have to know of a range.
    struct Taken {
        bool through, stored; // whether no segment begins in it; whether it has stored chunks for other warps
    };
    __device__ Taken run(uint64_t range) const {
        const uint64_t number = p.line_ranges == 1 ? range : uint32_t(range) / uint32_t(p.line_ranges);
        const uint64_t in_line = range - number * p.line_ranges;
        const int64_t segments = int64_t(p.segments), base = offset(0);
        const int64_t all = max(int64_t(0), offset(p.segments) - base) + int64_t(p.weight) * segments;
        const int64_t step = int64_t(double(all) * p.inverse_ranges) + 1, from = int64_t(in_line) * step;
        if (lane == 0) {
            own.base = base;
            own.from = from;
            own.to = from + step;
        }
        begin_chain(number);
        int64_t next = in_line == 0 ? 0 : search(from, int64_t(p.segments_per_range * double(in_line)));
        next -= next > 0; // which may have begun before
        Taken taken = {true, false};
        for (bool first = in_line > 0;; first = false) {
            const int64_t begin = offset(uint64_t(min(next + int64_t(lane), segments)));
            const bool begins = next + lane < segments && position_of(next + lane, begin) < own.to;
            const unsigned here = __ballot_sync(0xffffffffu, begins);
            const unsigned count = here == 0xffffffffu ? 32 : __ffs(~here) - 1;
            own.begins[lane] = begin;
            if (lane == 0)
                own.begins[32] = offset(uint64_t(min(next + 32, segments)));
            __syncwarp();
            if (count > unsigned(first))
                taken.through = false;
            if (take_window(uint64_t(next), count))
                taken.stored = true;
            if (count < 32)
                break;
            next += 32;
            __syncwarp();
        }
        __syncwarp();
        if (own.open >= 0)
            taken.through = false;
        return taken;
    }

    // Waits for the blocks before this one, back to the nearest in which a segment begins or ends, and makes
    // their slots zero again. Each slot is read by one block: the next one in which a segment begins or ends,
    // or the last.
    __device__ void look_back(uint64_t block, unsigned *nearest) const {
        uint64_t from = block;
        unsigned reach = 32; // most often the nearest is the one before
        const unsigned warp = threadIdx.x / 32, threads = 32 * GR_ORDERED_WARPS;
        while (from > 0) {
            const bool some = threadIdx.x < min(from, uint64_t(reach));
            const uint64_t slot = p.slots + GR_ORDERED_SLOT_BYTES * (some ? from - 1 - threadIdx.x : 0);
            if (threadIdx.x == 0)
                *nearest = threads;
            __syncthreads();
            uint64_t low = 0, high;
            for (;;) {
                if (some && low == 0)
                    load_flagged(slot, low, high);
                const unsigned all = __ballot_sync(0xffffffffu, !some || low != 0);
                const unsigned ends = __ballot_sync(0xffffffffu, low == GR_ORDERED_ENDS);
                // What is beyond the nearest is another block's.
                if ((~all & (ends ^ (ends - 1))) == 0) {
                    if (lane == 0 && ends != 0)
                        atomicMin(nearest, warp * 32 + __ffs(ends) - 1);
                    break;
                }
                if (shuffle_from(lane == 0 ? atomicMin(nearest, threads) : 0u, 0) < warp * 32)
                    break;
            }
            __syncthreads();
            const unsigned near = *nearest;
            if (some && threadIdx.x <= near)
                clear_flagged(slot);
            if (near < threads)
                break;
            from -= min(from, uint64_t(reach));
            reach = threads;
            __syncthreads();
        }
    }

    // Combines the chunks of segments that end in this block and began before a range of it.
    __device__ void finish_shared(uint64_t block, const Taken &taken, Warp *warps, unsigned *nearest) const {
        const uint64_t first = block * GR_ORDERED_WARPS;
        const bool last = block + 1 == p.blocks, through = __syncthreads_and(taken.through);
        if (__syncthreads_or(taken.stored) && threadIdx.x == 0)
            __threadfence();
        if (!last && threadIdx.x == 0)
            store_flagged(p.slots + GR_ORDERED_SLOT_BYTES * block,
                          through ? GR_ORDERED_THROUGH : GR_ORDERED_ENDS, 0);
        if (through && !last)
            return;
        const bool opens = __syncthreads_or(own.open >= 0);
        look_back(block, nearest);
        if (!opens)
            return;
        __threadfence();
        __syncthreads();
        for (unsigned i = 0; i < GR_ORDERED_WARPS; ++i) {
            const int64_t open = warps[i].open;
            if (open < 0)
                continue;
            begin_chain((first + i) / p.line_ranges);
            const int64_t begin = offset(uint64_t(open)), end = offset(uint64_t(open) + 1);
            const bool few = end - begin <= int64_t(GR_ORDERED_FEW_CHUNKS)
                                                << gr_ordered_chunk_shift(end - begin);
            if (!few)
                finish(uint64_t(open), begin, end, warps);
            else if (threadIdx.x / 32 == i)
                finish(uint64_t(open), begin, end, nullptr);
        }
    }
};

template <class F, bool wide> __device__ void reduce_ordered(const gr_ordered_params &p) {
    using Warp = typename Ordered<F, wide>::Warp;
    __shared__ alignas(16) unsigned char raw[GR_ORDERED_WARPS * sizeof(Warp)];
    __shared__ unsigned nearest;
    Warp *warps = reinterpret_cast<Warp *>(raw);
    const Ordered<F, wide> ordered(p, warps);
    const uint64_t block = p.first + blockIdx.x, range = block * GR_ORDERED_WARPS + threadIdx.x / 32;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    if (ordered.lane == 0)
        ordered.own.open = -1;
    __syncwarp();
    typename Ordered<F, wide>::Taken taken = {true, false};
    if (range < p.ranges)
        taken = ordered.run(range);
    if (p.slots != 0)
        ordered.finish_shared(block, taken, warps, &nearest);
}

#define GR_ORDERED_ENTRY(op, kind, blocks, ...)                                                              \
    GR_ENTRY((32 * GR_ORDERED_WARPS, blocks), ordered_##op##_##kind, gr_ordered_params,                      \
             reduce_ordered<__VA_ARGS__>)
#define GR_ORDERED_ENTRIES(op, kind, blocks, F)                                                              \
    GR_ORDERED_ENTRY(op, kind, blocks, F, false)                                                             \
    GR_ORDERED_ENTRY(op, kind##_wide, blocks, F, true)

} // namespace gr::segments
