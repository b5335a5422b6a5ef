// Scans of contiguous lines that one block holds at once in registers. Neighbouring lanes have neighbouring
// vectors, and a warp up to GR_SHORT_VECTORS rows of them: of several lines each, if 32 vectors hold a line,
// else of one line, which up to GR_SHORT_LINE_WARPS warps share. So the order of additions follows from the
// place of an element in its line alone, and no block waits for another.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "scan/scan.cuh"

namespace gr::scan {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Elements are loaded as In.
template <class F, class In> struct ShortLines {
    using State = typename F::State;
    using Out = typename F::Out;
    static constexpr unsigned max_rows = GR_SHORT_VECTORS, length = 16 / sizeof(Out);

    const gr_short_scan_params &p;
    State *totals; // of warps
    const unsigned lane, warp;
    unsigned lanes,
        of_line; // lanes of a row that have one line; the number of the warp among those of the line
    uint64_t line;
    const In *in; // of the first row of vectors
    Out *out;
    int64_t in_step, out_step; // from a row to the next, in elements
    unsigned first, count;     // the place of `in` in the line, and the elements from there on

    __device__ ShortLines(const gr_short_scan_params &params, State *states)
        : p(params), totals(states), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
          lanes(1u << p.lanes_shift), of_line(0) {
        if (p.line_warps == 0) {
            const uint64_t row = (uint64_t(blockIdx.x) * (blockDim.x / 32) + warp) * p.rows;
            const unsigned lines = 32 >> p.lanes_shift;
            line = row * lines + (lane >> p.lanes_shift);
            first = (lane & (lanes - 1)) * length;
            in_step = lines * p.line_stride;
            out_step = int64_t(lines * (p.length + p.initial));
        } else {
            const unsigned of_block =
                p.block_lines == 1 ? 0 : warp >> (p.line_warps - 1); // of one or two warps
            of_line = warp - of_block * p.line_warps;
            line = uint64_t(blockIdx.x) * p.block_lines + of_block;
            first = (of_line * max_rows * 32 + lane) * length;
            in_step = out_step = 32 * length;
        }
        in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride + first;
        out = reinterpret_cast<Out *>(p.out) + line * (p.length + p.initial) + p.initial + first;
        count = line < p.lines && first < p.length ? unsigned(p.length) - first : 0;
    }

    // The elements from a row of vectors on, of the line that this thread has there.
    __device__ unsigned count_of(unsigned row) const {
        if (p.line_warps == 0)
            return line + row * (32 >> p.lanes_shift) < p.lines ? count : 0;
        return count - min(count, row * 32 * length);
    }
    static __device__ State load_state(In x) {
        if constexpr (std::is_same<In, Out>::value)
            return F::load(x);
        else
            return F::load(Out(widen(x)));
    }
    __device__ Vec<In, length> load(unsigned row) const {
        const In *from = in + row * in_step;
        const unsigned has = count_of(row);
        Vec<In, length> x;
        if (has >= length && reinterpret_cast<uint64_t>(from) % sizeof(x) == 0) {
            x = *reinterpret_cast<const Vec<In, length> *>(from);
        } else {
#pragma unroll
            for (unsigned k = 0; k < length; ++k)
                x.at[k] = k < has ? from[k] : In();
        }
        return x;
    }
    // Stores the inclusive prefixes of a vector behind `before`, if it has something before it.
    __device__ void store(unsigned row, const Vec<In, length> &x, State before, bool inside) const {
        Out *to = out + row * out_step;
        const unsigned has = count_of(row);
        Vec<Out, length> result;
        State sum = before;
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
            const State one = load_state(x.at[k]);
            sum = inside || k > 0 ? F::combine(sum, one) : one;
            result.at[k] = F::finish(sum);
        }
        if (has >= length && reinterpret_cast<uint64_t>(to) % sizeof(result) == 0) {
            *reinterpret_cast<Vec<Out, length> *>(to) = result;
        } else {
#pragma unroll
            for (unsigned k = 0; k < length; ++k)
                if (k < has)
                    to[k] = result.at[k];
        }
        if (p.initial && !inside && has > 0)
            to[-1] = F::finish(F::identity());
    }

    __device__ void run() const {
        Vec<In, length> x[max_rows];
        State sums[max_rows], before[max_rows];
#pragma unroll
        for (unsigned v = 0; v < max_rows; ++v)
            if (v < p.rows)
                x[v] = load(v);
#pragma unroll
        for (unsigned v = 0; v < max_rows; ++v)
            if (v < p.rows) {
                sums[v] = load_state(x[v].at[0]);
#pragma unroll
                for (unsigned k = 1; k < length; ++k)
                    sums[v] = F::combine(sums[v], load_state(x[v].at[k]));
            }
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            if (step >= lanes)
                break;
#pragma unroll
            for (unsigned v = 0; v < max_rows; ++v)
                if (v < p.rows) {
                    const State other = shuffle_up(sums[v], step);
                    if ((lane & (lanes - 1)) >= step)
                        sums[v] = F::combine(other, sums[v]);
                }
        }
#pragma unroll
        for (unsigned v = 0; v < max_rows; ++v)
            before[v] = shuffle_up(sums[v], 1);
        bool inside = (lane & (lanes - 1)) > 0, follows = false;
        if (p.line_warps > 0) {
            State all = shuffle_from(sums[0], 31);
#pragma unroll
            for (unsigned v = 1; v < max_rows; ++v) {
                before[v] = lane > 0 ? F::combine(all, before[v]) : all;
                all = F::combine(all, shuffle_from(sums[v], 31));
            }
            follows = true;
            if (p.line_warps > 1) {
                const State carry = before_warp(all);
                if (of_line > 0) {
#pragma unroll
                    for (unsigned v = 0; v < max_rows; ++v)
                        before[v] = v > 0 || inside ? F::combine(carry, before[v]) : carry;
                    inside = true;
                }
            }
        }
#pragma unroll
        for (unsigned v = 0; v < max_rows; ++v)
            if (v < p.rows)
                store(v, x[v], before[v], inside || (follows && v > 0));
    }

    // The sum of the warps of the line before this warp, of which there are some. Has a barrier.
    __device__ State before_warp(State all) const {
        if (lane == 0)
            totals[warp] = all;
        __syncthreads();
        State of_warps = lane < of_line ? totals[warp - of_line + lane] : F::identity();
#pragma unroll
        for (unsigned step = 1; step < GR_SHORT_LINE_WARPS; step *= 2) {
            const State other = shuffle_up(of_warps, step);
            if (lane >= step)
                of_warps = F::combine(other, of_warps);
        }
        return shuffle_from(of_warps, of_line > 0 ? of_line - 1 : 0);
    }
};

template <class F, class In = typename F::Out>
__device__ void scan_short_lines(const gr_short_scan_params &p) {
    using Work = ShortLines<F, In>;
    using State = typename F::State;
    __shared__ alignas(16) unsigned char states[GR_SHORT_LINE_WARPS * sizeof(State)];
    const Work work(p, reinterpret_cast<State *>(states));
    pdl_launch_dependents();
    pdl_wait();
    work.run();
}

#define GR_SHORT_ENTRY(op, dtype, ...)                                                                       \
    GR_ENTRY((32 * GR_SHORT_LINE_WARPS), short_##op##_##dtype, gr_short_scan_params,                         \
             scan_short_lines<__VA_ARGS__>)

#endif

} // namespace gr::scan
