// Convolution of 3 x 3 taps, 12 channels and stride 1 on tensor cores, for tiles of 24 filters. All sizes
// except those of the pictures are known at compile time, so no tables are needed. Pieces and planes are
// those of tensor_cores.cuh. A block computes ROWS rows of 128 columns, of 24 filters: all threads load the
// pixels, then each group of four warps goes down 64 columns, and stores a row while the products of the next
// rows run.
#pragma once

#include "common/vec.cuh"
#include "conv/tensor_cores.cuh"

namespace gr::conv {

// PARTS: 1, or 2 for numbers that are split in hi and lo. Of NCHW pairs of columns are loaded at once.
template <class T, int PARTS, bool NHWC, int ROWS> struct Conv3x3C12K24 {
    enum { CHANNELS = 12, FILTERS = GR_CONV_C12_FILTERS, TAPS = 9 };
    enum { COLUMNS = GR_CONV_C12_COLUMNS, THREADS = GR_CONV_C12_THREADS };
    enum { SEEN_ROWS = ROWS + 2, SEEN_COLUMNS = COLUMNS + (NHWC ? 2 : 4) };
    enum { LENGTH = 16 / sizeof(T), PIECES = GR_CONV_C12_VEC16S(sizeof(T)), STEPS = (TAPS * PIECES + 1) / 2 };
    // Bytes, and from here on the offsets of what lies behind the planes.
    enum { ROW = SEEN_COLUMNS * 16, PLANE = GR_CONV_C12_PLANE(NHWC, sizeof(T)), PART = PIECES * PLANE };
    enum { CHUNK = PARTS * FILTERS * 16, ZEROS = PARTS * PART, WEIGHTS = ZEROS + 64 * 16 };
    static_assert(ROWS == GR_CONV_C12_ROWS && SEEN_ROWS * ROW <= PLANE &&
                      WEIGHTS + 2 * STEPS * CHUNK == GR_CONV_C12_SHARED(NHWC, sizeof(T), PARTS),
                  "bytes of shared memory");
    typedef Vec<T, 4> Quad;
    typedef Vec<T, 2> Vec2;

    const gr_conv_params &p;
    uint32_t shared;
    unsigned filter, down, along, picture; // the first of the block
    int top, left, filters;                // of the part of x that it reads; filters: their number
    const T *x, *w;

    __device__ explicit Conv3x3C12K24(const gr_conv_tiles_params &tiled)
        : p(tiled.conv), shared(shared_address(shared_array<unsigned char>())) {
        const unsigned parts = unsigned(tiled.filter_tiles);
        filter = blockIdx.x % parts * FILTERS;
        along = blockIdx.x / parts * COLUMNS;
        down = blockIdx.y * ROWS;
        picture = blockIdx.z;
        top = int(down) - int(p.height.padding);
        left = int(along) - int(p.width.padding);
        filters = min(int(FILTERS), int(p.filters) - int(filter));
        x = reinterpret_cast<const T *>(p.x) + picture * p.of_x.outer;
        w = reinterpret_cast<const T *>(p.w) + filter * (TAPS * CHANNELS);
    }

    // The tap and the piece of either half of a step: the first two pieces of each tap, then the third ones
    // of two taps. Tap 9 is zeros.
    static constexpr __device__ int tap_of(int step, int half) {
        return step < TAPS ? step : step < 13 ? 2 * (step - TAPS) + half : 8 + half;
    }
    static constexpr __device__ int piece_of(int step, int half) {
        return step < TAPS ? half : 2;
    }

    // ---- the pixels of a block

    static __device__ void store(uint32_t at, uint2 v) {
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(v.x), "r"(v.y) : "memory");
    }
    __device__ void put_pixel(int row, int column, int vec4, const Quad &it) const {
        uint32_t at = shared + row * ROW + column * 16;
        if (sizeof(T) == 4)
            return store_channels<T, PARTS>(at + vec4 * PLANE, PART, reinterpret_cast<const uint4 &>(it));
        at += vec4 / 2 * PLANE + vec4 % 2 * 8;
        store(at, reinterpret_cast<const uint2 &>(it));
        if (vec4 == 2)
            store(at + 8, uint2{0, 0});
    }

