// Logarithms of the sums of exponentials of segments, in float64.
#include "reduce/ops/log_sum_exp.cuh"

#include "segments/segments.cuh"

using namespace gr::segments;

using Exponentials = gr::reduce::LogSumExp<double>;

struct ExpState {
    double most, others; // as in ExpSum

    __device__ operator double() const {
        return Exponentials::logarithm({most, others});
    }
};
inline __device__ double divide(const ExpState &s, uint64_t) { // means of these do not exist
    return s;
}

struct SegmentLogSumExp {
    using Held = double;
    using State = ExpState;
    static constexpr bool truth = false, turned = false, places = false, means = false;
    static __device__ State load(double x, int64_t) {
        return {x, 0};
    }
    static __device__ State combine(const State &a, const State &b) {
        const auto both = Exponentials::combine({a.most, a.others}, {b.most, b.others});
        return {both.most, both.others};
    }
    static __device__ int64_t place(const State &) {
        return 0;
    }
};

GR_SEGMENT_ENTRY(logsumexp, real, SegmentLogSumExp)
