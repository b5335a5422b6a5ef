// Segmented reduction of contiguous elements: a warp streams a range of rows, batch after batch, and examines
// only batches in which a segment ends. A block combines the segments that reach from one range into the
// next; a segment that reaches beyond a block is completed by the block in which it ends, which reads the
// partial results of the blocks before it from slots. Rule 3 of docs/contributing/waiting-for-blocks.md says
// why the wait ends.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/lookback_tiles.cuh"
#include "segments/stream_batches.cuh"
#include "segments/stream_slots.cuh"

namespace gr::segments {

using namespace common;
using namespace grid;

template <class F> struct Streams : StreamBatches<F> {
    using Base = StreamBatches<F>;
    using Base::add_rows, Base::each, Base::fetch, Base::go, Base::lane, Base::near_sum, Base::of_elements,
        Base::p, Base::store, Base::sum_rows, Base::value_of, Base::warp;
    using typename Base::Batch, typename Base::Range;
    using Held = typename F::Held;
    using State = typename F::State;
    using Part = StreamPart<State>;
    using Pending = StreamPending<State>;
    using Record = StreamRecord<State>;
    static constexpr unsigned warps = GR_STREAM_WARPS, threads = 32 * warps;
    static constexpr unsigned room = warps * GR_STREAM_BATCH * sizeof(Held);
    // Whether the next batch is in registers while ends are looked at. Comparisons leave too few: one that is
    // saved to memory is waited for.
    static constexpr bool keeps = !F::turned;
    static constexpr int far = 1 << 30; // beyond all rows of a range

    const SegmentResults<F, gr_stream_params> results;
    unsigned char *bytes, *ranges;

    __device__ Streams(const gr_stream_params &params, unsigned char *elements, unsigned char *of_warps)
        : Base(params), results{params}, bytes(elements), ranges(of_warps) {
    }

    // The number of this block in all parts of the grid.
    __device__ unsigned block() const {
        return p.first + blockIdx.x;
    }

    static __device__ Part join(Part a, Part b) {
        return b.flags & GR_STREAM_ENDS ? b : Part{F::combine(a.open, b.open), a.flags, 0};
    }
    static __device__ State reduce_warp(State x) {
        if constexpr (is_exact_sum<F>)
            if (State sum = x; add_lanes<true>(sum, 32))
                return sum;
#pragma unroll
        for (unsigned step = 16; step > 0; step /= 2)
            x = F::combine(x, shuffle_down(x, step));
        return x;
    }
    // Offsets on a device are as the caller made them; whatever they are, no row outside of the array is
    // read.
    __device__ int64_t offset(uint64_t i) const {
        return max(int64_t(0), min(reinterpret_cast<const int64_t *>(p.offsets)[i], int64_t(p.rows)));
    }
    template <class Sum> __device__ void put(uint64_t index, Sum sum, int64_t count) const {
        if constexpr (std::is_same<Sum, State>::value)
            results.put(index, sum, count, F::place(sum));
        else
            results.put(index, sum, count, 0);
    }

    // A line, and which of its rows are in segments. Positions count elements from an address that is a
    // multiple of 16.
    struct Line {
        uint64_t in;
        int64_t shift, base, stop, anchor, all; // all: positions from the anchor, and ends
    };
    __device__ Line line_of(uint64_t line, unsigned item, int64_t batch) const {
        const uint64_t at = p.in + line * uint64_t(p.line_stride) * item;
        Line of;
        of.in = at & ~15ull;
        of.shift = (at & 15) >> (__ffs(item) - 1);
        of.base = offset(0) + of.shift;
        of.stop = max(of.base, offset(p.segments) + of.shift);
        of.anchor = of.base & -batch;
        of.all = of.stop - of.anchor + int64_t(p.weight) * int64_t(p.segments);
        return of;
    }
    __device__ int64_t end_of(const Line &line, int64_t j) const {
        return max(line.base, min(offset(j + 1) + line.shift, line.stop));
    }

    // How many ends are before a range, by a warp that looks at 32 of them at a time: first around where they
    // are if segments are alike.
    __device__ int64_t search(const Line &line, int64_t from, uint64_t in_line) const {
        int64_t low = 0, high = int64_t(p.segments);
        const int64_t guess = int64_t(p.ends_per_range * double(in_line));
        const int64_t row = line.anchor + from - int64_t(p.weight) * guess; // where it is likely to begin
        const int64_t line_at = (row & -int64_t(GR_STREAM_BATCH)) + lane * (128 / p.item);
        if (line_at >= line.base && line_at < line.stop)
            ptx::prefetch_l2(line.in + uint64_t(line_at) * p.item);
        int64_t probe = lane < 16 ? guess - (1ll << 2 * (15 - lane)) : guess + (1ll << 2 * (lane - 16)) - 1;
        while (low < high) {
            const bool before =
                probe < low ||
                (probe < high && end_of(line, probe) - line.anchor + int64_t(p.weight) * (probe + 1) <= from);
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

    __device__ Range range_of(const Line &line, uint64_t number, unsigned item, int64_t batch, int64_t from,
                              int64_t to, uint64_t in_line, int &window) const {
        const bool first = in_line == 0;
        const int64_t weight = p.weight, low = first ? 0 : search(line, from, in_line);
        const int64_t segments = int64_t(p.segments), after = low > 0 ? end_of(line, low - 1) : line.base;
        const int64_t ahead = low + lane < segments ? end_of(line, low + lane) : line.stop;
        const int64_t end = shuffle_from(ahead, 0);
        const int64_t row =
            first ? line.base : max(after, min((line.anchor + from - weight * low) & -int64_t(batch), end));
        const int64_t origin = row & -batch, most = far;
        Range range;
        range.offsets = reinterpret_cast<const int64_t *>(p.offsets) + low + 1;
        range.in = line.in + uint64_t(origin) * item;
        range.out = number * p.segments + uint64_t(low);
        range.first = origin - line.shift;
        range.least = int(max(line.shift - origin, -most));
        range.most = int(min(int64_t(p.rows) + line.shift - origin, most));
        range.base = int(max(line.base - origin, -most));
        range.stop = int(min(line.stop - origin, most));
        range.budget = int(min(line.anchor + to - weight * low - origin, most));
        range.ends = int(min(segments - low, most));
        range.row = int(row - origin);
        range.began = first || after >= row;
        range.count = end - after;
        range.before = F::identity();
        window = low + lane < segments ? int(min(ahead - origin, most)) : far;
        return range;
    }
    __device__ int end_at(const Range &range, int k) const {
        if (k >= range.ends)
            return far;
        const int64_t end = range.offsets[k] - range.first;
        return int(max(int64_t(range.base), min(end, int64_t(range.stop))));
    }

    // Whether end j, at position `end`, is in the range; if not, up to which row it goes: of whole batches,
    // but for a segment that begins behind the last of them.
    __device__ bool has_end(const Range &range, int end, int j) const {
        return j < range.ends && end + int(p.weight) * (j + 1) <= range.budget;
    }
    __device__ int last_row(const Range &range, int end, int j, int begun, int batch) const {
        return min(min(end, range.stop), max(begun, (range.budget - int(p.weight) * j) & -batch));
    }

    // Reduces a range; the record is valid in lane 0.
    __device__ Record run(Range &range, int window, unsigned item, int batch) {
        Held *held = reinterpret_cast<Held *>(bytes) + warp * GR_STREAM_BATCH;
        uint32_t flags = 0;
        State open = F::identity();
        int j = 0, j0 = 0, b = 0, row = range.row, begun = row;
        Batch next;
        fetch(range, 0, batch, item, next);
        for (;;) {
            const int end = __shfl_sync(0xffffffffu, window, j - j0);
            const bool more = has_end(range, end, j);
            const int last = more ? end : last_row(range, end, j, begun, batch);
            const int rows = min(range.stop, range.budget - int(p.weight) * j); // that are likely to follow
            const int quick = min(last - int(more), range.most) & -batch;
            if (row == b && b >= range.least && quick > b) {
                const int after = rows > quick && quick + batch <= range.most ? quick : quick - batch;
                of_elements([&](auto x) {
                    this->template go<decltype(x)>(range, b, quick, after, batch, next, open);
                });
                row = b = quick;
                if (row == last && !more)
                    break;
            }
            const int stops = b + batch;
            const bool whole = b >= range.least && stops <= range.most;
            const int64_t first = range.first + b; // what row the batch begins with
            __syncwarp();
            Apart apart = Apart::FAR;
            of_elements([&](auto x) {
                using In = decltype(x);
                if (whole) {
                    apart = this->template store<In>(next, held);
                    return;
                }
                const In *in = reinterpret_cast<const In *>(range.in) + b;
                for (int i = max(range.least - b, 0) + int(lane); i < min(batch, range.most - b); i += 32)
                    held[i] = value_of(in[i]);
            });
            if constexpr (keeps)
                fetch(range, rows > stops ? stops : range.most, batch, item, next);
            else if (const int at = stops + int(lane) * (128 / int(item));
                     rows > stops && at < min(stops + batch, range.most))
                ptx::prefetch_l2(range.in + int64_t(at) * item);
            __syncwarp();
            for (;;) { // ends in this batch, as far as the window shows them
                const int k = j0 + int(lane);
                const bool ends = k >= j && window <= stops && has_end(range, window, k);
                const unsigned found = __ballot_sync(0xffffffffu, ends) >> (j - j0);
                const int count = __clz(__brev(~found)); // the first of them: all, where offsets ascend
                if (count == 0)
                    break;
                // Of the first segment lanes have parts, too, or ranges before.
                const bool pending = !(flags & GR_STREAM_ENDS) && !range.began;
                const int divided = row > begun || pending;
                int begin = max(row, __shfl_up_sync(0xffffffffu, window, 1));
                if (k == j)
                    begin = row;
                if (divided) {
                    const int end = __shfl_sync(0xffffffffu, window, j - j0);
                    const State all = reduce_warp(add_rows(held, open, row - b, end - b, first, apart));
                    open = F::identity();
                    if (pending && lane == 0)
                        range.before = all; // few registers are left for it
                    else if (lane == 0)
                        put(range.out + j, all, end - begun);
                }
                flags |= GR_STREAM_ENDS | (pending ? GR_STREAM_PENDING : 0);
                // The others share the lanes, except for long ones: all lanes take each
                // of these, which costs as much as some 16 elements of a lane, and more the more there are.
                if (const int others = count - divided; others > 0) {
                    const int shift = __clz(others - 1) - 27, each = 1 << shift; // lanes
                    const int which = lane >> shift, from_lane = j - j0 + divided + min(which, others - 1);
                    const int from = __shfl_sync(0xffffffffu, begin, from_lane) - b,
                              to = __shfl_sync(0xffffffffu, window, from_lane) - b;
                    const bool has = which < others, now = has && to - from <= each * (16 + 2 * others);
                    const uint64_t index = range.out + j + divided + which;
                    const auto put_all = [&](const auto &sum_of) {
                        auto sum = sum_of(from, now ? to : from, unsigned(each));
                        const bool one = (lane & (each - 1)) == 0;
                        unsigned rest = __ballot_sync(0xffffffffu, has && !now && one);
                        for (; rest != 0; rest &= rest - 1) {
                            const unsigned of = __ffs(rest) - 1;
                            const auto there = shuffle_from(sum_of(__shfl_sync(0xffffffffu, from, of),
                                                                   __shfl_sync(0xffffffffu, to, of), 32),
                                                            0);
                            if (lane == of)
                                sum = there;
                        }
                        if (has && one)
                            put(index, sum, to - from);
                    };
                    const auto of_states = [&](int begin, int end, unsigned width) {
                        return sum_rows(held, begin, end, width, first);
                    };
                    if constexpr (is_exact_sum<F>) {
                        if (apart != Apart::FAR)
                            put_all([&](int begin, int end, unsigned width) {
                                return near_sum(held, begin, end, width, apart == Apart::SINGLE);
                            });
                        else
                            put_all(of_states);
                    } else {
                        put_all(of_states);
                    }
                }
                j += count;
                row = begun = max(row, __shfl_sync(0xffffffffu, window, j - j0 - 1));
                if (j - j0 < 32)
                    break;
                j0 = j;
                window = end_at(range, j0 + int(lane));
                if (j0 + 32 + int(lane) < range.ends)
                    ptx::prefetch_l2(range.offsets + j0 + 32 + int(lane));
            }
            const int then = __shfl_sync(0xffffffffu, window, j - j0);
            const bool others = has_end(range, then, j);
            const int stop = others ? then : last_row(range, then, j, begun, batch), to = min(stops, stop);
            open = add_rows(held, open, row - b, to - b, first, apart);
            row = max(row, to);
            if (!others && row >= stop)
                break;
            if constexpr (!keeps)
                fetch(range, rows > stops ? stops : range.most, batch, item, next);
            b = stops;
        }
        const State before = lane == 0 ? range.before : F::identity(); // of lane 0, which wrote it
        return {{reduce_warp(open), flags, 0}, {before, range.out, range.count}};
    }

    // Which range a warp has: of which line, and which of its ranges.
    struct Number {
        uint64_t line, in_line;
    };
    __device__ Number number_of(uint64_t range) const {
        // Lines of several ranges are few, and a division of 64 bits is a call.
        const uint64_t line = p.line_ranges == 1 ? range : uint32_t(range) / uint32_t(p.line_ranges);
        return {line, range - line * p.line_ranges};
    }
    // Prefetches the first rows of a range, as if segments were alike and had all rows, while the kernel
    // before ends. Only a few lines of the offsets are needed by all: to prefetch them took longer than it
    // saved.
    __device__ void ask(Number number) const {
        if (p.line_ranges == 1)
            return;
        const int64_t row = int64_t(double(number.in_line) * p.inverse_ranges * double(p.rows)) &
                            -int64_t(GR_STREAM_BATCH),
                      at = row + lane * (128 / p.item);
        if (at < int64_t(p.rows))
            ptx::prefetch_l2(p.in + (int64_t(number.line) * p.line_stride + at) * p.item);
    }
    // The range of a warp: between which rows and ends of its line it is.
    __device__ Record run(Number number) {
        const unsigned item = p.item;
        const int batch = min(GR_STREAM_BATCH, 512 * GR_STREAM_VECTORS >> (__ffs(item) - 1));
        const uint64_t in_line = number.in_line;
        const Line line = line_of(number.line, item, batch);
        const int64_t share =
            p.line_ranges == 1 ? line.all : int64_t(double(line.all) * p.inverse_ranges) + 1;
        const int64_t step = (share + batch - 1) & -int64_t(batch);
        const int64_t from = in_line == 0 ? -1 : min(int64_t(in_line) * step, line.all);
        const int64_t to =
            in_line + 1 == p.line_ranges ? line.all : min(int64_t(in_line + 1) * step, line.all);
        if (from < to) {
            Range *range = reinterpret_cast<Range *>(ranges) + warp; // few registers are left for it
            int window;
            const Range mine = range_of(line, number.line, item, batch, from, to, in_line, window);
            if (lane == 0)
                *range = mine;
            __syncwarp();
            return run(*range, window, item, batch);
        }
        return {{F::identity(), 0, 0}, {F::identity(), 0, 0}};
    }

    // Combines the segments of which several warps have parts, by the first warp. What is pending of all,
    // and stays so, goes to `beyond`, and so does what is open behind the last end.
    __device__ void combine_ranges(const Record *records, Record *beyond) const {
        Record own = {{F::identity(), 0, 0}, {F::identity(), 0, 0}};
        if (lane < warps)
            own = records[lane];
        Part sum = own.part;
#pragma unroll
        for (unsigned step = 1; step < warps; step *= 2) {
            const Part other = shuffle_up(sum, step);
            if (lane >= step)
                sum = join(other, sum);
        }
        Part carry = shuffle_up(sum, 1);
        if (lane == 0)
            carry = {F::identity(), 0, 0};
        const bool pending = lane < warps && own.part.flags & GR_STREAM_PENDING,
                   stays = pending && !(carry.flags & GR_STREAM_ENDS);
        if (lane < warps && pending)
            own.first.part = F::combine(carry.open, own.first.part);
        const unsigned mask = __ballot_sync(0xffffffffu, stays);
        if (lane == warps - 1)
            beyond->part = {sum.open, (sum.flags & GR_STREAM_ENDS) | (mask ? GR_STREAM_PENDING : 0u), 0};
        if (stays)
            beyond->first = own.first;
        else if (pending)
            put(own.first.index, own.first.part, own.first.count);
    }

    // What the blocks before this one have left open, back to the nearest in which a segment ended, whose
    // slots become zero again; valid in the first thread. Each slot is read by one block: the next one in
    // which a segment ends, or the last.
    __device__ State look_back(State *totals, unsigned *nearest) const {
        State open = F::identity();
        unsigned from = block(), wide = 32; // most often the nearest is the one before
        while (from > 0) {
            const bool some = threadIdx.x < min(from, wide);
            const uint64_t slot =
                p.slots + uint64_t(some ? from - 1 - threadIdx.x : 0) * GR_STREAM_SLOT_BYTES;
            if (threadIdx.x == 0)
                *nearest = threads;
            __syncthreads();
            StreamSlot<Part> found;
            found.record.open = F::identity();
            bool there = !some;
            for (;;) {
                if (!there)
                    there = found.look(slot);
                const unsigned all = __ballot_sync(0xffffffffu, there);
                const unsigned ends =
                    __ballot_sync(0xffffffffu, there && some && found.record.flags & GR_STREAM_ENDS);
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
            State x = F::identity();
            if (some && threadIdx.x <= near) {
                x = found.record.open;
                found.clear(slot);
            }
#pragma unroll
            for (unsigned step = 1; step < 32; step *= 2)
                x = F::combine(shuffle_down(x, step), x);
            if (lane == 0)
                totals[warp] = x;
            __syncthreads();
            if (threadIdx.x == 0)
                for (unsigned i = 0; i < warps; ++i)
                    open = F::combine(totals[i], open);
            if (near < threads)
                break;
            from -= min(from, wide);
            wide = threads;
            __syncthreads();
        }
        return open;
    }
};

template <class F> __device__ void stream_segments(const gr_stream_params &p) {
    using Work = Streams<F>;
    using State = typename F::State;
    using Record = typename Work::Record;
    __shared__ alignas(16) unsigned char bytes[Work::room];
    __shared__ alignas(16) unsigned char own[sizeof(Record)];
    __shared__ alignas(16) unsigned char ranges[Work::warps * sizeof(typename Work::Range)];
    __shared__ unsigned nearest;
    Work work(p, bytes, ranges);
    const uint64_t range = work.block() * uint64_t(Work::warps) + work.warp;
    const auto number = work.number_of(range);
    pdl_as_comments::pdl_launch_dependents(); // its blocks start as blocks of this one end
    if (range < p.ranges)
        work.ask(number);
    pdl_as_comments::pdl_wait();
    Record record = {{F::identity(), 0, 0}, {F::identity(), 0, 0}};
    if (range < p.ranges)
        record = work.run(number);
    if (p.slots == 0)
        return;
    // Records take the place of elements.
    Record *records = reinterpret_cast<Record *>(bytes), *mine = reinterpret_cast<Record *>(own);
    __syncthreads();
    if (work.lane == 0)
        records[work.warp] = record;
    __syncthreads();
    const bool last = work.block() + 1 == p.blocks;
    if (work.warp == 0) {
        work.combine_ranges(records, mine);
        __syncwarp();
        if (!last && threadIdx.x == 0) {
            StreamSlot<typename Work::Part> slot;
            slot.record = mine->part;
            slot.put(p.slots + uint64_t(work.block()) * GR_STREAM_SLOT_BYTES);
        }
    }
    __syncthreads();
    const uint32_t flags = mine->part.flags;
    if (!last && !(flags & GR_STREAM_ENDS))
        return;
    const State open = work.look_back(reinterpret_cast<State *>(bytes), &nearest);
    if (threadIdx.x == 0 && flags & GR_STREAM_PENDING)
        work.put(mine->first.index, F::combine(open, mine->first.part), mine->first.count);
}

#define GR_STREAM_ENTRY_OF(blocks, op, kind, ...)                                                            \
    GR_ENTRY((32 * GR_STREAM_WARPS, blocks), stream_##op##_##kind, gr_stream_params,                         \
             stream_segments<__VA_ARGS__>)
#define GR_STREAM_ENTRY(op, kind, ...) GR_STREAM_ENTRY_OF(GR_STREAM_BLOCKS_PER_SM, op, kind, __VA_ARGS__)
#define GR_STREAM_ENTRIES(op, F)                                                                             \
    GR_STREAM_ENTRY(op, real, F<double>)                                                                     \
    GR_STREAM_ENTRY(op, whole, F<int64_t>)

} // namespace gr::segments