    __device__ void bring_filters() const {
        for (int i = threadIdx.x; i < STEPS * 2 * FILTERS; i += THREADS) {
            const int number = i % FILTERS, chunk = i / FILTERS, tap = tap_of(chunk / 2, chunk % 2),
                      first = piece_of(chunk / 2, chunk % 2) * LENGTH;
            Vec16<T> it = {};
            if (tap < TAPS && number < filters)
#pragma unroll
                for (int c = 0; c < LENGTH; c += 4) {
                    const T *from = w + number * (TAPS * CHANNELS) +
                                    (NHWC ? tap * CHANNELS + first + c : (first + c) * TAPS + tap);
                    if (first + c >= CHANNELS)
                        break;
                    if (NHWC)
                        reinterpret_cast<Quad *>(it.element)[c / 4] = *reinterpret_cast<const Quad *>(from);
                    else
#pragma unroll
                        for (int k = 0; k < 4; ++k)
                            it.element[c + k] = from[k * TAPS];
                }
            const uint32_t at = shared + WEIGHTS + chunk * CHUNK + number * 16;
            store_channels<T, PARTS>(at, FILTERS * 16, reinterpret_cast<const uint4 &>(it));
        }
        if (threadIdx.x < 64 && STEPS * 2 > TAPS * PIECES)
            ptx::st_shared(shared + ZEROS + threadIdx.x * 16, {0, 0, 0, 0});
        // The gap between planes, which is read but never used.
        enum { GAP = (PLANE - SEEN_ROWS * ROW) / 16 };
        if (threadIdx.x < PARTS * PIECES * GAP)
            ptx::st_shared(shared + threadIdx.x / GAP * PLANE + SEEN_ROWS * ROW + threadIdx.x % GAP * 16,
                           {0, 0, 0, 0});
    }

    // NHWC: rows unchanged, four channels at once. All loads come first.
    __device__ void bring_rows() const {
        enum { LONG = SEEN_COLUMNS * 3, ALL = SEEN_ROWS * LONG, TURNS = (ALL + THREADS - 1) / THREADS };
        const int width = int(p.width.size) * 3;
        const Quad *from = reinterpret_cast<const Quad *>(x) + int64_t(top) * width + left * 3;
        Quad some[TURNS];
#pragma unroll
        for (int i = 0; i < TURNS; ++i) {
            const int number = threadIdx.x + i * THREADS, row = number / LONG, at = number % LONG;
            const bool there = number < ALL && unsigned(top + row) < unsigned(p.height.size) &&
                               unsigned(left * 3 + at) < unsigned(width);
            some[i] = there ? from[row * width + at] : Quad();
        }
        bring_filters();
#pragma unroll
        for (int i = 0; i < TURNS; ++i) {
            const int number = threadIdx.x + i * THREADS, row = number / LONG, at = number % LONG;
            if (number < ALL)
                put_pixel(row, at / 3, at % 3, some[i]);
        }
    }

    // NCHW: two columns of four channels at once, from an even column on.
    __device__ void bring_planes() const {
        enum { HALF = SEEN_COLUMNS / 2, PLACES = SEEN_ROWS * HALF, ALL = 3 * PLACES };
        enum { TURNS = (ALL + THREADS - 1) / THREADS };
        const int width = int(p.width.size), first = left - (left & 1);
        const int64_t plane = p.of_x.channel;
        const T *from = x + int64_t(top) * width + first;
        Vec2 some[TURNS][4];
#pragma unroll
        for (int i = 0; i < TURNS; ++i) {
            const int number = threadIdx.x + i * THREADS, vec4 = number / PLACES,
                      row = number % PLACES / HALF, column = number % HALF * 2;
            const bool there = number < ALL && unsigned(top + row) < unsigned(p.height.size) &&
                               unsigned(first + column) < unsigned(width);
#pragma unroll
            for (int c = 0; c < 4; ++c)
                some[i][c] = there ? *reinterpret_cast<const Vec2 *>(from + (4 * vec4 + c) * plane +
                                                                     row * width + column)
                                   : Vec2();
        }
        bring_filters();
#pragma unroll
        for (int i = 0; i < TURNS; ++i) {
            const int number = threadIdx.x + i * THREADS, vec4 = number / PLACES,
                      row = number % PLACES / HALF, column = number % HALF * 2;
            if (number >= ALL)
                continue;
            const Vec2 *v = some[i];
            put_pixel(row, column, vec4, {v[0].at[0], v[1].at[0], v[2].at[0], v[3].at[0]});
            put_pixel(row, column + 1, vec4, {v[0].at[1], v[1].at[1], v[2].at[1], v[3].at[1]});
        }
    }

    __device__ void bring() const {
        if (NHWC)
            bring_rows();
        else
            bring_planes();
        ptx::fence_proxy_async_shared();
        __syncthreads();
    }

    // ---- the results of a group of warps

