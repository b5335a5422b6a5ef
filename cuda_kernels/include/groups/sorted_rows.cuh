// Group sums of rows that are sorted by group: a team of neighbouring threads, at most a warp, takes a chunk
// of sorted rows, and each of its threads a few columns, whose sums are in registers. The results of a group
// that one team adds up are written at once. The teams of other groups meet in a slot of integers in device
// memory; the one that adds the last row rounds.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "groups/column_sums.cuh"
#include "groups/row_ring.cuh"

namespace gr::groups {

template <class In, unsigned V> struct SortedRows {
    using Sum = Column<In>;
    using Bits = typename Sum::Bits;
    using Scale = typename Sum::Scale;
    using Range = typename Sum::Range;
    struct Sums {
        Sum column[V];
        Range range;

        __device__ bool exact(const Scale &scale) const {
            bool finite = true;
#pragma unroll
            for (unsigned v = 0; v < V; ++v)
                finite = finite && column[v].finite();
            return finite && range.inside(scale);
        }
    };
    static constexpr gr_exact_size size =
        Planes<typename std::conditional<Sum::has_states, In, float>::type>::size;

    const gr_sorted_rows_params &p;
    const Scale scale;
    uint32_t mask;        // of the lanes of the team
    uint32_t slice;       // of columns
    uint64_t line, first; // the first column of the thread
    const In *in;         // of row 0
    bool takes_columns;

    __device__ SortedRows(const gr_sorted_rows_params &params, uint64_t slice_number, unsigned exponent)
        : p(params), scale(params, exponent), slice(uint32_t(slice_number)) {
        const gr_group_params &r = p.rows;
        const unsigned width = 1u << p.width_shift, lane = threadIdx.x % width;
        mask = (width == 32 ? 0xffffffffu : (1u << width) - 1) << (threadIdx.x % 32 - lane);
        line = slice / p.line_slices;
        first = (uint64_t(slice - line * p.line_slices) * width + lane) * V;
        takes_columns = first < r.inner;
        const uint64_t column = takes_columns ? first : 0; // what others load is not used
        in = reinterpret_cast<const In *>(r.in) + int64_t(line) * r.line_stride +
             int64_t(column / r.components) * r.inner_stride + int64_t(column % r.components);
    }

    __device__ In element(uint32_t row, unsigned v) const {
        return in[int64_t(row) * p.rows.along_stride + v];
    }
    __device__ bool is_mean() const {
        return p.rows.options & GR_GROUP_MEAN;
    }
    __device__ const uint32_t *order() const {
        return reinterpret_cast<const uint32_t *>(p.order);
    }

    using Ring = RowRing<In, V>;
    // The rows of a thread from `begin` to `end`.
    __device__ Ring ring_of(uint32_t begin, uint32_t end) const {
        __shared__ typename Ring::Pack slots[Ring::depth][Ring::threads];
        return Ring(slots, in, p.rows.along_stride, order(), begin, end);
    }

    // The sums of sorted rows, which come next in the ring.
    __device__ Sums sums_of(uint32_t begin, uint32_t end, Ring &ring) const {
        Sums sums;
        for (uint32_t at = begin; at < end;) {
            if (at >= ring.ready)
                ring.advance();
            const uint32_t upto = min(end, ring.ready);
            if constexpr (V == 1)
                add_some(sums, ring, at, upto);
            else if (upto - at == Ring::batch)
                add_batch(sums, ring.at(at));
            else
                add_each(sums, ring.at(at), upto - at);
            at = upto;
        }
        return sums;
    }
    __device__ void add_batch(Sums &sums, const typename Ring::Pack *pack) const {
#pragma unroll
        for (unsigned i = 0; i < Ring::batch; ++i)
            add(sums, pack[i * Ring::threads]);
    }
    // A few rows of a batch, one after the other.
    __device__ void add_each(Sums &sums, const typename Ring::Pack *pack, uint32_t count) const {
#pragma unroll 1
        for (uint32_t i = 0; i < count; ++i)
            add(sums, pack[i * Ring::threads]);
    }
    // Rows of a batch from `begin` to `end`, where a warp may have several teams, whose runs end at different
    // rows: the others count as -0, so that all teams take the same instructions.
    __device__ void add_some(Sums &sums, const Ring &ring, uint32_t begin, uint32_t end) const {
        const uint32_t first = begin / Ring::batch * Ring::batch, before = begin - first, count = end - begin;
        const typename Ring::Pack *pack = ring.at(first);
#pragma unroll
        for (unsigned i = 0; i < Ring::batch; ++i) {
            const typename Ring::Pack none = {{Sum::neutral()}};
            add(sums, i - before < count ? pack[i * Ring::threads] : none);
        }
    }
    __device__ void add(Sums &sums, const typename Ring::Pack &pack) const {
#pragma unroll
        for (unsigned v = 0; v < V; ++v)
            sums.column[v].add(pack.x[v], scale, sums.range);
    }

    // The bits of a column of a run of which an element is out of range, by a superaccumulator.
    __device__ __noinline__ static uint64_t sum_slowly(const uint32_t *order, const In *column,
                                                       int64_t stride, uint32_t begin, uint32_t end,
                                                       uint64_t divisor) {
        int64_t state[size.words];
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < size.words; ++i)
            state[i] = 0;
        GR_EXACT_NO_UNROLL
        for (uint32_t at = begin; at < end; ++at)
            gr_exact_add(state, size, bits_of(column[int64_t(order[at]) * stride]));
        return gr_exact_result(state, size, divisor, Planes<In>::format);
    }
    static __device__ uint64_t bits_of(In x) { // as a double's
        if constexpr (sizeof(In) == 8)
            return uint64_t(__double_as_longlong(double(x)));
        else if constexpr (std::is_same<In, gr_f16>::value)
            return uint64_t(__double_as_longlong(double(__half2float(x))));
        else
            return uint64_t(__double_as_longlong(double(FloatColumn<In>::widened(x))));
    }

