// Variances in one pass, for the general kernels and the flat ones; see docs/explanation/variance.md.
//
// A State has the number of elements, a point near their mean, and the sum and the sum of squares of the
// differences between the elements and the point. Two States are merged after Chan, Golub and LeVeque,
// "Algorithms for computing the sample variance" (1983), but about the point that is nearer to the mean: no
// point is ever rounded, the sum has the rest, and there is no division. Integers of up to four
// bytes are summed directly and exactly: see variance_integers.cuh.
//
// The sum of squares about the point of a State is at most a few times the sum about the mean, whatever the
// order of the elements: whenever the number of its elements has doubled, a thread moves its point to the
// mean if the point is far from it. See docs/explanation/variance.md for the bound.
//
// Squares of doubles may exceed a double. A State of doubles whose sum of squares is not below GR_VAR_LARGEST
// is shrunk: its point and sum are scaled by GR_VAR_SHRINK, its squares by the square of GR_VAR_SHRINK.
//
// NaNs are left out and counted: `finish` decides which result they make.
#pragma once

#include "reduce/ops/variance_complex.cuh"
#include "reduce/ops/variance_integers.cuh"
#include "reduce/ops/variance_sums.cuh"

namespace gr::reduce {

// ---- numbers ----

template <class In> struct VarOfNumbers {
    using Value = typename VarValue<In>::type;
    using T = typename VarValue<In>::sum;
    using State = Shifted<Value, T>;
    using Out = RealOut<In>;
    static __device__ State identity() {
        return {0, 0, 0, 0, 0};
    }
    static __device__ State load(In x, uint64_t) {
        return append(identity(), x, 0);
    }
    static __device__ State append_plain(State s, Value value) {
        T apart = T(value) - T(s.shift);
        if (is_floating<In> && value != value) {
            apart = 0;
            s.marks |= GR_VAR_HAS_NAN;
        } else {
            s.count += 1;
        }
        s.sum += apart;
        s.squares = fma(apart, apart, s.squares);
        return s;
    }
    // Without the arithmetic of merging. The first element is the point, until it turns out to be far from
    // the mean, for which a power of two of elements is looked at.
    static __device__ State append(State s, In x, uint64_t) {
        const Value value = Value(widen(x));
        const int high = __double2hiint(s.count);
        if (high << 12 == 0) {
            if (high == 0) // the count is 0
                s.shift = !is_floating<In> || isfinite(value) ? value : Value(0);
            else if (is_far(T(s.count), s.sum, s.squares))
                recentre(T(s.count), s.shift, s.sum, s.squares);
        }
        const State next = append_plain(s, value);
        if constexpr (can_overflow<In>)
            if (s.marks >= GR_VAR_SHRUNK || !is_medium(next.squares))
                return append_plain(shrunk(s), value * GR_VAR_SHRINK);
        return next;
    }
    // See reduce/general/masked_pieces.cuh: about the mean of the elements that are taken.
    static constexpr bool has_of_some = true;
    template <unsigned N> static __device__ bool of_some(State &s, const In (&x)[N], const bool (&taken)[N]) {
        bool counts[N], has_nan = false;
        unsigned count = 0;
        Value total = 0, sum = 0, squares = 0;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const Value value = Value(widen(x[k]));
            const bool is_nan = is_floating<In> && value != value;
            counts[k] = taken[k] & !is_nan;
            has_nan |= taken[k] & is_nan;
            count += counts[k];
            total += counts[k] ? value : Value(0);
        }
        const Value shift = total * (Value(1) / Value(count > 0 ? count : 1));
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const Value apart = counts[k] ? Value(widen(x[k])) - shift : Value(0);
            sum += apart;
            squares = fma(apart, apart, squares);
        }
        s = {double(count), shift, has_nan ? GR_VAR_HAS_NAN : 0u, T(sum), T(squares)};
        return !is_floating<In> || (can_overflow<In> ? is_medium(squares) : isfinite(squares));
    }
    static __device__ State combine(State a, State b) {
        return merge<In>(a, b);
    }
    // The lanes of a warp that have something to merge.
    static __device__ unsigned filled(const State &x) {
        return __ballot_sync(0xffffffffu, x.count != 0 || x.marks);
    }
    static __device__ State merge_warp(State x, unsigned filled) {
        const unsigned lanes = 32 - __clz(int(filled));
#pragma unroll 1
        for (unsigned offset = 16; offset > 0; offset /= 2)
            if (offset < lanes)
                x = merge<In>(x, shuffle_down(x, offset));
        return x;
    }
    // The same in half as many instructions, and after as long a wait: all States are moved to one point and
    // added up. That point is the mean of four lanes'; where it turns out to be far from the mean, as the
    // mean with a far element, or something is not finite, they are merged.
    static __device__ State add_up_warp(State x) {
        constexpr unsigned all = 0xffffffffu, some = 0x01010101, few = 0xf;
        const unsigned lanes = filled(x);
        if (lanes <= few || (can_overflow<In> && __any_sync(all, x.marks >= GR_VAR_SHRUNK)))
            return merge_warp(x, lanes);
        const bool has_some = (lanes & some) == some;
        Value shift = x.shift + __shfl_xor_sync(all, x.shift, 8);
        shift += __shfl_xor_sync(all, shift, 16);
        shift = __shfl_sync(all, has_some ? shift * Value(0.25) : x.shift, has_some ? 0 : __ffs(lanes) - 1);
        const T apart = T(x.shift) - T(shift), from_there = fma(T(x.count), apart, x.sum);
        const double count = warp_sum(x.count);
        const T sum = warp_sum(from_there), squares = warp_sum(fma(apart, x.sum + from_there, x.squares));
        const bool is_near = double(sum) * double(sum) <= 0.75 * count * double(squares);
        if (is_near && (can_overflow<In> ? is_medium(squares) : isfinite(squares)))
            return {count, shift, uint32_t(__any_sync(all, x.marks)), sum, squares};
        return merge_warp(x, lanes);
    }
    // Few warps wait, many compute.
    static __device__ State reduce_warp(State x) {
        return blockDim.x > (sizeof(Value) == 4 ? 128 : 512) ? add_up_warp(x) : merge_warp(x, filled(x));
    }
    static __device__ Out finish(State s, uint64_t ddof, uint32_t flags) {
        return variance<Out>(centred(s), s.count, s.marks & GR_VAR_HAS_NAN, ddof, flags,
                             can_overflow<In> && s.marks & GR_VAR_SHRUNK);
    }
    // The variance of a finite element is the same for all, so that a thread divides once.
    static __device__ Out of_one(In x, uint64_t ddof, uint32_t flags) {
        const Value value = Value(widen(x));
        const Out of_finite = variance<Out>(0.0, 1.0, false, ddof, flags);
        return value - value == Value(0) ? of_finite : finish(load(x, 0), ddof, flags);
    }
};

