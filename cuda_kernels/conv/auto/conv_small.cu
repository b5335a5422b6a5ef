// Convolutions with few results or few filters per group: implicit GEMM in small tiles. A block computes
// PIXELS pixels by FILTERS filters of one group. It gathers K taps of them at once, and those of the next
// step while it multiplies: half of c2's pixels and four times its k, as few blocks wait for memory, and each
// wait should fetch much. Elements of 2 bytes become float32 in shared memory.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "conv/k_index.cuh"
#include "conv/predicated.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_SMALL_THREADS, THREAD_PIXELS = 4, THREAD_FILTERS = 2 };

// A result pixel: the element of x under its first tap, which may be outside of the image, and its distance
// from the first element of the image 0 and the group.
struct alignas(16) SmallPixel {
    unsigned top, left;
    int64_t of_x;
};

template <int PIXELS, int FILTERS, int K> struct SmallTiles {
    float x[K][PIXELS + 4], w[K][FILTERS + 2]; // longer rows, so that fewer banks conflict
    SmallPixel pixels[PIXELS];
    KIndex taps[2][K]; // of a step, and of the next
};

inline __device__ SmallPixel small_pixel(const gr_conv_params &p, unsigned number) {
    const unsigned along = next_digit(number, unsigned(p.width.out)),
                   down = next_digit(number, unsigned(p.height.out));
    const int top = int(down * unsigned(p.height.stride)) - int(p.height.padding),
              left = int(along * unsigned(p.width.stride)) - int(p.width.padding);
    SmallPixel it;
    it.top = number < p.batch ? unsigned(top) : NOWHERE;
    it.left = unsigned(left);
    it.of_x = int64_t(number) * p.of_x.outer + top * p.of_x.row + left * p.of_x.column;
    return it;
}

// The elements of x and w of one step that a thread copies to shared memory; the step has `left` indices of k
// or more. Consecutive threads load consecutive channels of NHWC or pixels of NCHW.
template <class T, bool CHANNELS_LAST, int PIXELS, int FILTERS, int K> struct SmallStep {
    enum { EACH_X = PIXELS * K / THREADS, EACH_W = FILTERS * K / THREADS };
    typedef SmallTiles<PIXELS, FILTERS, K> Tiles;
    Element<T> x[EACH_X], w[EACH_W];

    static_assert(THREADS % K == 0 && THREADS % PIXELS == 0, "a thread has one k or one pixel");
    static __device__ unsigned pixel(int i) {
        return CHANNELS_LAST ? threadIdx.x / K + i * (THREADS / K) : threadIdx.x % PIXELS;
    }
    static __device__ unsigned k_of_x(int i) {
        return CHANNELS_LAST ? threadIdx.x % K : threadIdx.x / PIXELS + i * (THREADS / PIXELS);
    }

    __device__ void load(const gr_conv_params &p, const Tiles &tiles, const KIndex *taps, const T *from,
                         const T *filters, unsigned count, unsigned left) {
#pragma unroll
        for (int i = 0; i < EACH_X; ++i) {
            if (k_of_x(i) >= left)
                break;
            const SmallPixel seen = tiles.pixels[pixel(i)];
            const KIndex tap = taps[k_of_x(i)];
            x[i] = load_if((seen.top + tap.down < unsigned(p.height.size)) &
                               (seen.left + tap.along < unsigned(p.width.size)),
                           element(from + (seen.of_x + tap.of_x)));
        }
        if (threadIdx.x % K >= left)
            return;
        const KIndex tap = taps[threadIdx.x % K];
#pragma unroll
        for (int i = 0; i < EACH_W; ++i) {
            const unsigned filter = threadIdx.x / K + i * (THREADS / K);
            w[i] = load_if(filter < count, element(filters + filter * p.of_w.outer + tap.of_w));
        }
    }

    __device__ void store(Tiles &tiles, unsigned left) const {
#pragma unroll
        for (int i = 0; i < EACH_X; ++i) {
            if (k_of_x(i) >= left)
                break;
            tiles.x[k_of_x(i)][pixel(i)] = Accumulator<T>::of(x[i].at);
        }
        if (threadIdx.x % K >= left)
            return;
#pragma unroll
        for (int i = 0; i < EACH_W; ++i)
            tiles.w[threadIdx.x % K][threadIdx.x / K + i * (THREADS / K)] = Accumulator<T>::of(w[i].at);
    }
};

