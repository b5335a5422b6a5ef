// Convolutions of 1 x 1 with few filters: the tiles of a product would be nearly empty, and memory is all
// that limits them. The filters lie in shared memory, in float32. In NHWC eight threads share a pixel's
// channels, and add their sums up; in NCHW a thread has four neighbouring pixels, and goes through the
// channels.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "common/vec.cuh"
#include "conv/conv.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_POINTWISE_THREADS, LANES = GR_CONV_POINTWISE_LANES };
enum { PIXELS_PER_THREAD = GR_CONV_POINTWISE_PIXELS }; // of a thread

// Zeros where there is no such filter. By filter or by channel first.
template <class T, int FILTERS, bool BY_FILTER>
__device__ const float *bring_filters(const gr_conv_params &p) {
    float *weights = shared_array<float>();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const unsigned channels = unsigned(p.channels);
    for (unsigned c = threadIdx.x; c < channels; c += THREADS)
#pragma unroll
        for (unsigned f = 0; f < FILTERS; ++f)
            weights[BY_FILTER ? f * channels + c : c * FILTERS + f] =
                f < p.filters ? Accumulator<T>::of(
                                    reinterpret_cast<const T *>(p.w)[f * p.of_w.outer + c * p.of_w.channel])
                              : 0;
    __syncthreads();
    return weights;
}

// The sum of those of LANES neighbouring lanes, for all of them.
inline __device__ float sum_of_lanes(float sum) {
#pragma unroll
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, apart);
    return sum;
}

template <class T, int FILTERS> __device__ void nhwc(const gr_conv_params &p) {
    enum { LENGTH = 16 / sizeof(T), PIXELS = THREADS / LANES };
    typedef Vec<T, LENGTH> Elements;
    const float *weights = bring_filters<T, FILTERS, true>(p);
    const unsigned channels = unsigned(p.channels), lane = threadIdx.x % LANES;
    const uint64_t pixels = p.batch * p.height.out * p.width.out,
                   first = uint64_t(blockIdx.x) * (PIXELS * PIXELS_PER_THREAD) + threadIdx.x / LANES;
    const T *from = reinterpret_cast<const T *>(p.x);
    float sums[PIXELS_PER_THREAD][FILTERS] = {};
    for (unsigned c = lane * LENGTH; c < channels; c += LANES * LENGTH) {
        Elements seen[PIXELS_PER_THREAD];
#pragma unroll
        for (int i = 0; i < PIXELS_PER_THREAD; ++i)
            seen[i] = first + i * PIXELS < pixels
                          ? *reinterpret_cast<const Elements *>(
                                from + int64_t(first + i * PIXELS) * p.of_x.column + c)
                          : Elements();
#pragma unroll
        for (int f = 0; f < FILTERS; ++f) {
            float some[LENGTH];
#pragma unroll
            for (int v = 0; v < LENGTH; v += 4)
                *reinterpret_cast<float4 *>(some + v) =
                    *reinterpret_cast<const float4 *>(weights + f * channels + c + v);
#pragma unroll
            for (int i = 0; i < PIXELS_PER_THREAD; ++i)
#pragma unroll
                for (int v = 0; v < LENGTH; ++v)
                    sums[i][f] = fmaf(Accumulator<T>::of(seen[i].at[v]), some[v], sums[i][f]);
        }
    }
#pragma unroll
    for (int i = 0; i < PIXELS_PER_THREAD; ++i) {
        float mine = 0; // of filter number `lane`
#pragma unroll
        for (int f = 0; f < FILTERS; ++f) {
            const float sum = sum_of_lanes(sums[i][f]);
            mine = lane == f ? sum : mine;
        }
        if (lane < p.filters && first + i * PIXELS < pixels)
            reinterpret_cast<T *>(p.out)[(first + i * PIXELS) * p.filters + lane] =
                Accumulator<T>::back(mine);
    }
}

template <class T, int FILTERS> __device__ void nchw(const gr_conv_params &p) {
    typedef Vec<T, PIXELS_PER_THREAD> Pixels;
    constexpr unsigned AT_ONCE = 32 / sizeof(T); // channels
    const float *weights = bring_filters<T, FILTERS, false>(p);
    const unsigned channels = unsigned(p.channels);
    const uint64_t first = (uint64_t(blockIdx.x) * THREADS + threadIdx.x) * PIXELS_PER_THREAD;
    if (first >= p.height.out * p.width.out)
        return;
    const T *from = reinterpret_cast<const T *>(p.x) + int64_t(blockIdx.y) * p.of_x.outer + first;
    float sums[FILTERS][PIXELS_PER_THREAD] = {};
#pragma unroll AT_ONCE
    for (unsigned c = 0; c < channels; ++c, from += p.of_x.channel) {
        const Pixels seen = *reinterpret_cast<const Pixels *>(from);
#pragma unroll
        for (int f = 0; f < FILTERS; ++f)
#pragma unroll
            for (int i = 0; i < PIXELS_PER_THREAD; ++i)
                sums[f][i] = fmaf(Accumulator<T>::of(seen.at[i]), weights[c * FILTERS + f], sums[f][i]);
    }
    T *to = reinterpret_cast<T *>(p.out) + int64_t(blockIdx.y) * p.of_out.outer + first;
#pragma unroll
    for (int f = 0; f < FILTERS; ++f) {
        if (f >= p.filters)
            break;
        Pixels results;
#pragma unroll
        for (int i = 0; i < PIXELS_PER_THREAD; ++i)
            results.at[i] = Accumulator<T>::back(sums[f][i]);
        store_at_once(to + f * p.of_out.channel, results);
    }
}

#define GR_FILTERS(form, suffix, T, FILTERS)                                                                 \
    GR_ENTRY((THREADS), conv_narrow_##suffix##_##form##_##FILTERS, __grid_constant__ gr_conv_params,         \
             form<T, FILTERS>)
#define GR_NARROW(suffix, T)                                                                                 \
    GR_FILTERS(nhwc, suffix, T, 2)                                                                           \
    GR_FILTERS(nhwc, suffix, T, 4)                                                                           \
    GR_FILTERS(nchw, suffix, T, 2)                                                                           \
    GR_FILTERS(nchw, suffix, T, 4)

GR_NARROW(f32, float)
GR_NARROW(f16, gr_f16)
GR_NARROW(bf16, gr_bf16)
