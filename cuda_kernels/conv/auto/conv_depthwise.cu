// Convolutions whose groups have one channel each, as depthwise ones have: they contain no matrix
// multiplication, and memory limits them. A thread makes EACH results that share taps, so that a tap is
// loaded once for them: in NHWC of neighbouring columns, and of four filters where their elements are
// contiguous; in NCHW of neighbouring rows, its neighbours having the neighbouring columns. What several
// threads see is found in L1. Where there are 3 x 3 taps and strides of 1 or 2 (the second half), a thread
// keeps the taps in registers, and loads what its results see once.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/vec.cuh"
#include "conv/predicated.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_DEPTHWISE_THREADS, EACH = GR_CONV_DEPTHWISE_OUTPUTS };

// As conv_tap, of sizes for which 32 bits are enough; the planner ensures it.
__device__ unsigned tap_of(const gr_conv_axis &axis, unsigned result, unsigned tap) {
    return result * unsigned(axis.stride) + tap * unsigned(axis.dilation) - unsigned(axis.padding);
}

// ---- which results are a thread's

struct FirstOutput {
    unsigned image, down, along, filter; // the first
    bool there;
};

// Threads are numbered as their results lie, of `rows` by `columns`, and of LENGTH filters.
template <int LENGTH>
__device__ FirstOutput place_in_nhwc(const gr_conv_params &p, unsigned rows, unsigned columns) {
    const unsigned filters = unsigned(p.groups * p.filters) / LENGTH;
    const unsigned across = (unsigned(p.width.out) + columns - 1) / columns,
                   down = (unsigned(p.height.out) + rows - 1) / rows;
    const unsigned number = blockIdx.x * THREADS + threadIdx.x, pixel = number / filters;
    const unsigned row = pixel / across, image = row / down;
    return {image, row % down * rows, pixel % across * columns, number % filters * LENGTH, image < p.batch};
}

inline __device__ FirstOutput place_in_nchw(const gr_conv_params &p, unsigned rows, unsigned columns = 1) {
    const unsigned filters = unsigned(p.groups * p.filters);
    const unsigned across = (unsigned(p.width.out) + columns - 1) / columns,
                   down = (unsigned(p.height.out) + rows - 1) / rows;
    const unsigned number = blockIdx.x * THREADS + threadIdx.x, row = number / across;
    const unsigned channel = row / down, image = channel / filters;
    return {image, row % down * rows, number % across * columns, channel % filters, image < p.batch};
}

