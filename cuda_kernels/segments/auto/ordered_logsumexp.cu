// Logarithms of the sums of exponentials of segments, in float64, in an order that follows from the length of
// a segment.
#include "reduce/ops/log_sum_exp.cuh"

#include "segments/ordered.cuh"
#include "segments/spread.cuh"

using namespace gr::segments;

using Exponentials = gr::reduce::LogSumExp<double>;

struct ExpState {
    double most, others; // as in ExpSum
};

struct OrderedLogSumExp : WithoutFar<ExpState> {
    using Held = double;
    using State = ExpState;
    static constexpr bool truth = false, turned = false, places = false, means = false;
    static __device__ State load(double x, int64_t) {
        return {x, 0};
    }
    static __device__ double nothing() {
        return -INFINITY;
    }
    static __device__ State combine(const State &a, const State &b) {
        const auto both = Exponentials::combine({a.most, a.others}, {b.most, b.others});
        return {both.most, both.others};
    }
    static __device__ State combine_near(const State &a, const State &b) {
        return combine(a, b);
    }
    static __device__ void put(const gr_ordered_params &p, uint64_t index, const State &x, int64_t count) {
        put_ordered(p, index, Exponentials::logarithm({x.most, x.others}), count > 0);
    }
};

GR_ORDERED_ENTRY(logsumexp, real_wide, GR_ORDERED_BLOCKS_PER_SM, OrderedLogSumExp, true)
