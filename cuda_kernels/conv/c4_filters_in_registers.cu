// c4: filters in registers, streaming rows.
//
// What c3 still cost: each weight was loaded from shared memory for eight multiply-adds, and a block computed
// nothing until its whole part of x was loaded.
// The change: a thread keeps one filter, all 108 weights, in registers, and proceeds down four columns: each
// element of x that it loads serves nine taps, for three rows of results whose sums are in progress. All rows
// of x are requested at once, from the copy engine in NHWC, and each has a barrier of its own: the first one
// is processed while the others are in flight, and results are stored as soon as they are complete.
// Neighbouring lanes have neighbouring filters, and eight lanes share one element of x. What limits it now:
// the register file, which delivers two operands of a multiply-add per cycle. Where it shows: loads from
// shared memory, 18 for 432 multiply-adds. It supports 12 channels and 3 x 3 taps, whose weights fit into
// registers; c3 computes all other convolutions.
#include "common/entry.cuh"
#include "common/shared_array.cuh"
#include "conv/bulk_rows.cuh"
#include "conv/tiles.cuh"

using namespace gr::conv;

enum { CHANNELS = 12, TAPS = 9, WEIGHTS = CHANNELS * TAPS };
enum { ACROSS = 4 };                                             // columns of a thread
enum { FILTERS = GR_CONV_C4_FILTERS, THREADS = row_c4.threads }; // of a block
enum { ROWS = GR_CONV_C4_ROWS, SEEN_ROWS = ROWS + 2 };
enum { COLUMNS = GR_CONV_C4_COLUMNS, SEEN_COLUMNS = COLUMNS + 2, PITCH = COLUMNS + 4 };

// The part of x that it reads, rows in the order of the layout, where a row of a channel has PITCH elements
// in NCHW; and its filters.
struct alignas(16) Shared {
    float rows[SEEN_ROWS][CHANNELS * PITCH], weights[FILTERS][WEIGHTS];
    uint64_t row_is_there[SEEN_ROWS], weights_are_there;
};
static_assert(sizeof(Shared) == row_c4.shared, "bytes of shared memory");

// This thread arrives at the barrier when its copies so far are complete.
inline __device__ void arrive_with_copies(const uint64_t *barrier) {
    ptx::cp_async_mbarrier_arrive_noinc(shared_address(barrier));
}

// The products of one element of x with all taps of one channel for which it has a result: it is in column i
// of the columns that the thread reads, and the row of tap FIRST of the first sums, up to that of tap LAST of
// the last.
template <int FIRST, int LAST>
__device__ void add_taps(float x, const float (&weights)[WEIGHTS], int i, int channel,
                         float (&sums)[3][ACROSS]) {
#pragma unroll
    for (int turn = 0; turn <= LAST - FIRST; ++turn)
#pragma unroll
        for (int k = 0; k < 3; ++k) { // forth and back, so that operands stay where they are
            const int row = i % 2 ? LAST - turn : FIRST + turn;
            const int tap = (turn + i) % 2 ? 2 - k : k, column = i - tap;
            if (column >= 0 && column < ACROSS)
                sums[row][column] = fmaf(x, weights[(row * 3 + tap) * CHANNELS + channel], sums[row][column]);
        }
}

// A row of taps, as an argument.
template <int ROW> struct Tap { static constexpr int row = ROW; };

// All products of the thread with one row.
template <bool CHANNELS_LAST, int FIRST, int LAST>
__device__ void add_row(const float *row, const float (&weights)[WEIGHTS], float (&sums)[3][ACROSS]) {
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel += CHANNELS_LAST ? 4 : 1)
#pragma unroll
        for (int i = 0; i < ACROSS + 2; i += CHANNELS_LAST ? 1 : ACROSS) {
            float x[4]; // four channels, or neighbours of one
            if (CHANNELS_LAST)
                load_four(row + i * CHANNELS + channel, x);
            else if (i == 0)
                load_four(row + channel * PITCH, x);
            else
                *reinterpret_cast<float2 *>(x) =
                    *reinterpret_cast<const float2 *>(row + channel * PITCH + ACROSS);
#pragma unroll
            for (int j = 0; j < (!CHANNELS_LAST && i > 0 ? 2 : 4); ++j)
                add_taps<FIRST, LAST>(x[j], weights, CHANNELS_LAST ? i : i + j,
                                      CHANNELS_LAST ? channel + j : channel, sums);
        }
}

// The part of x that the block reads, from row `top` and column `left` on, both of which may be outside.
struct Picture {
    const gr_conv_params &p;
    const float *x;
    int top, left;

    // Each thread has the same columns of the same channels in all rows.
    template <int LENGTH> __device__ void begin_rows_of_channels(Shared &shared) const {
        enum { PIECES = SEEN_COLUMNS / LENGTH };
        enum { ALL = PIECES * CHANNELS, TURNS = (ALL + THREADS - 1) / THREADS };
        const float *from[TURNS];
        bool there[TURNS];
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const int i = threadIdx.x + turn * THREADS, channel = i / PIECES, column = i % PIECES * LENGTH;
            there[turn] = unsigned(left + column) < p.width.size;
            from[turn] = x + channel * p.of_x.channel + top * p.of_x.row + left + column;
        }
        for (int row = 0; row < SEEN_ROWS; ++row) {
            const bool row_there = unsigned(top + row) < p.height.size;
#pragma unroll
            for (int turn = 0; turn < TURNS; ++turn) {
                const int i = threadIdx.x + turn * THREADS;
                if (i < ALL)
                    ptx::cp_async<4 * LENGTH>(&shared.rows[row][i / PIECES * PITCH + i % PIECES * LENGTH],
                                              row_there && there[turn] ? from[turn] : x,
                                              row_there && there[turn] ? 4 * LENGTH : 0);
                from[turn] += p.of_x.row;
            }
            arrive_with_copies(&shared.row_is_there[row]);
        }
    }
};