// The parts of a block add up PART_K indices of k of each step, the first part the first ones; then part 0
// adds up the sums of the parts.
template <class T, bool CHANNELS_LAST, int PIXELS, int FILTERS, int PART_K>
__device__ void small(const gr_conv_small_params &params) {
    enum { PIXEL_THREADS = PIXELS / THREAD_PIXELS, FILTER_THREADS = FILTERS / THREAD_FILTERS };
    enum {
        PART_THREADS = PIXEL_THREADS * FILTER_THREADS,
        PARTS = THREADS / PART_THREADS,
        K = PARTS * PART_K
    };
    static_assert(PART_THREADS * PARTS == THREADS, "each thread has results");
    __shared__ SmallTiles<PIXELS, FILTERS, K> tiles;
    pdl_as_comments::pdl_launch_dependents();
    const gr_conv_params &p = params.conv;
    unsigned rest = blockIdx.x;
    const unsigned tile = next_digit(rest, params.filter_tiles), group = next_digit(rest, unsigned(p.groups));
    const unsigned first_filter = tile * FILTERS, count = unsigned(p.filters) - first_filter;
    const unsigned first = rest * PIXELS, pixels = unsigned(p.batch * p.height.out * p.width.out);
    const unsigned k = unsigned(p.height.kernel * p.width.kernel * p.channels);
    const T *x = reinterpret_cast<const T *>(p.x) + int64_t(group * p.channels) * p.of_x.channel;
    const T *w = reinterpret_cast<const T *>(p.w) + int64_t(group * p.filters + first_filter) * p.of_w.outer;
    if (threadIdx.x < PIXELS)
        tiles.pixels[threadIdx.x] = small_pixel(p, first + threadIdx.x);
    for (unsigned i = threadIdx.x; i < K; i += THREADS)
        tiles.taps[0][i] = k_index<CHANNELS_LAST>(p, i);
    __syncthreads();
    pdl_as_comments::pdl_wait();
    SmallStep<T, CHANNELS_LAST, PIXELS, FILTERS, K> step;
    step.load(p, tiles, tiles.taps[0], x, w, count, k);

    // The results of a thread are neighbours as the output lies.
    const unsigned part = threadIdx.x / PART_THREADS, thread = threadIdx.x % PART_THREADS;
    const unsigned pixel = (CHANNELS_LAST ? thread / FILTER_THREADS : thread % PIXEL_THREADS) * THREAD_PIXELS,
                   filter =
                       (CHANNELS_LAST ? thread % FILTER_THREADS : thread / PIXEL_THREADS) * THREAD_FILTERS;
    float sums[THREAD_PIXELS][THREAD_FILTERS] = {};
    for (unsigned begin = 0, next = 1; begin < k; begin += K, next ^= 1) {
        step.store(tiles, k - begin);
        for (unsigned i = threadIdx.x; i < K; i += THREADS)
            tiles.taps[next][i] = k_index<CHANNELS_LAST>(p, begin + K + i);
        __syncthreads();
        if (begin + K < k)
            step.load(p, tiles, tiles.taps[next], x, w, count, k - begin - K);
        const unsigned end = min((part + 1) * PART_K, k - begin);
#pragma unroll 8
        for (unsigned i = part * PART_K; i < end; ++i) {
            const float4 a = *reinterpret_cast<const float4 *>(&tiles.x[i][pixel]);
            const float2 b = *reinterpret_cast<const float2 *>(&tiles.w[i][filter]);
            const float seen[THREAD_PIXELS] = {a.x, a.y, a.z, a.w}, weights[THREAD_FILTERS] = {b.x, b.y};
#pragma unroll
            for (int f = 0; f < THREAD_FILTERS; ++f)
#pragma unroll
                for (int each = 0; each < THREAD_PIXELS; ++each)
                    sums[each][f] = fmaf(seen[each], weights[f], sums[each][f]);
        }
        __syncthreads();
    }
    if constexpr (PARTS > 1) {
        float(*others)[THREAD_PIXELS][THREAD_FILTERS][PART_THREADS] =
            reinterpret_cast<float(*)[THREAD_PIXELS][THREAD_FILTERS][PART_THREADS]>(&tiles.x);
        static_assert(sizeof *others * (PARTS - 1) <= sizeof tiles.x, "the sums of the other parts fit");
#pragma unroll
        for (int each = 0; each < THREAD_PIXELS; ++each)
#pragma unroll
            for (int f = 0; f < THREAD_FILTERS && part > 0; ++f)
                others[part - 1][each][f][thread] = sums[each][f];
        __syncthreads();
        if (part > 0)
            return;
#pragma unroll
        for (int other = 0; other < PARTS - 1; ++other)
#pragma unroll
            for (int each = 0; each < THREAD_PIXELS; ++each)
#pragma unroll
                for (int f = 0; f < THREAD_FILTERS; ++f)
                    sums[each][f] += others[other][each][f][thread];
    }
#pragma unroll
    for (int each = 0; each < THREAD_PIXELS; ++each) {
        unsigned image = first + pixel + each;
        if (image >= pixels)
            return;
        const unsigned along = next_digit(image, unsigned(p.width.out)),
                       down = next_digit(image, unsigned(p.height.out));
        T *to = reinterpret_cast<T *>(p.out) +
                conv_offset(p.of_out, image, down, along, group * p.filters + first_filter + filter);
#pragma unroll
        for (int f = 0; f < THREAD_FILTERS; ++f)
            if (filter + f < count)
                to[f * p.of_out.channel] = Accumulator<T>::back(sums[each][f]);
    }
}

#define GR_KERNEL(name, ...)                                                                                 \
    GR_ENTRY((THREADS), conv_small_##name, __grid_constant__ gr_conv_small_params, __VA_ARGS__)
#define GR_SMALL(suffix, T)                                                                                  \
    GR_KERNEL(suffix##_nhwc_128x8, small<T, true, 128, 8, 32>)                                               \
    GR_KERNEL(suffix##_nhwc_32x32, small<T, true, 32, 32, 64>)                                               \
    GR_KERNEL(suffix##_nhwc_16x16, small<T, true, 16, 16, 32>)                                               \
    GR_KERNEL(suffix##_nchw_128x8, small<T, false, 128, 8, 32>)                                              \
    GR_KERNEL(suffix##_nchw_32x32, small<T, false, 32, 32, 64>)                                              \
    GR_KERNEL(suffix##_nchw_16x16, small<T, false, 16, 16, 32>)

GR_SMALL(f32, float)
GR_SMALL(f16, gr_f16)
GR_SMALL(bf16, gr_bf16)