// Elements in flight, a few of one result, about the same point: in Value, unless they hold something that
// is not finite or whose square is not. Of several results side by side a thread keeps no counts: it has
// taken as many rows of each, and left out what was NaN.
template <class F, class In> struct VarTogether {
    static constexpr bool there = true, contest = false;
    static constexpr unsigned in_flight = 8;
    using State = typename F::State;
    using Value = typename F::Value;
    using T = typename F::T;
    static constexpr uint32_t is_shrunk = 1u << 31; // next to the number of NaNs
    struct ThreadState {
        Value shift;
        uint32_t left_out;
        T sum, squares;
    };
    static __device__ ThreadState init() {
        return {0, 0, 0, 0};
    }
    static __device__ uint32_t marks_of(const ThreadState &kept) {
        return (kept.left_out & ~is_shrunk ? GR_VAR_HAS_NAN : 0) |
               (kept.left_out & is_shrunk ? GR_VAR_SHRUNK : 0);
    }
    static __device__ State to_state(const ThreadState &kept, uint64_t rows) {
        return {double(rows - (kept.left_out & ~is_shrunk)), kept.shift, marks_of(kept), kept.sum,
                kept.squares};
    }
    // Of `count` elements so far, and the next one.
    static __device__ void set_shift(ThreadState &kept, uint32_t count, Value next) {
        if (count == 0)
            kept.shift = !is_floating<In> || isfinite(next) ? next : Value(0);
        else if (is_far(T(count), kept.sum, kept.squares))
            recentre(T(count), kept.shift, kept.sum, kept.squares);
    }
    // The first of them where that is not finite.
    template <unsigned N, class Each, class There>
    static __device__ Value mean_of(const Each &x, const There &there) {
        Value sum = 0, rows = 0;
#pragma unroll
        for (unsigned j = 0; j < N; ++j) {
            sum += there(j) ? Value(widen(x(j))) : Value(0);
            rows += there(j) ? Value(1) : Value(0);
        }
        const Value mean = sum / rows;
        return isfinite(mean) ? mean : Value(widen(x(0)));
    }
    static __device__ void shrink(ThreadState &kept) {
        kept = {Value(kept.shift * GR_VAR_SHRINK), kept.left_out | is_shrunk, T(kept.sum * GR_VAR_SHRINK),
                T(kept.squares * GR_VAR_SHRINK * GR_VAR_SHRINK)};
    }
    // `rows` were there before; where all of them were left out, there is no point yet.
    static __device__ void take_one(ThreadState &kept, uint32_t rows, In x) {
        Value value = Value(widen(x));
        if (value != value) {
            ++kept.left_out;
            return;
        }
        const uint32_t count = rows - (kept.left_out & ~is_shrunk);
        if ((count & (count - 1)) == 0)
            set_shift(kept, count, value);
        if constexpr (can_overflow<In>) {
            const T apart = value - kept.shift;
            if (!(kept.left_out & is_shrunk) && !is_medium(fma(apart, apart, kept.squares)))
                shrink(kept);
            value *= kept.left_out & is_shrunk ? GR_VAR_SHRINK : 1.0;
        }
        const T apart = T(value) - T(kept.shift);
        kept.sum += apart;
        kept.squares = fma(apart, apart, kept.squares);
    }
    // BatchAccumulator, unless a square or a sum overflows; whether that is so.
    template <unsigned N, class Each, class There>
    static __device__ bool take_all(ThreadState &kept, const Each &x, const There &there) {
        Value sum = 0, squares = 0;
#pragma unroll
        for (unsigned j = 0; j < N; ++j) {
            const Value apart = there(j) ? Value(widen(x(j))) - kept.shift : Value(0);
            sum += apart;
            squares = fma(apart, apart, squares);
        }
        const T total = kept.squares + T(squares);
        if (is_floating<In> && !(can_overflow<In> ? is_medium(total) : isfinite(squares)))
            return false;
        kept.sum += T(sum);
        kept.squares = total;
        return true;
    }
    template <unsigned N, class Each, class There>
    static __device__ void take(ThreadState &kept, uint32_t rows, const Each &x, const There &there) {
        const uint32_t count = rows - kept.left_out; // as a signed number, negative where it is shrunk
        bool together = true;
        if (int32_t(count ^ (count + N)) > int32_t(count)) { // it is shrunk, 0 or about to double
            together = int32_t(count) >= 0;
            if (together)
                set_shift(kept, count, count == 0 ? mean_of<N>(x, there) : Value(0));
        }
        if (together && take_all<N>(kept, x, there))
            return;
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            if (there(j))
                take_one(kept, rows + j, x(j));
    }
    template <unsigned N, class Each, class There>
    static __device__ State add(State s, const Each &x, const There &there, uint64_t, uint64_t) {
        ThreadState kept = {s.shift, s.marks & GR_VAR_SHRUNK ? is_shrunk : 0, s.sum, s.squares};
        unsigned rows = 0;
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            rows += there(j);
        take<N>(kept, __double2uint_rz(s.count), x, there);
        return {s.count + (rows - (kept.left_out & ~is_shrunk)), kept.shift, s.marks | marks_of(kept),
                kept.sum, kept.squares};
    }
};