    // Where the results of the thread's columns of a group are.
    __device__ Bits *result(uint32_t group) const {
        return reinterpret_cast<Bits *>(p.rows.out) + (line * p.rows.groups + group) * p.rows.inner + first;
    }
    // Stores several words at once. In C++ the compiler would merge these stores with those of single words.
    static __device__ void put_words(Bits *out, const ColumnPack<Bits, V> &bits) {
        constexpr unsigned words = sizeof(bits) / 4, each = words < 4 ? words : 4;
        uint32_t word[words];
        __builtin_memcpy(word, &bits, sizeof bits);
        const size_t at = __cvta_generic_to_global(out);
#pragma unroll
        for (unsigned i = 0; i < words; i += each) {
            if constexpr (each == 1)
                asm volatile("st.global.b32 [%0], %1;" ::"l"(at), "r"(word[0]) : "memory");
            else if constexpr (each == 2)
                asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(word[0]), "r"(word[1])
                             : "memory");
            else
                asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at + 4 * i), "r"(word[i]),
                             "r"(word[i + 1]), "r"(word[i + 2]), "r"(word[i + 3])
                             : "memory");
        }
    }
    __device__ void put(uint32_t group, const ColumnPack<Bits, V> &bits) const {
        Bits *const out = result(group);
        if constexpr (V > 1) {
            if (p.rows.out % sizeof(bits) == 0) {
                put_words(out, bits);
                return;
            }
        }
#pragma unroll
        for (unsigned v = 0; v < V; ++v)
            out[v] = bits.x[v];
    }

    // Writes the results of a whole group.
    __device__ void put_group(const gr_sorted_run &run, uint32_t group, const Sums &sums) const {
        if (!takes_columns)
            return;
        const uint64_t divisor = is_mean() ? run.end - run.begin : 1;
        if constexpr (Sum::has_states) {
            if (!sums.exact(scale)) {
                GR_EXACT_NO_UNROLL
                for (unsigned v = 0; v < V; ++v)
                    result(group)[v] =
                        Bits(sum_slowly(order(), in + v, p.rows.along_stride, run.begin, run.end, divisor));
                return;
            }
        }
        ColumnPack<Bits, V> bits;
#pragma unroll
        for (unsigned v = 0; v < V; ++v)
            bits.x[v] = sums.column[v].round(scale, divisor);
        put(group, bits);
    }

    // ---- groups of several teams ----

    using Word = unsigned long long;
    __device__ uint64_t place(uint32_t slot, unsigned v) const {
        return uint64_t(slot) * p.columns + line * p.rows.inner + first + v;
    }
    __device__ Word *sum_at(unsigned word, uint64_t place) const {
        return reinterpret_cast<Word *>(p.sums) + word * (uint64_t(p.slots) * p.columns) + place;
    }
    __device__ Word *special_at(uint64_t place) const {
        return reinterpret_cast<Word *>(p.special) + place;
    }
    __device__ Word *state_at(uint64_t place) const {
        return reinterpret_cast<Word *>(p.states) + place * size.words;
    }

    __device__ void add_to_slot(const Sum &sum, uint64_t place, uint32_t rows) const {
        if (sum.minus_zero()) {
            atomicAdd(special_at(place), Word(rows) << 32);
            return;
        }
        int64_t words[Sum::words];
        sum.units(words, scale);
#pragma unroll
        for (unsigned i = 0; i < Sum::words; ++i)
            if (words[i] != 0)
                atomicAdd(sum_at(i, place), Word(words[i]));
    }
    __device__ __noinline__ void add_to_state(unsigned v, uint64_t place, uint32_t begin,
                                              uint32_t end) const {
        uint32_t flags = 0;
        Word *const state = state_at(place);
        GR_EXACT_NO_UNROLL
        for (uint32_t at = begin; at < end; ++at) {
            const gr_exact_decomposed parts = gr_exact_decompose(bits_of(element(order()[at], v)));
            flags |= parts.flags;
            if (parts.value == 0)
                continue;
            int64_t value = parts.value;
            int position = int(parts.position) - 1075 + int(size.below);
            if (position < 0) { // the lowest bits of a float64 are 0 in a float32
                value /= int64_t(1) << -position;
                position = 0;
            }
            const gr_exact_addends pieces = gr_exact_split(value, uint32_t(position));
            for (unsigned k = 0; k < 3; ++k)
                if (pieces.at[k] != 0)
                    atomicAdd(state + position / 32 + k, Word(pieces.at[k]));
        }
        if (flags != 0)
            atomicOr(special_at(place), Word(flags | GR_SORTED_HAS_STATE));
        else
            atomicAdd(special_at(place), Word(end - begin) << 32);
    }

    // The bits of a slot, which is zero afterwards.
    __device__ uint64_t round_slot(uint64_t place, uint32_t rows) const {
        const uint64_t divisor = is_mean() ? rows : 1;
        int64_t words[Sum::words];
#pragma unroll
        for (unsigned i = 0; i < Sum::words; ++i)
            words[i] = int64_t(atomicExch(sum_at(i, place), 0ull));
        if constexpr (!Sum::has_states) {
            return Sum::round_units(words, scale, divisor);
        } else {
            const uint64_t special = atomicExch(special_at(place), 0ull);
            const bool minus_zero = special >> 32 == rows;
            if (special & GR_SORTED_HAS_STATE)
                return round_state(words, place, uint32_t(special), divisor);
            bool zero = true;
#pragma unroll
            for (unsigned i = 0; i < Sum::words; ++i)
                zero = zero && words[i] == 0;
            if (zero)
                return minus_zero ? 1ull << (8 * sizeof(Bits) - 1) : 0;
            return Sum::round_units(words, scale, divisor);
        }
    }
    __device__ __noinline__ uint64_t round_state(const int64_t (&words)[Sum::words], uint64_t place,
                                                 uint32_t flags, uint64_t divisor) const {
        int64_t state[size.words];
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i + 2 < size.words; ++i)
            state[i] = int64_t(atomicExch(state_at(place) + i, 0ull));
        state[size.words - 2] = 0;
        state[size.words - 1] = (flags & (GR_EXACT_NAN | GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY)) |
                                GR_EXACT_NOT_MINUS_ZERO; // an element was not -0
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < Sum::words; ++i) {
            const unsigned at = unsigned(Sum::position(scale, i));
            const gr_exact_addends pieces = gr_exact_split(words[i], at);
            for (unsigned k = 0; k < 3; ++k)
                if (pieces.at[k] != 0)
                    state[at / 32 + k] += pieces.at[k];
        }
        return gr_exact_result(state, size, divisor, Planes<In>::format);
    }

    // Adds the sums of a piece of a group to its slot.
    __device__ __noinline__ void add_piece(uint32_t slot, uint32_t begin, uint32_t end, Sums sums) const {
        if (!takes_columns)
            return;
        const bool exact = sums.exact(scale);
#pragma unroll
        for (unsigned v = 0; v < V; ++v) {
            if constexpr (Sum::has_states)
                if (!exact) {
                    add_to_state(v, place(slot, v), begin, end);
                    continue;
                }
            add_to_slot(sums.column[v], place(slot, v), end - begin);
        }
    }

    // A piece that was added, one per lane of the team.
    struct Piece {
        uint32_t slot, group, rows;
    };
    // Counts the rows of pieces. The team that counts the last rows of a group writes its results.
    __device__ __noinline__ void count_pieces(Piece piece, unsigned count) const {
        const unsigned lane = threadIdx.x & ((1u << p.width_shift) - 1), team = threadIdx.x % 32 - lane;
        __threadfence();
        __syncwarp(mask);
        uint32_t total = 0, added = 1;
        if (lane < count) {
            uint32_t *ticket =
                reinterpret_cast<uint32_t *>(p.tickets) + uint64_t(piece.slot) * p.slices + slice;
            total = reinterpret_cast<const uint32_t *>(p.totals)[piece.slot];
            added = atomicAdd(ticket, piece.rows) + piece.rows;
            if (added == total)
                *ticket = 0;
        }
        __threadfence();
        for (unsigned i = 0; i < count; ++i) {
            const bool last_rows = __shfl_sync(mask, added == total, int(team + i));
            const uint32_t slot = __shfl_sync(mask, piece.slot, int(team + i)),
                           group = __shfl_sync(mask, piece.group, int(team + i)),
                           rows = __shfl_sync(mask, total, int(team + i));
            if (!last_rows || !takes_columns)
                continue;
            ColumnPack<Bits, V> bits;
#pragma unroll
            for (unsigned v = 0; v < V; ++v)
                bits.x[v] = Bits(round_slot(place(slot, v), rows));
            put(group, bits);
        }
    }
};