// The results of EACH columns of a row, and of LENGTH filters from number `filter` on.
template <class T, int LENGTH> __device__ void along_a_row(const gr_conv_params &p) {
    typedef typename Accumulator<T>::type W;
    typedef Vec<T, LENGTH> Pack;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const auto [image, y, first, filter, there] = place_in_nhwc<LENGTH>(p, 1, EACH);
    if (!there)
        return;
    const T *from = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, LENGTH > 1 ? filter : filter / unsigned(p.filters));
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[EACH][LENGTH] = {};
    for (unsigned i = 0; i < unsigned(p.height.kernel); ++i) {
        const unsigned row = tap_of(p.height, y, i);
        if (row >= unsigned(p.height.size))
            continue;
        const T *line = from + row * p.of_x.row, *weight = taps + i * p.of_w.row;
        unsigned column = tap_of(p.width, first, 0);
        for (unsigned j = 0; j < unsigned(p.width.kernel);
             ++j, column += unsigned(p.width.dilation), weight += p.of_w.column) {
            W weights[LENGTH];
#pragma unroll
            for (int v = 0; v < LENGTH; ++v)
                weights[v] = Accumulator<T>::of(weight[v * p.of_w.outer]);
#pragma unroll
            for (int r = 0; r < EACH; ++r) {
                const unsigned at = column + r * unsigned(p.width.stride);
                if (at >= unsigned(p.width.size))
                    continue;
                const Pack seen = *reinterpret_cast<const Pack *>(line + at * p.of_x.column);
#pragma unroll
                for (int v = 0; v < LENGTH; ++v)
                    sums[r][v] = multiply_add(Accumulator<T>::of(seen.at[v]), weights[v], sums[r][v]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        if (first + r >= p.width.out)
            return;
        Pack results;
#pragma unroll
        for (int v = 0; v < LENGTH; ++v)
            results.at[v] = Accumulator<T>::back(sums[r][v]);
        *reinterpret_cast<Pack *>(reinterpret_cast<T *>(p.out) +
                                  conv_offset(p.of_out, image, y, first + r, filter)) = results;
    }
}

// The results of EACH rows of a column.
template <class T> __device__ void down_a_column(const gr_conv_params &p) {
    typedef typename Accumulator<T>::type W;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const auto [image, first, x, filter, there] = place_in_nchw(p, EACH);
    if (!there)
        return;
    const T *from =
        reinterpret_cast<const T *>(p.x) + conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters));
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[EACH] = {};
    for (unsigned j = 0; j < unsigned(p.width.kernel); ++j) {
        const unsigned column = tap_of(p.width, x, j);
        if (column >= unsigned(p.width.size))
            continue;
        const T *line = from + column * p.of_x.column, *weight = taps + j * p.of_w.column;
        unsigned row = tap_of(p.height, first, 0);
        for (unsigned i = 0; i < unsigned(p.height.kernel);
             ++i, row += unsigned(p.height.dilation), weight += p.of_w.row) {
            const W factor = Accumulator<T>::of(*weight);
#pragma unroll
            for (int r = 0; r < EACH; ++r) {
                const unsigned at = row + r * unsigned(p.height.stride);
                if (at < unsigned(p.height.size))
                    sums[r] = multiply_add(Accumulator<T>::of(line[at * p.of_x.row]), factor, sums[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r)
        if (first + r < p.height.out)
            reinterpret_cast<T *>(p.out)[conv_offset(p.of_out, image, first + r, x, filter)] =
                Accumulator<T>::back(sums[r]);
}

// ---- 1 x 1 taps of dense arrays

// Multiplies elements, in the order of memory, by the filters of their channels: VECS vectors per thread.
template <class T, bool NHWC> __device__ void scale(const gr_conv_params &p) {
    enum { LENGTH = 16 / sizeof(T), VECS = GR_CONV_DEPTHWISE_SCALED_VECS };
    typedef typename Accumulator<T>::type W;
    typedef Vec<T, LENGTH> Pack;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const unsigned channels = unsigned(p.groups), pixels = unsigned(p.height.size * p.width.size),
                   all = unsigned(p.batch) * channels * pixels, run = NHWC ? 1 : pixels;
    const T *x = reinterpret_cast<const T *>(p.x), *w = reinterpret_cast<const T *>(p.w);
    T *out = reinterpret_cast<T *>(p.out);
    Pack seen[VECS] = {};
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const unsigned first = ((blockIdx.x * VECS + i) * THREADS + threadIdx.x) * LENGTH;
        if (first + LENGTH <= all)
            seen[i] = *reinterpret_cast<const Pack *>(x + first);
        else
#pragma unroll
            for (unsigned j = 0; j < LENGTH; ++j)
                if (first + j < all)
                    seen[i].at[j] = x[first + j];
    }
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const unsigned first = ((blockIdx.x * VECS + i) * THREADS + threadIdx.x) * LENGTH;
        if (first >= all)
            return;
        unsigned in_run = first % run, channel = first / run % channels;
        W weight = Accumulator<T>::of(w[channel * p.of_w.outer]);
        Pack results;
#pragma unroll
        for (unsigned j = 0; j < LENGTH; ++j) {
            results.at[j] =
                Accumulator<T>::back(multiply_add(Accumulator<T>::of(seen[i].at[j]), weight, W(0)));
            if (++in_run == run) {
                in_run = 0;
                channel = channel + 1 == channels ? 0 : channel + 1;
                weight = Accumulator<T>::of(w[channel * p.of_w.outer]);
            }
        }
        if (first + LENGTH <= all)
            *reinterpret_cast<Pack *>(out + first) = results;
        else
#pragma unroll
            for (unsigned j = 0; j < LENGTH; ++j)
                if (first + j < all)
                    out[first + j] = results.at[j];
    }
}

// ---- NCHW, three, five or seven rows of taps

// A column of TAPS taps, and the elements of x under it for several rows of results.
template <class T, int TAPS, int SEEN_ROWS> struct TallColumn {
    Element<T> seen[SEEN_ROWS];
    T weights[TAPS];
    bool there; // in the image

    __device__ void load(const gr_conv_params &p, const T *image, const T *taps, int top, unsigned column,
                         bool is_seen, bool is_tap) {
        there = is_seen & (column < unsigned(p.width.size));
        const T *line = image + column * p.of_x.column;
#pragma unroll
        for (int i = 0; i < SEEN_ROWS; ++i)
            seen[i] = load_if(there & (unsigned(top + i) < unsigned(p.height.size)),
                              element(line + i * p.of_x.row));
        if (is_tap)
#pragma unroll
            for (int i = 0; i < TAPS; ++i)
                weights[i] = taps[i * p.of_w.row];
    }
};

// The results of ROWS rows of a column. A thread loads all that its results see under a column of taps before
// it multiplies those under the column before.
template <class T, int TAPS, int STRIDE> __device__ void tall_down_a_column(const gr_conv_params &p) {
    enum {
        ROWS = STRIDE == 1 && TAPS > 3 ? GR_CONV_DEPTHWISE_TALL_ROWS : GR_CONV_DEPTHWISE_TALL_ROWS_STRIDE_2
    };
    enum { SEEN_ROWS = (ROWS - 1) * STRIDE + TAPS };
    typedef typename Accumulator<T>::type W;
    pdl_as_comments::pdl_wait();
    const auto [image, down, along, filter, there] = place_in_nchw(p, ROWS);
    if (!there)
        return;
    const int top = int(down * STRIDE) - int(p.height.padding);
    const T *from = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters)) + top * p.of_x.row;
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[ROWS] = {};
    const unsigned columns = unsigned(p.width.kernel);
    TallColumn<T, TAPS, SEEN_ROWS> now, next;
    now.there = false;
#pragma unroll 1
    for (unsigned j = 0; j <= columns; ++j, taps += p.of_w.column) {
        next.load(p, from, taps, top, tap_of(p.width, along, j), j < columns, j < columns);
        if (now.there)
#pragma unroll
            for (int i = 0; i < TAPS; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    sums[r] = multiply_add(Accumulator<T>::of(now.seen[r * STRIDE + i].at),
                                           Accumulator<T>::of(now.weights[i]), sums[r]);
        now = next;
    }
    pdl_as_comments::pdl_launch_dependents(); // earlier, blocks of the next kernel would unbalance the SMs
    T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, image, down, along, filter);
#pragma unroll
    for (int r = 0; r < ROWS; ++r, to += p.of_out.row)
        if (down + r < unsigned(p.height.out))
            *to = Accumulator<T>::back(sums[r]);
}