// The chunks of one turn make a State, about the mean of the first elements of each, so that one far element
// does no harm; in float for elements of up to that size, unless they hold something that is not finite or
// whose square is not.
template <class In> struct VectorVarOfNumbers : VarOfNumbers<In> {
    using F = VarOfNumbers<In>;
    using State = typename F::State;
    using Value = typename F::Value;
    using T = typename F::T;
    using Acc = Shifted<Value, double>;
    static __device__ Acc init() {
        return {0, 0, 0, 0, 0};
    }
    template <unsigned N> static __device__ Acc scaled_turn(const Vec16<In> *x, double factor) {
        constexpr unsigned length = Vec16<In>::length;
        Value shift = 0;
        double count = 0, sum = 0, squares = 0;
#pragma unroll
        for (unsigned i = 0; i < N * length; ++i) {
            const Value value = Value(widen(element_of(x, i)));
            shift = isfinite(value) ? Value(value * factor) : shift;
        }
#pragma unroll
        for (unsigned i = 0; i < N * length; ++i) {
            const double value = double(widen(element_of(x, i)));
            const bool is_nan = value != value;
            const double apart = is_nan ? 0.0 : value * factor - double(shift);
            count += is_nan ? 0.0 : 1.0;
            sum += apart;
            squares = fma(apart, apart, squares);
        }
        return {count, shift, count < N * length ? GR_VAR_HAS_NAN : 0, sum, squares};
    }
    template <unsigned N> static __device__ Acc any_turn(const Vec16<In> *x) {
        Acc turn = scaled_turn<N>(x, 1.0);
        if constexpr (can_overflow<In>) {
            if (!is_medium(turn.squares)) {
                turn = scaled_turn<N>(x, GR_VAR_SHRINK);
                turn.marks |= GR_VAR_SHRUNK;
            }
        }
        return turn;
    }
    // About a point; whether what comes of that does not overflow.
    template <unsigned N>
    static __device__ bool about(const Vec16<In> *x, Value shift, Value &sums, Value &all) {
        constexpr unsigned length = Vec16<In>::length;
        Value sum[N], squares[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            sum[k] = squares[k] = 0;
#pragma unroll
            for (unsigned e = 0; e < length; ++e) {
                const Value apart = Value(widen(x[k].at(e))) - shift;
                sum[k] += apart;
                squares[k] = fma(apart, apart, squares[k]);
            }
        }
        sums = tree_sum<N>([&](unsigned k) { return sum[k]; });
        all = tree_sum<N>([&](unsigned k) { return squares[k]; });
        return !is_floating<In> || (can_overflow<In> ? is_medium(all) : isfinite(all));
    }
    template <unsigned N> static __device__ Value middle(const Vec16<In> *x) {
        return tree_sum<N>([&](unsigned k) { return Value(widen(x[k].at(0))); }) * (Value(1) / N);
    }
    template <unsigned N> static __device__ Acc of(const Vec16<In> *x) {
        const Value shift = middle<N>(x);
        Value sums, all;
        const bool finite = about<N>(x, shift, sums, all);
        return finite ? Acc{N * Vec16<In>::length, shift, 0, sums, all} : any_turn<N>(x);
    }
    static __device__ Acc fold(const Acc &a, const Acc &b) {
        return merge<In>(a, b);
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = merge<In>(acc, of<N>(x));
    }
    // In general_rows, with eight loads of 16 bytes in flight: about the present point, without a
    // merge, unless that is far from the mean. 8,192 rows of as many float64 take 125.3 us on an H200, 131.1
    // otherwise, float16 36.8 and 39.4; numbers of four bytes 65.4 in both ways, 69.1 with four chunks.
    static constexpr bool in_rows = true;
    template <unsigned N> static __device__ void accumulate_in_row(Acc &acc, const Vec16<In> *x) {
        if constexpr (sizeof(In) != 4) {
            constexpr unsigned count = N * Vec16<In>::length;
            const Value shift = __double2hiint(acc.count) == 0 ? middle<N>(x) : acc.shift; // it is 0
            Value sums, all;
            if (about<N>(x, shift, sums, all) && acc.marks < GR_VAR_SHRUNK) {
                const double rows = acc.count + count, sum = acc.sum + double(sums);
                const double squares = acc.squares + double(all);
                const bool is_near =
                    sums * sums <= Value(0.75 * count) * all || sum * sum <= 0.75 * rows * squares;
                if (is_near && (!can_overflow<In> || is_medium(squares))) {
                    acc = {rows, shift, acc.marks, sum, squares};
                    return;
                }
            }
        }
        accumulate<N>(acc, x, 0, 0);
    }
    static __device__ State to_state(const Acc &acc) {
        return {acc.count, acc.shift, acc.marks, T(acc.sum), T(acc.squares)};
    }
};