template <bool CHANNELS_LAST> __device__ void begin_rows(const Picture &picture, Shared &shared) {
    if (CHANNELS_LAST)
        begin_rows_of_pixels<SEEN_COLUMNS, CHANNELS>(picture.p, picture.x, picture.top, picture.left,
                                                     shared.rows, shared.row_is_there);
    else if (picture.p.width.size % 2 == 0 && picture.left % 2 == 0)
        picture.begin_rows_of_channels<2>(shared);
    else
        picture.begin_rows_of_channels<1>(shared);
}

template <bool CHANNELS_LAST> __device__ void conv(const gr_conv_tiles_params &tiled) {
    const gr_conv_params &p = tiled.conv;
    Shared &shared = *shared_array<Shared>();
    pdl_launch_dependents();
    // Of the results: blocks are numbered so that there is little to divide by.
    const unsigned parts = unsigned(tiled.filter_tiles), groups = unsigned(p.groups);
    const unsigned left = blockIdx.x / parts * COLUMNS, top = blockIdx.y * ROWS;
    const unsigned picture = blockIdx.z / groups, group = blockIdx.z % groups;
    const unsigned first = group * unsigned(p.filters) + blockIdx.x % parts * FILTERS; // filter
    const int filters = min(int(FILTERS), int(p.filters) - int(blockIdx.x % parts * FILTERS));
    const Picture seen = {p,
                          reinterpret_cast<const float *>(p.x) + picture * p.of_x.outer +
                              int64_t(group * unsigned(p.channels)) * p.of_x.channel,
                          int(top) - int(p.height.padding), int(left) - int(p.width.padding)};
    if (threadIdx.x < SEEN_ROWS)
        ptx::mbarrier_init(shared_address(&shared.row_is_there[threadIdx.x]), CHANNELS_LAST ? 1 : THREADS);
    if (threadIdx.x == SEEN_ROWS)
        ptx::mbarrier_init(shared_address(&shared.weights_are_there), 1);
    ptx::fence_mbarrier_init();
    pdl_wait();
    __syncthreads();
    if (threadIdx.x == 0)
        copy_bytes(shared.weights, reinterpret_cast<const float *>(p.w) + int64_t(first) * WEIGHTS,
                   filters * sizeof(shared.weights[0]), &shared.weights_are_there);
    begin_rows<CHANNELS_LAST>(seen, shared);

    // Neighbouring lanes have neighbouring filters, of eight; then columns; each of three warps has eight
    // filters.
    const unsigned filter = threadIdx.x / 32 % 3 * 8 + threadIdx.x % 8,
                   column = (threadIdx.x / 96 * 4 + threadIdx.x / 8 % 4) * ACROSS;
    if (int(filter) >= filters)
        return;
    float weights[WEIGHTS]; // by tap, then channel
    ptx::mbarrier_wait_parity(shared_address(&shared.weights_are_there), 0);
#pragma unroll
    for (int i = 0; i < WEIGHTS; i += 4) {
        float some[4];
        load_four(shared.weights[filter] + i, some);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            weights[CHANNELS_LAST ? i + j : (i + j) % TAPS * CHANNELS + (i + j) / TAPS] = some[j];
    }

    float sums[3][ACROSS] = {}; // of the row whose first, second and last tap is the row of x at hand
    const float *row = shared.rows[0] + column * (CHANNELS_LAST ? CHANNELS : 1);
    const uint64_t *is_there = shared.row_is_there;
    float *to = reinterpret_cast<float *>(p.out) + picture * p.of_out.outer + top * p.of_out.row +
                (left + column) * p.of_out.column + (first + filter) * p.of_out.channel;
    const bool aligned = !CHANNELS_LAST && p.width.out % 4 == 0 && p.out % 16 == 0;
    const int columns = int(p.width.out) - int(left + column), rows = int(p.height.out) - int(top);

    // Takes the next row of x, for which taps `first` to `last` have results, and stores the row of results
    // number `done`, if there is one.
    const auto take = [&](auto first, auto last, int done) {
        ptx::mbarrier_wait_parity(shared_address(is_there++), 0);
        add_row<CHANNELS_LAST, first.row, last.row>(row, weights, sums);
        if (done >= 0 && done < rows) {
            if (aligned && columns > 0)
                *reinterpret_cast<float4 *>(to) = float4{sums[2][0], sums[2][1], sums[2][2], sums[2][3]};
            else if (!aligned)
#pragma unroll
                for (int i = 0; i < ACROSS; ++i)
                    if (i < columns)
                        to[i * p.of_out.column] = sums[2][i];
            to += p.of_out.row;
        }
#pragma unroll
        for (int i = 0; i < ACROSS; ++i) {
            sums[2][i] = sums[1][i];
            sums[1][i] = sums[0][i];
            sums[0][i] = 0;
        }
        row += CHANNELS * PITCH;
    };
    take(Tap<0>(), Tap<0>(), -1);
    take(Tap<0>(), Tap<1>(), -1);
#pragma unroll 1
    for (int i = 0; i < ROWS - 2; ++i)
        take(Tap<0>(), Tap<2>(), i);
    take(Tap<1>(), Tap<2>(), ROWS - 2);
    take(Tap<2>(), Tap<2>(), ROWS - 1);
}

GR_ENTRY((THREADS, 2), c4_f32_nhwc, __grid_constant__ gr_conv_tiles_params, conv<true>)
GR_ENTRY((THREADS, 2), c4_f32_nchw, __grid_constant__ gr_conv_tiles_params, conv<false>)