// The results of ROWS rows of two neighbouring columns, with strides of 1: what a thread sees of a column
// serves both.
template <class T, int TAPS> __device__ void tall_down_two_columns(const gr_conv_params &p) {
    enum { ROWS = GR_CONV_DEPTHWISE_TALL_ROWS, SEEN_ROWS = ROWS - 1 + TAPS };
    typedef typename Accumulator<T>::type W;
    pdl_as_comments::pdl_wait();
    const auto [image, down, along, filter, there] = place_in_nchw(p, ROWS, 2);
    if (!there)
        return;
    const int top = int(down) - int(p.height.padding);
    const T *from = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters)) + top * p.of_x.row;
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[2][ROWS] = {};
    const unsigned columns = unsigned(p.width.kernel);
    TallColumn<T, TAPS, SEEN_ROWS> now = {},
                                   next = {}; // ptxas takes weights without a value for those of `next`
    W before[TAPS] = {};
#pragma unroll 1
    for (unsigned j = 0; j <= columns + 1; ++j, taps += p.of_w.column) {
        next.load(p, from, taps, top, along + j * unsigned(p.width.dilation) - unsigned(p.width.padding),
                  j <= columns, j < columns);
        W factors[TAPS];
#pragma unroll
        for (int i = 0; i < TAPS; ++i)
            factors[i] = Accumulator<T>::of(now.weights[i]);
        if (now.there) {
            W seen[SEEN_ROWS];
#pragma unroll
            for (int i = 0; i < SEEN_ROWS; ++i)
                seen[i] = Accumulator<T>::of(now.seen[i].at);
            if (j <= columns)
#pragma unroll
                for (int i = 0; i < TAPS; ++i)
#pragma unroll
                    for (int r = 0; r < ROWS; ++r)
                        sums[0][r] = multiply_add(seen[r + i], factors[i], sums[0][r]);
            if (j > 1)
#pragma unroll
                for (int i = 0; i < TAPS; ++i)
#pragma unroll
                    for (int r = 0; r < ROWS; ++r)
                        sums[1][r] = multiply_add(seen[r + i], before[i], sums[1][r]);
        }
#pragma unroll
        for (int i = 0; i < TAPS; ++i)
            before[i] = factors[i];
        now = next;
    }
    pdl_as_comments::pdl_launch_dependents(); // earlier, blocks of the next kernel would unbalance the SMs
    T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, image, down, along, filter);
