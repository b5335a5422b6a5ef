// Variances of segments: their squares about the means, as doubles, and what becomes of these.
#include "grid/large_states.cuh"

#include "segments/params.h"
#include "segments/segments.cuh"

using namespace gr::segments;

// Squares may exceed a double, and are then those of elements that are scaled by this factor.
constexpr double SHRINK = 0x1p-538, LARGEST = 0x1p960;

// Of elements: how many, and sums about a point among them, which is never rounded; as in
// reduce/ops/variance.cuh, but that NaNs and infinities make all NaN.
struct Spread {
    double count; // negative where the others are scaled
    double point, sum, squares;

    // The squares about the mean, negative where they are scaled.
    __device__ operator double() const {
        const double rest = squares - sum * (sum / fabs(count));
        return copysign(rest < 0 ? 0.0 : rest, count);
    }
};
inline __device__ double divide(const Spread &s, uint64_t) { // means of these do not exist
    return s;
}

constexpr int64_t skipped_bits = 0x7ff8000000000000 + lost_payload; // of a NaN that no element has

template <class V> struct SegmentVar {
    using Held = V;
    using State = Spread;
    static constexpr bool truth = false, turned = false, places = false, means = true;
    static __device__ State load(V x, int64_t) {
        return __double_as_longlong(x) == skipped_bits ? State{0, 0, 0, 0} : State{1, x, x - x, x - x};
    }
    static __device__ V nothing() {
        return __longlong_as_double(skipped_bits);
    }
    // Of counts that are not negative.
    static __device__ State combine_plain(const State &a, const State &b) {
        const double apart = b.point - a.point;
        const double from_a = fma(b.count, apart, b.sum), from_b = fma(a.count, -apart, a.sum);
        const double sum_a = a.sum + from_a, sum_b = b.sum + from_b; // about either point
        const bool nearer = fabs(sum_b) < fabs(sum_a);
        const double more = nearer ? -apart * (a.sum + from_b) : apart * (b.sum + from_a);
        return {a.count + b.count, nearer ? b.point : a.point, nearer ? sum_b : sum_a,
                (a.squares + b.squares) + more};
    }
    static __device__ State scaled(const State &s) {
        const double factor = s.count < 0 ? 1.0 : SHRINK;
        return {fabs(s.count), s.point * factor, s.sum * factor, s.squares * factor * factor};
    }
    static __device__ State combine(const State &a, const State &b) {
        if (a.count == 0 || b.count == 0)
            return a.count == 0 ? b : a;
        State both = combine_plain(a, b);
        if (a.count < 0 || b.count < 0 || !(fabs(both.squares) < LARGEST)) {
            both = combine_plain(scaled(a), scaled(b));
            both.count = -both.count;
        }
        return both;
    }
    static __device__ int64_t place(const State &) {
        return 0;
    }
};

extern "C" __global__ void __launch_bounds__(GR_SEGMENT_THREADS, 2)
    segment_var_real(const gr_segment_params p) {
    reduce_segments<SegmentVar<double>>(p);
}

template <class Out> __device__ void put_variance(const gr_segment_variance_params &p, uint64_t i, double x) {
    reinterpret_cast<Out *>(p.out)[i] = Value<double>::to<Out>(x);
}

extern "C" __global__ void __launch_bounds__(GR_SEGMENT_VARIANCE_THREADS)
    segment_var_finish(const gr_segment_variance_params p) {
    const uint64_t i = uint64_t(blockIdx.x) * GR_SEGMENT_VARIANCE_THREADS + threadIdx.x;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    if (i >= p.results)
        return;
    const int64_t *offsets = reinterpret_cast<const int64_t *>(p.offsets) + i / p.inner % p.segments;
    int64_t count = min(offsets[1], int64_t(p.rows)) - max(offsets[0], int64_t(0));
    if (p.counts != 0)
        count = reinterpret_cast<const int64_t *>(p.counts)[i];
    if (count <= 0) {
        unsigned char *out = reinterpret_cast<unsigned char *>(p.out) + i * p.result_bytes;
        for (unsigned byte = 0; byte < p.result_bytes; ++byte)
            out[byte] = p.empty_result[byte];
        return;
    }
    const double squares = reinterpret_cast<const double *>(p.squares)[i];
    const double factor = squares < 0 ? 1 / SHRINK : 1.0;
    double x = fabs(squares) / max(double(count) - p.ddof, 0.0) * factor * factor;
    x = p.root ? sqrt(x) : x;
    if (p.nan_of_few && !(double(count) > p.ddof))
        x = NAN;
    switch (p.to) {
    case SEGMENT_f32:
        return put_variance<float>(p, i, x);
    case SEGMENT_f16:
        return put_variance<gr_f16>(p, i, x);
    case SEGMENT_bf16:
        return put_variance<gr_bf16>(p, i, x);
    default:
        return put_variance<double>(p, i, x);
    }
}