// How many chunks of a group's rows one team takes, so that few teams meet in the slot of a large group.
inline __device__ uint32_t chunks_together(const gr_sorted_rows_params &p, const gr_sorted_run &run) {
    const uint32_t total = reinterpret_cast<const uint32_t *>(p.totals)[run.slot];
    return max(min(total / p.chunk / GR_SORTED_MAX_TEAMS, GR_SORTED_MAX_PIECE / p.chunk), 1u);
}

// Zeroes the counts of partitions, which no kernel of this call reads any more.
inline __device__ void clear_counts(const gr_sorted_rows_params &p) {
    if (blockIdx.x == 0)
        for (unsigned i = threadIdx.x; i < 1u << p.partitions_shift; i += GR_SORTED_SUM_THREADS)
            reinterpret_cast<uint32_t *>(p.counts)[i] = 0;
}

// The end of the rows of a team whose chunks end at `end`: it takes the rest of a group that it adds up
// alone.
inline __device__ uint32_t end_of_rows(const gr_sorted_run *runs, const uint32_t *run_of, uint32_t end,
                                       uint32_t rows) {
    if (end == rows)
        return end;
    const gr_sorted_run run = runs[run_of[end]];
    return run.slot == GR_SORTED_SHORT && run.begin < end ? run.end : end;
}