#pragma unroll
    for (int r = 0; r < ROWS; ++r, to += p.of_out.row)
        if (down + r < unsigned(p.height.out)) {
            to[0] = Accumulator<T>::back(sums[0][r]);
            if (along + 1 < unsigned(p.width.out))
                to[1] = Accumulator<T>::back(sums[1][r]);
        }
}

// ---- 3 x 3 taps

enum { TAPS = 3 };

// The results of ROWS rows of COLUMNS columns in NCHW, with strides of 1. CONTIGUOUS: rows have no gaps. A
// thread loads all elements before it multiplies the first one, and adds up in the order of
// tall_down_a_column.
template <class T, int ROWS, int COLUMNS, bool CONTIGUOUS>
__device__ void three_in_nchw(const gr_conv_params &p) {
    enum { SEEN_ROWS = ROWS - 1 + TAPS, SEEN_COLUMNS = COLUMNS - 1 + TAPS };
    typedef typename Accumulator<T>::type W;
    pdl_as_comments::pdl_wait();
    const auto [image, down, along, filter, there] = place_in_nchw(p, ROWS, COLUMNS);
    if (!there)
        return;
    const int top = int(down) - int(p.height.padding), left = int(along) - int(p.width.padding);
    const int64_t column = CONTIGUOUS ? 1 : p.of_x.column;
    const T *line = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters)) + top * p.of_x.row +
                    left * column;
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    Element<T> seen[SEEN_COLUMNS][SEEN_ROWS];
    bool is_column[SEEN_COLUMNS]; // of the image
#pragma unroll
    for (int c = 0; c < SEEN_COLUMNS; ++c)
        is_column[c] = unsigned(left + c) < unsigned(p.width.size);
#pragma unroll
    for (int i = 0; i < SEEN_ROWS; ++i, line += p.of_x.row)
#pragma unroll
        for (int c = 0; c < SEEN_COLUMNS; ++c)
            seen[c][i] = load_if(is_column[c] & (unsigned(top + i) < unsigned(p.height.size)),
                                 element(line + c * column));
    W weights[TAPS][TAPS], sums[COLUMNS][ROWS] = {};
#pragma unroll
    for (int i = 0; i < TAPS; ++i)
#pragma unroll
        for (int j = 0; j < TAPS; ++j)
            weights[i][j] = Accumulator<T>::of(taps[i * p.of_w.row + j * p.of_w.column]);
#pragma unroll
    for (int c = 0; c < SEEN_COLUMNS; ++c)
        if (is_column[c])
#pragma unroll
            for (int i = 0; i < TAPS; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
#pragma unroll
                    for (int q = 0; q < COLUMNS; ++q)
                        if (c >= q && c < q + TAPS)
                            sums[q][r] = multiply_add(Accumulator<T>::of(seen[c][r + i].at),
                                                      weights[i][c - q], sums[q][r]);
    pdl_as_comments::pdl_launch_dependents(); // earlier, blocks of the next kernel would unbalance the SMs
    T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, image, down, along, filter);
