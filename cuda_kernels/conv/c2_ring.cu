// c2_ring: implicit GEMM with m9's pipeline.
//
// What c2 still cost: a thread loads eight elements from shared memory for 16 multiply-adds, and waits
// for the elements that it gathers. The change: a thread computes 16 by 8 or 8 by 8 results from a ring of
// stages, which asynchronous copies fill with the tiles of later steps, as in m9; the copies are issued
// between the products of this step. Rows are pixels, columns the filters of a group; unless there are few
// filters, a launch before transposes them so that they are contiguous. k counts the taps in the order of w.
// 16 threads look up the offsets of a step's taps one step ahead, and the addresses of a pixel are computed
// once. It is not a rung of the ladder, because it is made for dozens of channels, for which the default uses
// it. What limits it: each element is loaded once per tap. Where it shows: multiply-adds per instruction.
#include "common/entry.cuh"
#include "conv/tiles.cuh"
#include "matmul/k_steps.cuh"

using namespace gr::conv;

enum { TILE_K = 16, SECTOR = 8, FEW = GR_CONV_C2_RING_FEW_FILTERS };

// Of its pixels by filters a thread makes DOWN by TURN_MN.
template <int PIXELS_, int FILTERS_, int THREAD_M_, int THREAD_N_, int STAGES_> struct Shape {
    enum {
        PIXELS = PIXELS_,
        FILTERS = FILTERS_,
        THREAD_M = THREAD_M_,
        THREAD_N = THREAD_N_,
        STAGES = STAGES_
    };
    enum { THREADS = PIXELS * FILTERS / (THREAD_M * THREAD_N) };
    typedef Lane<FILTERS, THREAD_M, THREAD_N> In;
    float a[STAGES][TILE_K][PIXELS + 4], b[STAGES][TILE_K][FILTERS + 4];
};

// Rows, columns and elements that a pixel and a tap are from the first: those of both together say where x
// has the element, if there is one.
struct alignas(16) Share {
    int down, along;
    int64_t elements;
};

constexpr int NOWHERE = 0x7fffffff; // rows that no picture has, nor with another's rows added

__device__ Share share_of_pixel(const gr_conv_params &p, unsigned pixel, uint64_t channel) {
    const unsigned along = pixel % unsigned(p.width.out), row = pixel / unsigned(p.width.out);
    const unsigned down = row % unsigned(p.height.out), picture = row / unsigned(p.height.out);
    const int y = int(down * unsigned(p.height.stride)) - int(p.height.padding);
    const int x = int(along * unsigned(p.width.stride)) - int(p.width.padding);
    return {picture < p.batch ? y : NOWHERE, x,
            int64_t(picture) * p.of_x.outer + y * p.of_x.row + x * p.of_x.column +
                int64_t(channel) * p.of_x.channel};
}

template <bool NHWC> __device__ Share share_of_tap(const gr_conv_params &p, unsigned k) {
    const unsigned channels = unsigned(p.channels), taps = unsigned(p.height.kernel * p.width.kernel);
    const unsigned tap = NHWC ? k / channels : k % taps, channel = NHWC ? k % channels : k / taps;
    const unsigned i = tap / unsigned(p.width.kernel), j = tap % unsigned(p.width.kernel);
    const int down = int(i * unsigned(p.height.dilation)), along = int(j * unsigned(p.width.dilation));
    return {k < taps * channels ? down : NOWHERE, along, conv_offset(p.of_x, 0, down, along, channel)};
}

