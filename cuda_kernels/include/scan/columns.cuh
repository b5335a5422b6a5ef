// Inclusive scans along a short axis whose columns are neighbours: a thread scans its columns alone. The
// order of additions is that of scan.cuh: runs of rows, and bands of runs.
#pragma once

#include "common/entry.cuh"
#include "common/vec.cuh"
#include "scan/scan.cuh"

namespace gr::scan {

// Rows that a thread loads before it adds up the first of them.
enum { COLUMN_ROWS_AHEAD = 8 };

template <class F, class In> struct ColumnScan {
    using State = typename F::State;
    using Out = typename F::Out;
    static constexpr unsigned most = GR_COLUMN_SCAN_BYTES / sizeof(Out);

    // Scans N neighbouring columns, which are loaded and stored at once.
    template <unsigned N> static __device__ void run(const gr_column_scan_params &p, const In *in, Out *out) {
        State sums[N], runs[N], before[N],
            bands[N];                 // of all, of the run, of the runs and the bands before it
        unsigned of_run = 0, run = 0; // the row of the run, and the run
        for (uint64_t row = 0; row < p.length; row += COLUMN_ROWS_AHEAD) {
            Vec<In, N> loaded[COLUMN_ROWS_AHEAD];
#pragma unroll
            for (unsigned i = 0; i < COLUMN_ROWS_AHEAD; ++i)
                if (row + i < p.length)
                    loaded[i] = *reinterpret_cast<const Vec<In, N> *>(in + int64_t(row + i) * p.along_stride);
#pragma unroll
            for (unsigned i = 0; i < COLUMN_ROWS_AHEAD; ++i) {
                if (row + i >= p.length)
                    return;
                if (F::ordered && of_run == p.run) {
                    of_run = 0;
                    ++run;
                    const bool ends = run % GR_SCAN_BAND_RUNS == 0;
#pragma unroll
                    for (unsigned j = 0; j < N; ++j) {
                        before[j] = run % GR_SCAN_BAND_RUNS == 1 ? runs[j] : F::combine(before[j], runs[j]);
                        if (ends) // up to 128 rows have two bands at the most
                            bands[j] = before[j];
                        sums[j] = run > GR_SCAN_BAND_RUNS ? F::combine(bands[j], before[j]) : before[j];
                    }
                }
                Vec<Out, N> results;
#pragma unroll
                for (unsigned j = 0; j < N; ++j) {
                    const State x = F::load(Scan<F>::grow(loaded[i].at[j]));
                    sums[j] = row + i == 0 ? x : F::combine(sums[j], x);
                    if (F::ordered)
                        runs[j] = of_run == 0 ? x : F::combine(runs[j], x);
                    results.at[j] = F::finish(sums[j]);
                }
                ++of_run;
                *reinterpret_cast<Vec<Out, N> *>(out) = results;
                out += p.inner;
            }
        }
    }

    static __device__ void columns(const gr_column_scan_params &p) {
        const uint64_t number = uint64_t(blockIdx.x) * GR_COLUMN_SCAN_THREADS + threadIdx.x;
        const uint64_t line = number / p.line_threads, thread = number - line * p.line_threads;
        if (line >= p.lines)
            return;
        const In *in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride;
        Out *out = reinterpret_cast<Out *>(p.out) + line * (p.length + p.initial) * p.inner;
        if (p.initial)
            for (uint64_t column = thread; column < p.inner; column += p.line_threads)
                out[column] = F::finish(F::identity());
        out += p.initial * p.inner;
        if (p.vectors && p.in % (most * sizeof(In)) == 0 && p.out % (most * sizeof(Out)) == 0)
            return run<most>(p, in + thread * most, out + thread * most);
        for (uint64_t column = thread; column < p.inner; column += p.line_threads)
            run<1>(p, in + int64_t(column) * p.inner_stride, out + column);
    }
};

// Scans of up to GR_COLUMN_SCAN_SHORT rows, which are one run. A thread loads all rows of its columns at
// once; these are line_threads apart, so that neighbouring threads load neighbouring columns.
template <class F> struct ShortColumnScan {
    using State = typename F::State;
    using Out = typename F::Out;

    const gr_column_scan_params &p;
    const Out *in; // of the thread's first column
    Out *out;
    uint64_t right; // columns of the line from there on

    __device__ bool has(unsigned j) const {
        return j == 0 || j * p.line_threads < right;
    }
    template <unsigned N> __device__ void scan() const {
        Out loaded[GR_COLUMN_SCAN_SHORT][N];
#pragma unroll
        for (unsigned i = 0; i < GR_COLUMN_SCAN_SHORT; ++i)
#pragma unroll
            for (unsigned j = 0; j < N; ++j)
                if (i < p.length && has(j))
                    loaded[i][j] =
                        in[int64_t(i) * p.along_stride + int64_t(j * p.line_threads) * p.inner_stride];
        State sums[N];
        Out *to = out;
#pragma unroll
        for (unsigned i = 0; i < GR_COLUMN_SCAN_SHORT; ++i) {
            if (i >= p.length)
                return;
#pragma unroll
            for (unsigned j = 0; j < N; ++j) {
                const State x = F::load(loaded[i][j]);
                sums[j] = i == 0 ? x : F::combine(sums[j], x);
                if (has(j))
                    to[j * p.line_threads] = F::finish(sums[j]);
            }
            to += p.inner;
        }
    }

    static __device__ void columns(const gr_column_scan_params &p) {
        const uint64_t number = uint64_t(blockIdx.x) * GR_COLUMN_SCAN_THREADS + threadIdx.x;
        const uint64_t line = number >> 32 == 0 && p.line_threads >> 32 == 0
                                  ? unsigned(number) / unsigned(p.line_threads)
                                  : number / p.line_threads;
        const uint64_t thread = number - line * p.line_threads;
        if (line >= p.lines)
            return;
        const Out *in = reinterpret_cast<const Out *>(p.in) + int64_t(line) * p.line_stride;
        Out *out = reinterpret_cast<Out *>(p.out) + line * (p.length + p.initial) * p.inner;
        if (p.initial)
            for (uint64_t column = thread; column < p.inner; column += p.line_threads)
                out[column] = F::finish(F::identity());
        out += p.initial * p.inner;
        const ShortColumnScan work = {p, in + int64_t(thread) * p.inner_stride, out + thread,
                                      p.inner - thread};
        if (p.each > 1)
            work.template scan<GR_COLUMN_SCAN_APART>();
        else
            work.template scan<1>();
    }
};

template <class F> __device__ void scan_columns_of(const gr_column_scan_params &p) {
    if (gridDim.x <= SHORT_SCAN_BLOCKS)
        gr::common::pdl_as_comments::pdl_launch_dependents();
    gr::common::pdl_as_comments::pdl_wait();
    if constexpr (std::is_same<typename F::Out, int64_t>::value) {
        switch (p.kind) {
        case GR_SCAN_B8:
            return ColumnScan<F, gr_bool>::columns(p);
        case GR_SCAN_I8:
            return ColumnScan<F, int8_t>::columns(p);
        case GR_SCAN_I16:
            return ColumnScan<F, int16_t>::columns(p);
        case GR_SCAN_I32:
            return ColumnScan<F, int32_t>::columns(p);
        case GR_SCAN_U8:
            return ColumnScan<F, uint8_t>::columns(p);
        case GR_SCAN_U16:
            return ColumnScan<F, uint16_t>::columns(p);
        case GR_SCAN_U32:
            return ColumnScan<F, uint32_t>::columns(p);
        default:
            break;
        }
    }
    ColumnScan<F, typename F::Out>::columns(p);
}

template <class F> __device__ void scan_short_columns(const gr_column_scan_params &p) {
    if (gridDim.x <= SHORT_SCAN_BLOCKS)
        gr::common::pdl_as_comments::pdl_launch_dependents();
    gr::common::pdl_as_comments::pdl_wait();
    ShortColumnScan<F>::columns(p);
}

#define GR_COLUMN_ENTRY(op, dtype, F)                                                                        \
    GR_ENTRY((GR_COLUMN_SCAN_THREADS), columns_##op##_##dtype, gr_column_scan_params, scan_columns_of<F>)
#define GR_SHORT_COLUMN_ENTRY(op, dtype, F)                                                                  \
    GR_ENTRY((GR_COLUMN_SCAN_THREADS), short_columns_##op##_##dtype, gr_column_scan_params,                  \
             scan_short_columns<F>)
#define GR_COLUMN_ENTRIES(op, Running)                                                                       \
    GR_COLUMN_ENTRY(op, f32, Running<float>)                                                                 \
    GR_COLUMN_ENTRY(op, f64, Running<double>)                                                                \
    GR_COLUMN_ENTRY(op, i64, Running<int64_t>)                                                               \
    GR_COLUMN_ENTRY(op, f16, Running<gr_f16>)                                                                \
    GR_COLUMN_ENTRY(op, bf16, Running<gr_bf16>)                                                              \
    GR_COLUMN_ENTRY(op, c64, Running<gr_c64>)                                                                \
    GR_COLUMN_ENTRY(op, c128, Running<gr_c128>)                                                              \
    GR_SHORT_COLUMN_ENTRY(op, f32, Running<float>)                                                           \
    GR_SHORT_COLUMN_ENTRY(op, f16, Running<gr_f16>)                                                          \
    GR_SHORT_COLUMN_ENTRY(op, bf16, Running<gr_bf16>)

} // namespace gr::scan