#pragma unroll
    for (int r = 0; r < ROWS; ++r, to += p.of_out.row)
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
            if (down + r < unsigned(p.height.out) && along + q < unsigned(p.width.out))
                to[q] = Accumulator<T>::back(sums[q][r]);
}

// The results of ROWS rows of COLUMNS columns, of four filters, whose taps lie one behind the other.
template <class T, int STRIDE> __device__ void three_of_pixels(const gr_conv_params &p) {
    enum { ROWS = GR_CONV_DEPTHWISE_3X3_ROWS };
    enum { COLUMNS = STRIDE == 1 ? GR_CONV_DEPTHWISE_3X3_COLUMNS : GR_CONV_DEPTHWISE_3X3_COLUMNS_STRIDE_2 };
    enum { LENGTH = 4, SEEN_ROWS = (ROWS - 1) * STRIDE + TAPS, SEEN = (COLUMNS - 1) * STRIDE + TAPS };
    typedef typename Accumulator<T>::type W;
    typedef Vec<T, LENGTH> Pack;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const auto [image, down, along, filter, there] = place_in_nhwc<LENGTH>(p, ROWS, COLUMNS);
    if (!there)
        return;
    const int top = int(down * STRIDE) - int(p.height.padding),
              left = int(along * STRIDE) - int(p.width.padding);
    const T *line = reinterpret_cast<const T *>(p.x) + int64_t(image) * p.of_x.outer + top * p.of_x.row +
                    left * p.of_x.column + filter;
    const Pack *taps =
        reinterpret_cast<const Pack *>(reinterpret_cast<const T *>(p.w) + filter * (TAPS * TAPS));
    T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, image, down, along, filter);
    W weights[LENGTH * TAPS * TAPS], sums[ROWS][COLUMNS][LENGTH] = {};
#pragma unroll
    for (int i = 0; i < TAPS * TAPS; ++i) {
        const Pack some = taps[i];
#pragma unroll
        for (int v = 0; v < LENGTH; ++v)
            weights[i * LENGTH + v] = Accumulator<T>::of(some.at[v]);
    }
#pragma unroll
    for (int i = 0; i < SEEN_ROWS; ++i, line += p.of_x.row) {
        const bool row = unsigned(top + i) < unsigned(p.height.size);
        Pack some[SEEN]; // of a row, or zeros
        W seen[SEEN][LENGTH];
#pragma unroll
        for (int j = 0; j < SEEN; ++j)
            some[j] = load_if(row & (unsigned(left + j) < unsigned(p.width.size)),
                              reinterpret_cast<const Pack *>(line + j * p.of_x.column));
#pragma unroll
        for (int j = 0; j < SEEN; ++j)
#pragma unroll
            for (int v = 0; v < LENGTH; ++v)
                seen[j][v] = Accumulator<T>::of(some[j].at[v]);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                for (int j = 0; j < TAPS && i >= r * STRIDE && i < r * STRIDE + TAPS; ++j)
#pragma unroll
                    for (int v = 0; v < LENGTH; ++v)
                        sums[r][c][v] =
                            multiply_add(seen[c * STRIDE + j][v],
                                         weights[(v * TAPS + i - r * STRIDE) * TAPS + j], sums[r][c][v]);
        const int done = (i - TAPS + 1) / STRIDE; // a row of results
        if (i < TAPS - 1 || (i - TAPS + 1) % STRIDE > 0 || down + done >= unsigned(p.height.out))
            continue;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            Pack results;
#pragma unroll
            for (int v = 0; v < LENGTH; ++v)
                results.at[v] = Accumulator<T>::back(sums[done][c][v]);
            if (along + c < unsigned(p.width.out))
                store(reinterpret_cast<Pack *>(to + done * p.of_out.row + c * p.of_out.column), results);
        }
    }
}