    static __device__ uint64_t descriptor(uint32_t at, uint32_t apart) {
        return uint64_t(at >> 4 & 0x3fff) | uint64_t(apart >> 4 & 0x3fff) << 16 | uint64_t(8) << 32;
    }
    __device__ uint64_t filters_descriptor(int step) const {
        return descriptor(shared + WEIGHTS + step * 2 * CHUNK, CHUNK);
    }
    // Of a row's 64 pixels, of one of their parts.
    __device__ uint64_t pixels_descriptor(int row, int step, int part) const {
        const int odd = NHWC ? 0 : left & 1, first = tap_of(step, 0), second = tap_of(step, 1);
        const uint32_t at = shared + part * PART + row * ROW + (threadIdx.x / 128 * 64 + odd) * 16;
        const uint32_t a = at + first / 3 * ROW + first % 3 * 16 + piece_of(step, 0) * PLANE;
        const uint32_t b = at + second / 3 * ROW + second % 3 * 16 + piece_of(step, 1) * PLANE;
        return descriptor(a, (second == TAPS ? shared + ZEROS : b) - a);
    }

    // The sums of a row as the tensor cores deal them out: a thread has pairs of filters of two pixels.
    __device__ void store_row(int row, const float (&sums)[FILTERS / 2]) const {
        const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, mine = lane % 4 * 2;
        const int column = int(along) + threadIdx.x / 128 * 64 + warp * 16 + lane / 4;
        if (down + row >= p.height.out)
            return;
        T *to = reinterpret_cast<T *>(p.out) + picture * p.of_out.outer + int64_t(down + row) * p.of_out.row +
                int64_t(column) * p.of_out.column + int64_t(filter) * p.of_out.channel;
        if (NHWC)
            store_pixels(to + mine, column, filters - mine, sums);
        else if (sizeof(T) == 2 && p.width.out % 2 == 0)
            store_columns(to, column, sums);
        else
#pragma unroll
            for (int i = 0; i < FILTERS / 2; ++i) {
                const int number = i / 4 * 8 + mine + i % 2, right = i / 2 % 2 * 8;
                if (number < filters && column + right < int(p.width.out))
                    to[number * p.of_out.channel + right] = T(sums[i]);
            }
    }
    __device__ void store_pixels(T *to, int column, int there, const float (&sums)[FILTERS / 2]) const {
        const int all = int(p.filters);
        const bool pairs = all % 2 == 0 && p.out % sizeof(Vec2) == 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (column + 8 * h >= int(p.width.out))
                break;
#pragma unroll
            for (int j = 0; j < FILTERS / 8; ++j) {
                const float *v = sums + 4 * j + 2 * h;
                if (pairs && 8 * j < there)
                    store_at_once(to + 8 * h * all + 8 * j, Vec2{T(v[0]), T(v[1])});
                else if (!pairs)
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        if (8 * j + i < there)
                            to[8 * h * all + 8 * j + i] = T(v[i]);
            }
        }
    }
    // Pairs of columns: lanes of neighbouring columns exchange what the other one stores.
    __device__ void store_columns(T *to, int column, const float (&sums)[FILTERS / 2]) const {
        const int lane = threadIdx.x % 32, odd = lane / 4 % 2, mine = lane % 4 * 2 + odd;
#pragma unroll
        for (int i = 0; i < FILTERS / 4; ++i) {
            const float keep = odd ? sums[2 * i + 1] : sums[2 * i],
                        give = odd ? sums[2 * i] : sums[2 * i + 1];
            const float got = __shfl_xor_sync(0xffffffff, give, 4);
            const int number = i / 2 * 8 + mine, right = i % 2 * 8 - odd;
            if (number < filters && column + right < int(p.width.out))
                store_at_once(to + number * p.of_out.channel + right,
                              Vec2{T(odd ? got : keep), T(odd ? keep : got)});
        }
    }
};

// A block of results out of single numbers: c5 and c7. AT_ONCE rows, two at most, are under way.
template <class T, bool NHWC, int ROWS, int AT_ONCE>
__device__ void conv3x3_c12_k24(const gr_conv_tiles_params &p) {
    typedef Conv3x3C12K24<T, 1, NHWC, ROWS> Block;
    pdl_launch_dependents();
    const Block block(p);
    pdl_wait();
    block.bring();
#pragma unroll 1
    for (int first = 0; first < ROWS; first += AT_ONCE) {
        float sums[AT_ONCE][Block::FILTERS / 2];
        begin_products();
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
#pragma unroll
            for (int step = 0; step < Block::STEPS; ++step)
                multiply_pixels(T(), sums[i], block.pixels_descriptor(first + i, step, 0),
                                block.filters_descriptor(step), step == 0);
            commit_products();
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (i + 1 < AT_ONCE)
                wait_for_products<1>();
            else
                wait_for_products<0>();
            hold(sums[i]);
            block.store_row(first + i, sums[i]);
        }
    }
}

} // namespace gr::conv