// One thread's part of the copies: neighbouring lanes take neighbours in memory, which are channels in NHWC,
// pixels in NCHW, and four filters at once, as w was transposed before; of few filters, the taps of a filter.
template <class S, bool NHWC> struct Gather {
    enum { TURN_MN = S::THREADS / SECTOR, HALVES = TILE_K / SECTOR };
    enum { TURNED = S::FILTERS > FEW, FOURS = S::FILTERS / 4, ROWS = S::THREADS / FOURS };
    enum { TURNS_A = S::PIXELS / TURN_MN, TURNS_B = TURNED ? TILE_K / ROWS : S::FILTERS / TURN_MN };
    static_assert(TURNS_A == TILE_K / 2 && TURNS_B <= TILE_K / 2, "they come between products, in turns");
    const gr_conv_params &p;
    const float *x, *w; // w: of this thread's first filters and tap
    unsigned k_a, across_a, k_b, across_b, filters, products, pitch, bytes_b;
    Share taps[HALVES];

    __device__ Gather(const gr_conv_tiles_params &all, const FilterTile &part)
        : p(all.conv), x(reinterpret_cast<const float *>(p.x)), filters(unsigned(p.filters) - part.first),
          products(unsigned(p.height.kernel * p.width.kernel * p.channels)), pitch(unsigned(all.columns)) {
        k_a = NHWC ? threadIdx.x % SECTOR : threadIdx.x / TURN_MN;
        across_a = NHWC ? threadIdx.x / SECTOR : threadIdx.x % TURN_MN;
        k_b = TURNED ? threadIdx.x / FOURS : threadIdx.x % SECTOR;
        across_b = TURNED ? threadIdx.x % FOURS * 4 : threadIdx.x / SECTOR;
        bytes_b = across_b < filters ? min(16u, 4 * (filters - across_b)) : 0;
        w = TURNED ? reinterpret_cast<const float *>(p.w) + (int64_t(part.group) * products + k_b) * pitch +
                         part.first + across_b
                   : part.filters(p) + int64_t(across_b) * p.of_w.outer + k_b;
    }
    // What the turns of a step need; `known` are its taps.
    __device__ void look_up(const Share (&known)[TILE_K]) {
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
            taps[h] = known[k_a + h * SECTOR];
    }
    __device__ void copy_pixels(float (&tile)[TILE_K][S::PIXELS + 4], const Share *pixels, int turn) const {
        const unsigned row = across_a + turn * TURN_MN;
        const Share pixel = pixels[row];
#pragma unroll
        for (int h = 0; h < HALVES; ++h) {
            const bool there = unsigned(pixel.down) + unsigned(taps[h].down) < unsigned(p.height.size) &&
                               unsigned(pixel.along) + unsigned(taps[h].along) < unsigned(p.width.size);
            ptx::cp_async<4>(&tile[k_a + h * SECTOR][row],
                             x + (there ? pixel.elements + taps[h].elements : 0), there ? 4 : 0);
        }
    }
    __device__ void copy_filters(float (&tile)[TILE_K][S::FILTERS + 4], unsigned step, int turn) const {
        const float *nothing = reinterpret_cast<const float *>(p.w);
        if (TURNED) {
            const bool there = step + turn * ROWS + k_b < products;
            ptx::cp_async<16>(&tile[k_b + turn * ROWS][across_b],
                              there ? w + int64_t(step + turn * ROWS) * pitch : nothing, there ? bytes_b : 0);
            return;
        }
        const unsigned row = across_b + turn * TURN_MN;
        const float *from = w + int64_t(turn * TURN_MN) * p.of_w.outer + step;
#pragma unroll
        for (int h = 0; h < HALVES; ++h) {
            const bool there = row < filters && step + k_b + h * SECTOR < products;
            ptx::cp_async<4>(&tile[(k_b + h * SECTOR) % TILE_K][row], there ? from + h * SECTOR : nothing,
                             there ? 4 : 0);
        }
    }
};