template <class In, unsigned V> __device__ void sum_sorted_rows(const gr_sorted_rows_params &p) {
    using Work = SortedRows<In, V>;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const uint32_t *choice = reinterpret_cast<const uint32_t *>(p.choice);
    const auto *runs = reinterpret_cast<const gr_sorted_run *>(p.runs);
    const uint32_t *run_of = reinterpret_cast<const uint32_t *>(p.run_of);
    clear_counts(p);
    const uint64_t team = (blockIdx.x * uint64_t(GR_SORTED_SUM_THREADS) + threadIdx.x) >> p.width_shift;
    const uint32_t chunk = uint32_t(team / p.slices), rows = choice[GR_SORTED_ROWS];
    const uint64_t begin = uint64_t(chunk) * p.chunk;
    if (begin >= rows)
        return;
    const Work work(p, team - uint64_t(chunk) * p.slices, choice[GR_SORTED_EXPONENT]);
    uint32_t end = uint32_t(min(begin + p.chunk, uint64_t(rows))), at = uint32_t(begin), number = run_of[at];
    gr_sorted_run run = runs[number];
    const auto next_of = [&] { // the number of the next run
        return run.group & GR_SORTED_LAST_RUN ? run_of[run.end] : number + 1;
    };
    if (run.slot != GR_SORTED_SHORT && run.begin <= at && run.end >= end) {
        // The whole chunk is of one group. One team takes a few such chunks.
        const uint32_t first = (run.begin + p.chunk - 1) / p.chunk, together = chunks_together(p, run);
        if ((chunk - first) % together != 0)
            return;
        const uint32_t last = run.end == rows ? rows : run.end / p.chunk * p.chunk;
        end = uint32_t(min(begin + uint64_t(together) * p.chunk, uint64_t(last)));
    } else if (run.begin < at && run.slot == GR_SORTED_SHORT) { // of the team of an earlier chunk
        at = run.end;
        if (at >= end)
            return;
        number = next_of();
        run = runs[number];
    }
    const unsigned lane = threadIdx.x & ((1u << p.width_shift) - 1);
    typename Work::Piece piece = {};
    unsigned pieces = 0; // of the lanes of the team
    typename Work::Ring ring = work.ring_of(at, end_of_rows(runs, run_of, end, rows));
    for (;;) {
        const uint32_t upto = run.slot == GR_SORTED_SHORT ? run.end : min(run.end, end);
        const bool more = run.end < end;
        gr_sorted_run next = run;
        if (more) {
            number = next_of();
            next = runs[number];
        }
        const typename Work::Sums sums = work.sums_of(at, upto, ring);
        const uint32_t group = run.group & ~GR_SORTED_LAST_RUN;
        if (run.slot == GR_SORTED_SHORT) {
            work.put_group(run, group, sums);
        } else {
            work.add_piece(run.slot, at, upto, sums);
            if (lane == pieces)
                piece = {run.slot, group, upto - at};
            ++pieces;
        }
        if (pieces >> p.width_shift > 0 || (pieces > 0 && !more)) {
            work.count_pieces(piece, pieces);
            pieces = 0;
        }
        if (!more)
            return;
        at = upto;
        run = next;
    }
}

} // namespace gr::groups
