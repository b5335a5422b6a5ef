// Products of a matrix and a vector, which memory limits: every element of the matrix is read once, 16 bytes
// per load. Where the products of a result are contiguous (`rows`), a group of threads takes a row; where the
// results do (`columns`), each thread takes 16 bytes of columns, and eight warps share the products. Few
// results are spread over more blocks by parts of their products: the block that ends last adds up the parts,
// in their order.
#include <type_traits>

#include "common/entry.cuh"
#include "common/vec.cuh"
#include "grid/tickets.cuh"
#include "matmul/accumulators.cuh"
#include "matmul/panel.cuh"

using namespace gr::grid;
using namespace gr::matmul;

enum { THREADS = GR_MATMUL_THREADS, UNROLL = 4, WARPS = THREADS / 32 };
// Loads of columns under way at once: 1 x 8192 x 8192 takes 63 us on an H200, and 71 where the compiler
// orders them.
enum { IN_FLIGHT = 8 };
enum { REST = 8 }; // loads under way at once of what is behind the whole turns of a row

// 16 bytes, or 8, that are not needed again.
template <class P> __device__ P load_once(const P *from) {
    typedef typename std::conditional<sizeof(P) == 16, uint4, uint2>::type Words;
    static_assert(sizeof(P) == sizeof(Words), "a vector");
    const Words piece = __ldcs(reinterpret_cast<const Words *>(from));
    return reinterpret_cast<const P &>(piece);
}

template <class T> struct Line {
    typedef typename Accumulator<T>::type W;
    static constexpr int LENGTH = Vec16<T>::LENGTH;
    const T *matrix, *vector;
    T *out;
    W *sums; // of the parts: a row of results each
    unsigned *tickets;
    uint64_t first, end; // of the products of this part
    int64_t line_stride, vector_stride;

    __device__ W element(uint64_t i) const {
        return Accumulator<T>::of(vector[int64_t(i) * vector_stride]);
    }
};

// How a row is read: by vectors of 16 bytes, by pairs of vectors that are shifted, or by elements.
enum Access { VECTORS, WINDOWS, ELEMENTS };

// Floating-point types of up to 4 bytes: half of a load by elements of 8 bytes is used.
template <class T> constexpr bool HAS_WINDOWS = false;
template <> constexpr bool HAS_WINDOWS<float> = true;
template <> constexpr bool HAS_WINDOWS<gr_f16> = true;
template <> constexpr bool HAS_WINDOWS<gr_bf16> = true;

// Neighbours of a row and of the vector from `at` on; the vector is read by 16 bytes, too, if the row is.
template <Access ACCESS, class T>
__device__ void load_factors(const Line<T> &p, const T *row, uint64_t at, Vec16<T> &of_row,
                             Vec16<T> &of_vector) {
    if (ACCESS == VECTORS) {
        of_row = *reinterpret_cast<const Vec16<T> *>(row + at);
        of_vector = *reinterpret_cast<const Vec16<T> *>(p.vector + at);
    } else if (ACCESS == WINDOWS) {
        const uint64_t address = reinterpret_cast<uint64_t>(row + at);
        const Words *window = reinterpret_cast<const Words *>(address & ~uint64_t(15));
        reinterpret_cast<Words &>(of_row) = shifted<sizeof(T)>(window[0], window[1], unsigned(address) & 15);
        of_vector = *reinterpret_cast<const Vec16<T> *>(p.vector + at);
    } else {
#pragma unroll
        for (int j = 0; j < Vec16<T>::LENGTH; ++j) {
            of_row.element[j] = row[at + j];
            of_vector.element[j] = p.vector[int64_t(at + j) * p.vector_stride];
        }
    }
}