// Four filters of a pixel, or four pixels of a filter, in the order of the layout.
template <bool NHWC>
__device__ void store_four(const gr_conv_params &p, float *out, unsigned pixel, unsigned filter,
                           unsigned filters, const float (&four)[4]) {
    const unsigned each = unsigned(p.height.out * p.width.out), pixels = unsigned(p.batch) * each;
    const unsigned picture = pixel / each, rest = pixel % each;
    if (pixel >= pixels || filter >= filters)
        return;
    float *to = out + int64_t(picture) * p.of_out.outer +
                (NHWC ? int64_t(rest) * p.of_out.column + filter : int64_t(filter) * each + rest);
    const bool whole = NHWC ? filter + 4 <= filters : rest + 4 <= each;
    if (whole && reinterpret_cast<uint64_t>(to) % 16 == 0) {
        *reinterpret_cast<float4 *>(to) = make_float4(four[0], four[1], four[2], four[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (NHWC) {
            if (filter + i < filters)
                to[i] = four[i];
        } else if (pixel + i < pixels) {
            const unsigned other = (pixel + i) / each;
            out[int64_t(other) * p.of_out.outer + int64_t(filter) * each + (pixel + i) % each] = four[i];
        }
    }
}

template <class S, bool NHWC> __device__ void conv(const gr_conv_tiles_params &all) {
    __shared__ alignas(16) S ring;
    __shared__ Share pixels[S::PIXELS], taps[2][TILE_K];
    const gr_conv_params &p = all.conv;
    const FilterTile part(all);
    const unsigned first = part.rest * S::PIXELS, t = threadIdx.x;
    const unsigned y = S::In::y(), x = S::In::x();
    Gather<S, NHWC> copies(all, part);
    const unsigned steps = (copies.products + TILE_K - 1) / TILE_K;
    for (unsigned i = t; i < S::PIXELS; i += S::THREADS)
        pixels[i] = share_of_pixel(p, first + i, part.group * p.channels);

    unsigned begun = 0, next = 0, now = 0;
    const auto turn = [](unsigned &stage) { stage = stage + 1 == S::STAGES ? 0 : stage + 1; };
    const auto prepare = [&](unsigned step) { // for the copies of a step, which come a barrier later
        if (t < TILE_K)
            taps[step % 2][t] = share_of_tap<NHWC>(p, step * TILE_K + t);
    };
    prepare(0);
    __syncthreads();
#pragma unroll 1
    for (; begun < S::STAGES - 1; ++begun) {
        copies.look_up(taps[begun % 2]);
        prepare(begun + 1);
#pragma unroll
        for (int i = 0; i < Gather<S, NHWC>::TURNS_A; ++i)
            copies.copy_pixels(ring.a[next], pixels, i);
#pragma unroll
        for (int i = 0; i < Gather<S, NHWC>::TURNS_B; ++i)
            copies.copy_filters(ring.b[next], begun * TILE_K, i);
        ptx::cp_async_commit_group();
        turn(next);
        __syncthreads();
    }
    float sums[S::THREAD_M][S::THREAD_N] = {};
    for (unsigned step = 0; step < steps; ++step, ++begun) {
        ptx::cp_async_wait_group<S::STAGES - 2>();
        __syncthreads(); // all copies have arrived, and the stage of the step before is no longer read
        copies.look_up(taps[begun % 2]);
        prepare(begun + 1);
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            // Behind the last step zeros are copied that are never read, which avoids a branch.
            constexpr int APART = TILE_K / Gather<S, NHWC>::TURNS_B;
            if (i % 2 == 0)
                copies.copy_pixels(ring.a[next], pixels, i / 2);
            else if (i % APART == 1)
                copies.copy_filters(ring.b[next], begun * TILE_K, i / APART);
            float down[S::THREAD_M], across[S::THREAD_N];
            load_fragment<S::In::RUN_M>(&ring.a[now][i][y], down);
            load_fragment<S::In::RUN_N>(&ring.b[now][i][x], across);
            add_products_serpentine(down, across, sums);
        }
        ptx::cp_async_commit_group();
        turn(next);
        turn(now);
    }
    ptx::cp_async_wait_group<0>();
    free_of_store(sums);

    float *out = reinterpret_cast<float *>(p.out) +
                 (part.group * p.filters + part.first) * (NHWC ? 1 : p.height.out * p.width.out);
#pragma unroll
    for (int r = 0; r < S::THREAD_M; r += NHWC ? 1 : 4)
#pragma unroll
        for (int s = 0; s < S::THREAD_N; s += NHWC ? 4 : 1) {
            float four[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                four[i] = NHWC ? sums[r][s + i] : sums[r + i][s];
            store_four<NHWC>(p, out, first + y + r / 4 * S::In::RUN_M + r % 4,
                             x + s / 4 * S::In::RUN_N + s % 4, copies.filters, four);
        }
}

#define GR_CONV(pixels, filters, thread_m, thread_n, stages, blocks)                                         \
    typedef Shape<pixels, filters, thread_m, thread_n, stages> Shape##pixels##x##filters;                    \
    static_assert(row_##pixels##x##filters[0] == Shape##pixels##x##filters::THREADS &&                       \
                  row_##pixels##x##filters[1] == blocks);                                                    \
    GR_ENTRY((Shape##pixels##x##filters::THREADS, blocks), c2_ring_f32_##pixels##x##filters##_nhwc,          \
             __grid_constant__ gr_conv_tiles_params, conv<Shape##pixels##x##filters, true>)                  \
    GR_ENTRY((Shape##pixels##x##filters::THREADS, blocks), c2_ring_f32_##pixels##x##filters##_nchw,          \
             __grid_constant__ gr_conv_tiles_params, conv<Shape##pixels##x##filters, false>)

GR_CONV(128, 128, 16, 8, 2, 2)
GR_CONV(128, 64, 8, 8, 2, 4)
GR_CONV(64, 64, 8, 8, 3, 6)
GR_CONV(128, 32, 8, 4, 3, 5)