template <class In>
constexpr int var_kind = std::is_same<Wide<In>, ComplexParts<float>>::value ||
                                 std::is_same<Wide<In>, ComplexParts<double>>::value
                             ? 2
                         : is_floating<In> || sizeof(In) == 8 ? 0
                         : sizeof(In) <= 2                    ? 1
                                                              : 3;
template <class In, int = var_kind<In>> struct Var : VarOfNumbers<In> {};
template <class In> struct Var<In, 1> : VarOfIntegers<In> {};
template <class In> struct Var<In, 2> : VarOfComplex<In> {};
template <class In> struct Var<In, 3> : VarOfWideIntegers<In> {};
template <class In, int = var_kind<In>> struct VectorVar : VectorVarOfNumbers<In> {};
template <class In> struct VectorVar<In, 1> : VectorVarOfIntegers<In> {};
template <class In> struct VectorVar<In, 2> : VectorVarOfComplex<In> {};
template <class In> struct VectorVar<In, 3> : VectorVarOfWideIntegers<In> {};
template <class In> struct VectorAccumulator<Var<In>, In> : VectorVar<In> {};

template <class In, int = var_kind<In>> struct VarBatch : BatchAccumulator<void, void> {};
template <class In> struct VarBatch<In, 0> : VarTogether<VarOfNumbers<In>, In> {};
template <class In> struct VarBatch<In, 3> : WideIntegersTogether<In> {};
template <class In> struct BatchAccumulator<Var<In>, In> : VarBatch<In> {};

} // namespace gr::reduce
