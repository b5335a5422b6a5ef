// Batches of contiguous elements that a warp streams: in registers, and, where a segment ends, in shared
// memory.
#pragma once

#include "common/vec16.cuh"
#include "grid/block_state.cuh"
#include "segments/values.cuh"

namespace gr::segments {

using namespace common;
using namespace grid;

// How far apart the exponents of a batch are: all sums of its elements are exact in one double, or with a
// second one for the errors, or not.
enum class Apart { SINGLE, PAIR, FAR };

template <class F> struct StreamBatches {
    using Held = typename F::Held;
    using State = typename F::State;

    const gr_stream_params &p;
    const unsigned lane, warp;

    explicit __device__ StreamBatches(const gr_stream_params &params)
        : p(params), lane(threadIdx.x % 32), warp(threadIdx.x / 32) {
    }

    // Calls work(In()) with what elements are loaded as.
    template <class Work> __device__ void of_elements(Work work) const {
        if constexpr (std::is_same<Held, double>::value) {
            switch (p.kind) {
            case GR_STREAM_F32:
                return work(float());
            case GR_STREAM_F64:
                return work(double());
            case GR_STREAM_F16:
                return work(gr_f16());
            default:
                return work(gr_bf16());
            }
        } else {
            switch (p.kind) {
            case GR_STREAM_BITS8:
                return work(uint8_t());
            case GR_STREAM_BITS16:
                return work(uint16_t());
            case GR_STREAM_BITS32:
                return work(uint32_t());
            default:
                return work(uint64_t());
            }
        }
    }
    template <class In> __device__ Held value_of(In x) const {
        if constexpr (std::is_same<Held, double>::value) {
            return Value<Held>::of(x);
        } else {
            const uint64_t value = (uint64_t(x & In(p.mask)) ^ p.flip) - p.bias;
            if constexpr (F::truth)
                return p.flags & GR_SEGMENT_BOOL ? value != 0 : int64_t(value);
            return int64_t(value);
        }
    }

    // Elements in flight, in lanes as `vectors` loads of 16 bytes leave them.
    struct Batch {
        Vec16<uint32_t> chunks[GR_STREAM_VECTORS];
    };
    template <class In>
    static constexpr unsigned vectors = sizeof(In) < GR_STREAM_VECTORS ? sizeof(In) : GR_STREAM_VECTORS;
    // Calls work(value, place in the batch) for the elements of a lane.
    template <class In, class Work> __device__ void each(const Batch &batch, Work work) const {
        constexpr unsigned length = 16 / sizeof(In);
#pragma unroll
        for (unsigned k = 0; k < vectors<In>; ++k) {
            Vec16<In> chunk;
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                chunk.words[i] = batch.chunks[k].words[i];
#pragma unroll
            for (unsigned e = 0; e < length; ++e)
                work(value_of(chunk.at(e)), (k * 32 + lane) * length + e);
        }
    }

    // What a warp has of its range, counted from the batch in which its first row lies, and from its first
    // end.
    struct Range {
        const int64_t *offsets; // of ends
        uint64_t in, out;       // out: the index of the first result
        int64_t first;          // the row that the first position is
        int least, most;        // positions of the array's elements
        int base, stop;         // where rows of segments are
        int budget, ends;       // positions and ends to take; ends that there are
        int row;                // the first
        bool began;             // the first segment is in no range before
        int64_t count;          // of its elements
        State before;           // what the first segment has here, if it began before
    };

    __device__ void fetch(const Range &range, int b, int batch, unsigned item, Batch &next) const {
        const bool there = b >= range.least && b + batch <= range.most;
        const Vec16<uint32_t> *from = reinterpret_cast<const Vec16<uint32_t> *>(range.in + int64_t(b) * item);
#pragma unroll
        for (unsigned k = 0; k < GR_STREAM_VECTORS; ++k) {
            next.chunks[k] = {0, 0, 0, 0}; // or registers would keep their former values
            if (there && k < item)
                next.chunks[k] = load_vec16(from + k * 32 + lane);
        }
    }

    // Of a batch in shared memory, what the lanes have of rows from `begin` to before `end`.
    __device__ State strided(const Held *held, State x, int begin, int end, int64_t first) const {
#pragma unroll 1
        for (int i = begin + int(lane); i < end; i += 32)
            x = F::combine(x, F::load(held[i], first + i));
        return x;
    }

    // The same in lane 0 of each `width` lanes.
    __device__ State sum_rows(const Held *held, int begin, int end, unsigned width, int64_t first) const {
        State x = F::identity();
        const int step = int(width);
#pragma unroll 4
        for (int i = begin + int(lane & (width - 1)); i < end; i += step)
            x = F::combine(x, F::load(held[i], first + i));
        for (unsigned apart = width / 2; apart > 0; apart /= 2)
            x = F::combine(x, shuffle_down(x, apart));
        return x;
    }

    // What a lane has of rows of a batch in which exponents are near each other: every `width`-th row.
    // `single`: all sums of the batch are exact in one double.
    __device__ Near near_rows(const Held *held, int begin, int end, unsigned width, bool single) const {
        Near x;
        const int step = int(width);
        if (single)
#pragma unroll 4
            for (int i = begin + int(lane & (width - 1)); i < end; i += step)
                x.high += held[i];
        else
#pragma unroll 4
            for (int i = begin + int(lane & (width - 1)); i < end; i += step)
                x.add(held[i]);
        return x;
    }
    // The same of `width` lanes, in the first of them.
    __device__ Near near_sum(const Held *held, int begin, int end, unsigned width, bool single) const {
        Near x = near_rows(held, begin, end, width, single);
        if (single)
            for (unsigned apart = width / 2; apart > 0; apart /= 2)
                x.high += shuffle_down(x.high, apart);
        else
            for (unsigned apart = width / 2; apart > 0; apart /= 2)
                x.add(shuffle_down(x, apart));
        return x;
    }
    // Adds rows of a batch to what the lanes have.
    __device__ State add_rows(const Held *held, State open, int begin, int end, int64_t first,
                              Apart apart) const {
        if constexpr (is_exact_sum<F>)
            if (apart != Apart::FAR) {
                open.add(near_rows(held, begin, end, 32, apart == Apart::SINGLE));
                return open;
            }
        return strided(held, open, begin, end, first);
    }

    // The sum of a lane's elements of a batch is exact in a double if their exponents are near each other: no
    // bit is below the lowest of the least element, and the sum has at most 53 bits from there. TwoSum then
    // adds it once.
    template <class In> __device__ void add_exact(const Batch &batch, State &open) const {
        constexpr unsigned length = 16 / sizeof(In), count = vectors<In> * length, parts = 4;
        static_assert(count <= 16, "a sum has at most 4 bits more than its greatest element");
        double part[parts] = {-0.0, -0.0, -0.0, -0.0};
        float most = 0;       // the greatest magnitude, but for NaN, which the sum shows
        uint32_t least = ~0u; // as in Exponents, of float32
#pragma unroll
        for (unsigned k = 0; k < vectors<In>; ++k) {
            Vec16<In> chunk;
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                chunk.words[i] = batch.chunks[k].words[i];
#pragma unroll
            for (unsigned e = 0; e < length; ++e) {
                const float x = float(chunk.at(e));
                most = fmaxf(most, fabsf(x));
                least = min(least, 2 * __float_as_uint(x) - 1);
                part[e % parts] += double(x);
            }
        }
        if (std::is_same<In, gr_f16>::value ||
            (most < INFINITY && int(__float_as_uint(most) >> 23) - int(least >> 24) <= 53 - 24 - 4))
            open.add((part[0] + part[1]) + (part[2] + part[3]));
        else
            each<In>(batch, [&](Held value, unsigned) { open = sum_of(open, value); });
    }

    // Takes the batches from b to before `quick`, in which no segment ends; `next` is the first of them, and
    // then that at `after`. What is loaded is loaded in any case: ptxas may put loads with a condition behind
    // what they should overlap with.
    template <class In>
    __device__ void go(const Range &range, int b, int quick, int after, int batch, Batch &next,
                       State &open) const {
        const unsigned char *from =
            reinterpret_cast<const unsigned char *>(range.in) + int64_t(b) * int(sizeof(In)) + lane * 16;
        int64_t first = range.first + b;
#pragma unroll 1
        for (; b < quick; b += batch) {
            const Batch now = next;
            if (b < after)
                from += batch * int(sizeof(In));
#pragma unroll
            for (unsigned k = 0; k < vectors<In>; ++k)
                next.chunks[k] = load_vec16(reinterpret_cast<const Vec16<uint32_t> *>(from + k * 512));
            if constexpr (is_exact_sum<F> && sizeof(In) < 8)
                add_exact<In>(now, open);
            else
                each<In>(now, [&](Held value, unsigned i) { open = append<F>(open, value, first + i); });
            first += batch;
        }
    }

    // Stores a batch to shared memory. Returns how far apart its exponents are.
    template <class In> __device__ Apart store(const Batch &batch, Held *held) const {
        if constexpr (is_exact_sum<F> && std::is_same<In, gr_f16>::value) {
            each<In>(batch, [&](Held value, unsigned i) { held[i] = value; });
            return Apart::SINGLE; // 40 exponents and 9 bits
        } else if constexpr (is_exact_sum<F>) {
            Exponents exponents;
            each<In>(batch, [&](Held value, unsigned i) {
                held[i] = value;
                exponents.include<8 * sizeof(In)>(value);
            });
            // Of up to 2^n elements, sums have n bits more than the greatest element, and so have the errors.
            constexpr bool wide = sizeof(In) == 8;
            constexpr int near = wide ? 36 : 53 - 24 - 9;
            if (exponents.are_near_those_of_lane_0(near))
                return wide ? Apart::PAIR : Apart::SINGLE;
            exponents.join_warp();
            const int apart = exponents.apart();
            return !wide && apart <= near        ? Apart::SINGLE
                   : apart <= (wide ? near : 60) ? Apart::PAIR
                                                 : Apart::FAR;
        } else {
            each<In>(batch, [&](Held value, unsigned i) { held[i] = value; });
            return Apart::FAR;
        }
    }
};

} // namespace gr::segments