// The results of ROWS rows of a column, with strides of 2.
template <class T> __device__ void three_down_a_column(const gr_conv_params &p) {
    enum { ROWS = GR_CONV_DEPTHWISE_3X3_NCHW_ROWS_STRIDE_2, STRIDE = 2 };
    enum { SEEN_ROWS = (ROWS - 1) * STRIDE + TAPS };
    typedef typename Accumulator<T>::type W;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const auto [image, down, along, filter, there] = place_in_nchw(p, ROWS);
    if (!there)
        return;
    const int top = int(down * STRIDE) - int(p.height.padding),
              left = int(along * STRIDE) - int(p.width.padding);
    const T *line = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters)) + top * p.of_x.row +
                    left * p.of_x.column;
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W weights[TAPS][TAPS], sums[ROWS] = {};
#pragma unroll
    for (int i = 0; i < TAPS; ++i)
#pragma unroll
        for (int j = 0; j < TAPS; ++j)
            weights[i][j] = Accumulator<T>::of(taps[i * p.of_w.row + j * p.of_w.column]);
#pragma unroll
    for (int i = 0; i < SEEN_ROWS; ++i, line += p.of_x.row) {
        const bool row = unsigned(top + i) < unsigned(p.height.size);
#pragma unroll
        for (int j = 0; j < TAPS; ++j) {
            const bool inside = row && unsigned(left + j) < unsigned(p.width.size);
            const W seen = inside ? Accumulator<T>::of(line[j * p.of_x.column]) : W(0);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (i >= r * STRIDE && i < r * STRIDE + TAPS)
                    sums[r] = multiply_add(seen, weights[i - r * STRIDE][j], sums[r]);
        }
    }
    T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, image, down, along, filter);
#pragma unroll
    for (int r = 0; r < ROWS; ++r, to += p.of_out.row)
        if (down + r < unsigned(p.height.out))
            *to = Accumulator<T>::back(sums[r]);
}

#define GR_KERNEL(name, ...)                                                                                 \
    GR_ENTRY((THREADS), conv_depthwise_##name, __grid_constant__ gr_conv_params, __VA_ARGS__)
#define GR_DEPTHWISE(suffix, T)                                                                              \
    GR_KERNEL(suffix##_nhwc, along_a_row<T, 1>)                                                              \
    GR_KERNEL(suffix##_nhwc4, along_a_row<T, 4>)                                                             \
    GR_KERNEL(suffix##_scale_nhwc, scale<T, true>)                                                           \
    GR_KERNEL(suffix##_scale_nchw, scale<T, false>)                                                          \
    GR_KERNEL(suffix##_nchw, down_a_column<T>)                                                               \
    GR_KERNEL(suffix##_nchw_low, tall_down_a_column<T, 3, 1>)                                                \
    GR_KERNEL(suffix##_nchw_three_7x1, three_in_nchw<T, 7, 1, true>)                                         \
    GR_KERNEL(suffix##_nchw_three_7x2, three_in_nchw<T, 7, 2, false>)                                        \
    GR_KERNEL(suffix##_nchw_five_two, tall_down_two_columns<T, 5>)                                           \
    GR_KERNEL(suffix##_nchw_seven_two, tall_down_two_columns<T, 7>)                                          \
    GR_KERNEL(suffix##_nchw_five_1, tall_down_a_column<T, 5, 1>)                                             \
    GR_KERNEL(suffix##_nchw_five_2, tall_down_a_column<T, 5, 2>)                                             \
    GR_KERNEL(suffix##_nchw_seven_1, tall_down_a_column<T, 7, 1>)                                            \
    GR_KERNEL(suffix##_nchw_seven_2, tall_down_a_column<T, 7, 2>)                                            \
    GR_KERNEL(suffix##_nhwc_three_1, three_of_pixels<T, 1>)                                                  \
    GR_KERNEL(suffix##_nhwc_three_2, three_of_pixels<T, 2>)                                                  \
    GR_KERNEL(suffix##_nchw_three_2, three_down_a_column<T>)

GR_DEPTHWISE(f32, float)
GR_DEPTHWISE(f64, double)
GR_DEPTHWISE(f16, gr_f16)
GR_DEPTHWISE(bf16, gr_bf16)