// Adds up one thread's share of the whole turns of a row from i on, which is then the first element behind
// them. Which elements that are does not depend on addresses.
template <Access ACCESS, class T>
__device__ typename Accumulator<T>::type sum_of_turns(const Line<T> &p, const T *row, unsigned lane,
                                                      unsigned lanes, uint64_t &i) {
    typedef typename Accumulator<T>::type W;
    constexpr int LENGTH = Vec16<T>::LENGTH;
    W sums[LENGTH] = {};
    const uint64_t turn = uint64_t(lanes) * LENGTH;
    for (; p.end - i >= UNROLL * turn; i += UNROLL * turn) {
        Vec16<T> of_row[UNROLL], of_vector[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            load_factors<ACCESS>(p, row, i + u * turn + lane * LENGTH, of_row[u], of_vector[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                sums[j] = multiply_add(Accumulator<T>::of(of_row[u].element[j]),
                                       Accumulator<T>::of(of_vector[u].element[j]), sums[j]);
    }
    W sum = W(0);
#pragma unroll
    for (int j = 0; j < LENGTH; ++j)
        sum = add(sum, sums[j]);
    return sum;
}

// Adds up one thread's share of a row: of `lanes` threads the one that is number `lane`. `between`: the row
// lies between others, whose elements windows may contain.
template <class T>
__device__ typename Accumulator<T>::type sum_of_row(const Line<T> &p, const T *row, unsigned lane,
                                                    unsigned lanes, bool between) {
    typedef typename Accumulator<T>::type W;
    uint64_t i = p.first;
    const auto is_aligned = [](const T *at) { return reinterpret_cast<uint64_t>(at) % 16 == 0; };
    W sum;
    if (p.vector_stride == 1 && is_aligned(p.vector + i) && is_aligned(row + i))
        sum = sum_of_turns<VECTORS>(p, row, lane, lanes, i);
    else if (HAS_WINDOWS<T> && between && p.vector_stride == 1 && is_aligned(p.vector + i))
        sum = sum_of_turns < HAS_WINDOWS<T> ? WINDOWS : ELEMENTS > (p, row, lane, lanes, i);
    else
        sum = sum_of_turns<ELEMENTS>(p, row, lane, lanes, i);
    for (i += lane; i < p.end; i += uint64_t(REST) * lanes) {
        W of_row[REST], of_vector[REST];
#pragma unroll
        for (int u = 0; u < REST; ++u) {
            const uint64_t at = min(i + uint64_t(u) * lanes, p.end - 1);
            of_row[u] = Accumulator<T>::of(row[at]);
            of_vector[u] = p.element(at);
        }
#pragma unroll
        for (int u = 0; u < REST; ++u)
            if (i + uint64_t(u) * lanes < p.end)
                sum = multiply_add(of_row[u], of_vector[u], sum);
    }
    return sum;
}

// The sums over groups of threads, 32 of them or the whole block: thread t gets that of group t.
template <class W> __device__ W group_sum(W *slots, W sum, unsigned lanes) {
    slots[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned stride = lanes / 2; stride > 0; stride /= 2) {
        if (threadIdx.x % lanes < stride)
            slots[threadIdx.x] = add(slots[threadIdx.x], slots[threadIdx.x + stride]);
        __syncthreads();
    }
    return slots[threadIdx.x % (THREADS / lanes) * lanes];
}

// Whether this block is the last of the parts of its results; then the sums of all are visible to it.
inline __device__ bool is_last(unsigned *ticket, unsigned parts) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = draw_ticket(ticket, parts) == parts - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Hands over what a part has of `count` results from `first` on, a result a thread; the last adds them up.
template <class T>
__device__ void finish(const Line<T> &p, const gr_matmul_gemv_params &all, uint64_t first, unsigned count,
                       typename Accumulator<T>::type sum) {
    const unsigned parts = unsigned(all.slices), t = threadIdx.x;
    const bool mine = t < count && first + t < all.results;
    if (parts == 1) {
        if (mine)
            p.out[first + t] = Accumulator<T>::back(sum);
        return;
    }
    const unsigned part = blockIdx.x % parts;
    if (mine)
        p.sums[part * all.results + first + t] = sum;
    if (mine)
        __threadfence();
    if (!is_last(p.tickets + blockIdx.x / parts, parts) || !mine)
        return;
    sum = p.sums[first + t];
    for (unsigned i = 1; i < parts; ++i)
        sum = add(sum, p.sums[i * all.results + first + t]);
    p.out[first + t] = Accumulator<T>::back(sum);
}

template <class T> __device__ Line<T> line_of(const gr_matmul_gemv_params &p, uint64_t pair) {
    typedef typename Accumulator<T>::type W;
    const uint64_t tiles = gridDim.x / p.slices, part = blockIdx.x % p.slices;
    const uint64_t first = part * p.slice_length;
    return {reinterpret_cast<const T *>(p.matrix) + stack_offset(p, p.matrix_stack, pair),
            reinterpret_cast<const T *>(p.vector) + stack_offset(p, p.vector_stack, pair),
            reinterpret_cast<T *>(p.out) + pair * p.results,
            reinterpret_cast<W *>(p.sums) + pair * p.slices * p.results,
            reinterpret_cast<unsigned *>(p.tickets) + pair * tiles,
            first,
            min(first + p.slice_length, p.length),
            p.line_stride,
            p.vector_stride};
}

// A row for each warp, or for the block.
template <class T> __device__ void rows(const gr_matmul_gemv_params &p) {
    typedef typename Accumulator<T>::type W;
    const uint64_t pair = matrix_of_block();
    if (pair >= p.pairs)
        return;
    const Line<T> line = line_of<T>(p, pair);
    const unsigned lanes = unsigned(p.threads_per_result), groups = THREADS / lanes,
                   group = threadIdx.x / lanes;
    const uint64_t first = blockIdx.x / p.slices * groups, result = first + group;
    W sum = W(0);
    const bool between = result > 0 && result + 1 < p.results && llabs(p.line_stride) >= Vec16<T>::LENGTH;
    if (result < p.results)
        sum = sum_of_row(line, line.matrix + int64_t(result) * p.line_stride, threadIdx.x % lanes, lanes,
                         between);
    __shared__ alignas(16) unsigned char room[THREADS * sizeof(W)];
    finish(line, p, first, groups, group_sum(reinterpret_cast<W *>(room), sum, lanes));
}

// 32 lanes times up to 16 bytes of columns; the warps share the products.
template <class T> __device__ void columns(const gr_matmul_gemv_params &p) {
    typedef typename Accumulator<T>::type W;
    const uint64_t pair = matrix_of_block();
    if (pair >= p.pairs)
        return;
    constexpr int LENGTH = sizeof(T) == 1 ? 8 : Vec16<T>::LENGTH, WARP_COLUMNS = 32 * LENGTH;
    static_assert(WARP_COLUMNS <= THREADS, "a thread hands over one column");
    typedef Vec<T, LENGTH> Piece;
    __shared__ alignas(16) unsigned char room[WARPS * WARP_COLUMNS * sizeof(W)];
    W(*slots)[WARP_COLUMNS] = reinterpret_cast<W(*)[WARP_COLUMNS]>(room);
    const Line<T> line = line_of<T>(p, pair);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t first = blockIdx.x / p.slices * WARP_COLUMNS;
    const bool whole = rows_aligned(line.matrix, p.line_stride) && first + WARP_COLUMNS <= p.results;
    W sums[LENGTH] = {};
    if (whole) {
        const T *at = line.matrix + first + lane * LENGTH;
        uint64_t i = line.first + warp;
        const auto take = [&](const auto &pieces, const auto &factors) {
#pragma unroll
            for (int u = 0; u < int(sizeof factors / sizeof factors[0]); ++u)
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    sums[j] = multiply_add(Accumulator<T>::of(pieces[u].at[j]), factors[u], sums[j]);
        };
        for (; i + (IN_FLIGHT - 1) * WARPS < line.end; i += IN_FLIGHT * WARPS) {
            Piece pieces[IN_FLIGHT];
            W factors[IN_FLIGHT];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; ++u) {
                pieces[u] =
                    load_once(reinterpret_cast<const Piece *>(at + int64_t(i + u * WARPS) * p.line_stride));
                factors[u] = line.element(i + u * WARPS);
            }
            take(pieces, factors);
        }
        for (; i < line.end; i += WARPS) {
            const Piece pieces[1] = {*reinterpret_cast<const Piece *>(at + int64_t(i) * p.line_stride)};
            const W factors[1] = {line.element(i)};
            take(pieces, factors);
        }
    } else {
        for (uint64_t i = line.first + warp; i < line.end; i += WARPS) {
            const T *row = line.matrix + int64_t(i) * p.line_stride;
            const W factor = line.element(i);
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                if (first + lane + j * 32 < p.results)
                    sums[j] = multiply_add(Accumulator<T>::of(row[first + lane + j * 32]), factor, sums[j]);
        }
    }
#pragma unroll
    for (int j = 0; j < LENGTH; ++j)
        slots[warp][whole ? lane * LENGTH + j : lane + j * 32] = sums[j];
    __syncthreads();
    const unsigned column = threadIdx.x % WARP_COLUMNS;
    W sum = slots[0][column];
    for (int w = 1; w < WARPS; ++w)
        sum = add(sum, slots[w][column]);
    finish(line, p, first, WARP_COLUMNS, sum);
}

#define GR_VECTOR(suffix, T)                                                                                 \
    GR_ENTRY((THREADS), matmul_rows_##suffix, __grid_constant__ gr_matmul_gemv_params, rows<T>)              \
    GR_ENTRY((THREADS), matmul_columns_##suffix, __grid_constant__ gr_matmul_gemv_params, columns<T>)

GR_VECTOR(f32, float)
GR_VECTOR(f64, double)
GR_VECTOR(i32, int32_t)
GR_VECTOR(i64, int64_t)
GR_VECTOR(b8, gr_bool)
GR_VECTOR(i8, int8_t)
GR_VECTOR(i16, int16_t)
GR_VECTOR(u8, uint8_t)
GR_VECTOR(u16, uint16_t)
GR_VECTOR(f16, gr_f16)
GR_VECTOR(bf16, gr_bf16)
GR_VECTOR(c64, gr_c64)
GR_VECTOR(c128, gr_c128)
