// copy: elements unchanged, in C order. If elements of the copy come from runs of neighbours, a thread writes
// 16 bytes at once, from two vectors if their alignment differs. If neighbours in the copy are far apart in
// the source, as in a transposed matrix, reads or writes along one side would touch a sector of 32 bytes for
// each element: a block takes a tile, which it transposes in shared memory. The rest is copied element by
// element.
#include "common/entry.cuh"
#include "common/vec.cuh"
#include "reduce/general/copied.cuh"

using namespace gr::reduce;

template <unsigned BYTES> struct Item;
template <> struct Item<1> { using T = uint8_t; };
template <> struct Item<2> { using T = uint16_t; };
template <> struct Item<4> { using T = uint32_t; };
template <> struct Item<8> { using T = uint64_t; };
template <> struct Item<16> { using T = Vec<uint64_t, 2>; };

template <unsigned BYTES> __device__ typename Item<BYTES>::T &item_at(uint64_t address) {
    return *reinterpret_cast<typename Item<BYTES>::T *>(address);
}

// ---- runs ----

constexpr unsigned WORDS = GR_COPY_VECTOR / 4;
using Words = Vec<uint32_t, WORDS>;

__device__ Words &words_at(uint64_t address) {
    return *reinterpret_cast<Words *>(address);
}

// Sixteen bytes from byte number `shift` of the first of two vectors on.
__device__ Words joined(const Words &first, const Words &second, unsigned shift) {
    uint32_t words[2 * WORDS];
#pragma unroll
    for (unsigned i = 0; i < WORDS; ++i) {
        words[i] = first.at[i];
        words[i + WORDS] = second.at[i];
    }
#pragma unroll
    for (unsigned by = 2; by > 0; by /= 2)
        if (shift & 4 * by)
#pragma unroll
            for (unsigned i = 0; i + by < 2 * WORDS; ++i)
                words[i] = words[i + by];
    const unsigned bytes = 0x3210 + 0x1111 * (shift % 4);
    Words made;
#pragma unroll
    for (unsigned i = 0; i < WORDS; ++i)
        made.at[i] = __byte_perm(words[i], words[i + 1], bytes);
    return made;
}

// Sixteen bytes of the copy, or what is left of it, element by element: of the end of a run, and of the next.
template <unsigned BYTES> __device__ void copy_ends(const gr_copy_params &p, uint64_t at) {
    const uint64_t run = quotient(at, p.extent[0], p.by[0]);
    uint64_t within = at - run * p.extent[0], next = run, from = 0;
#pragma unroll 1
    for (unsigned i = 0; i < GR_COPY_VECTOR && at + i < p.count; i += BYTES) {
        if (i == 0 || within == p.extent[0]) {
            within = i == 0 ? within : 0;
            uint64_t number[] = {next++}, begin[] = {p.in}, none[] = {0};
            go_along<1>(p, number, begin, none);
            from = begin[0];
        }
        item_at<BYTES>(p.out + at + i) = item_at<BYTES>(from + within);
        within += BYTES;
    }
}

template <unsigned BYTES> __device__ void copy_runs(const gr_copy_params &p) {
    const uint64_t block = uint64_t(blockIdx.x) * (GR_COPY_ITEMS_PER_THREAD * GR_COPY_THREADS) + threadIdx.x;
    const uint64_t low = p.in + uint64_t(p.low), high = p.in + uint64_t(p.high);
    uint64_t run[GR_COPY_ITEMS_PER_THREAD], from[GR_COPY_ITEMS_PER_THREAD],
        none[GR_COPY_ITEMS_PER_THREAD] = {};
    bool whole[GR_COPY_ITEMS_PER_THREAD];
#pragma unroll
    for (unsigned i = 0; i < GR_COPY_ITEMS_PER_THREAD; ++i) {
        const uint64_t at = (block + i * GR_COPY_THREADS) * GR_COPY_VECTOR;
        run[i] = quotient(at, p.extent[0], p.by[0]);
        from[i] = p.in + at - run[i] * p.extent[0];
        whole[i] = at < p.count && from[i] - p.in + GR_COPY_VECTOR <= p.extent[0];
    }
    go_along<1>(p, run, from, none);
    Words first[GR_COPY_ITEMS_PER_THREAD], second[GR_COPY_ITEMS_PER_THREAD];
    unsigned shift[GR_COPY_ITEMS_PER_THREAD];
#pragma unroll
    for (unsigned i = 0; i < GR_COPY_ITEMS_PER_THREAD; ++i) {
        shift[i] = unsigned(from[i] % GR_COPY_VECTOR);
        const uint64_t begin = from[i] - shift[i];
        const uint64_t end = begin + (shift[i] > 0 ? 2 : 1) * GR_COPY_VECTOR;
        whole[i] = whole[i] && begin >= low && end <= high;
        if (whole[i]) {
            first[i] = words_at(begin);
            second[i] = words_at(end - GR_COPY_VECTOR);
        }
    }
    unsigned left = 0;
#pragma unroll
    for (unsigned i = 0; i < GR_COPY_ITEMS_PER_THREAD; ++i)
        if (whole[i])
            words_at(p.out + (block + i * GR_COPY_THREADS) * GR_COPY_VECTOR) =
                joined(first[i], second[i], shift[i]);
        else
            left |= 1 << i;
#pragma unroll 1
    for (unsigned i = 0; left >> i > 0; ++i)
        if (left >> i & 1)
            copy_ends<BYTES>(p, (block + i * GR_COPY_THREADS) * GR_COPY_VECTOR);
}

// ---- single elements ----

template <unsigned BYTES> __device__ void copy_each(const gr_copy_params &p) {
    constexpr unsigned EACH = BYTES < 4 ? GR_COPY_NARROW_ITEMS_PER_THREAD : GR_COPY_ITEMS_PER_THREAD;
    const uint64_t block = uint64_t(blockIdx.x) * (EACH * GR_COPY_THREADS) + threadIdx.x;
    uint64_t from[EACH], to[EACH];
    addresses<GR_COPY_THREADS>(p, block, from, to);
    for (uint64_t inner = 0; inner < p.inner; ++inner) {
        typename Item<BYTES>::T loaded[EACH];
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            if (block + i * GR_COPY_THREADS < p.count)
                loaded[i] = item_at<BYTES>(from[i] + inner * uint64_t(p.inner_in));
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            if (block + i * GR_COPY_THREADS < p.count)
                item_at<BYTES>(to[i] + inner * uint64_t(p.inner_out)) = loaded[i];
    }
}

// ---- tiles ----

// The part of all elements that a block takes: where it begins, and its first element in both directions.
struct TileOrigin {
    uint64_t in, out, across, down;
};

__device__ TileOrigin tile_origin(const gr_transpose_params &p, unsigned tile_across, unsigned tile_down) {
    const unsigned row = blockIdx.x / p.tiles_across;
    unsigned outer = row / p.tiles_down;
    TileOrigin place = {p.in, p.out, uint64_t(blockIdx.x - row * p.tiles_across) * tile_across,
                        uint64_t(row - outer * p.tiles_down) * tile_down};
#pragma unroll
    for (unsigned d = 0; d < GR_TRANSPOSE_OUTER_DIMS; ++d) {
        const unsigned rest = outer / p.outer[d], at = outer - rest * p.outer[d];
        place.in += at * uint64_t(p.outer_in[d]);
        place.out += at * uint64_t(p.outer_out[d]);
        outer = rest;
    }
    return place;
}

template <unsigned BYTES> __device__ void turn_elements(const gr_transpose_params &p) {
    // Rows are a word longer than the tile, or an element, so that columns lie in all banks.
    constexpr unsigned EDGE = BYTES == 16 ? GR_TRANSPOSE_WIDE_EDGE : GR_TRANSPOSE_EDGE,
                       PAD = BYTES < 4 ? 4 / BYTES : 1;
    constexpr unsigned ROWS = GR_COPY_THREADS / 32, EACH = EDGE / ROWS, WIDE = EDGE / 32;
    using T = typename Item<BYTES>::T;
    __shared__ T tile[EDGE][EDGE + PAD];
    const TileOrigin place = tile_origin(p, EDGE, EDGE);
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32;
    T loaded[EACH][WIDE] = {};
#pragma unroll
    for (unsigned i = 0; i < EACH; ++i)
#pragma unroll
        for (unsigned j = 0; j < WIDE; ++j) {
            const uint64_t across = place.across + i * ROWS + row, down = place.down + j * 32 + lane;
            if (across < p.across && down < p.down)
                loaded[i][j] =
                    item_at<BYTES>(place.in + across * uint64_t(p.in_across) + down * uint64_t(p.in_down));
        }
#pragma unroll
    for (unsigned i = 0; i < EACH; ++i)
#pragma unroll
        for (unsigned j = 0; j < WIDE; ++j)
            tile[i * ROWS + row][j * 32 + lane] = loaded[i][j];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < EACH; ++i)
#pragma unroll
        for (unsigned j = 0; j < WIDE; ++j) {
            const uint64_t down = place.down + i * ROWS + row, across = place.across + j * 32 + lane;
            if (across < p.across && down < p.down)
                item_at<BYTES>(place.out + down * uint64_t(p.out_down) + across * BYTES) =
                    tile[j * 32 + lane][i * ROWS + row];
        }
}

// Elements of one byte or two would take too many loads. A thread takes a square of as many vectors as each
// has elements, and turns it over in its registers, where two elements or four share a word.
template <unsigned BYTES, unsigned EDGE, unsigned SIZE>
__device__ void turn_square(uint32_t (&square)[EDGE][SIZE]) {
    uint32_t turned[EDGE][SIZE];
    if constexpr (BYTES == 2) {
#pragma unroll
        for (unsigned i = 0; i < EDGE; i += 2)
#pragma unroll
            for (unsigned w = 0; w < SIZE; ++w) {
                turned[2 * w][i / 2] = __byte_perm(square[i][w], square[i + 1][w], 0x5410);
                turned[2 * w + 1][i / 2] = __byte_perm(square[i][w], square[i + 1][w], 0x7632);
            }
    } else {
#pragma unroll
        for (unsigned i = 0; i < EDGE; i += 4)
#pragma unroll
            for (unsigned w = 0; w < SIZE; ++w) {
                const uint32_t low = __byte_perm(square[i][w], square[i + 1][w], 0x5140);
                const uint32_t high = __byte_perm(square[i][w], square[i + 1][w], 0x7362);
                const uint32_t next_low = __byte_perm(square[i + 2][w], square[i + 3][w], 0x5140);
                const uint32_t next_high = __byte_perm(square[i + 2][w], square[i + 3][w], 0x7362);
                turned[4 * w][i / 4] = __byte_perm(low, next_low, 0x5410);
                turned[4 * w + 1][i / 4] = __byte_perm(low, next_low, 0x7632);
                turned[4 * w + 2][i / 4] = __byte_perm(high, next_high, 0x5410);
                turned[4 * w + 3][i / 4] = __byte_perm(high, next_high, 0x7632);
            }
    }
#pragma unroll
    for (unsigned i = 0; i < EDGE; ++i)
#pragma unroll
        for (unsigned w = 0; w < SIZE; ++w)
            square[i][w] = turned[i][w];
}

// DOWN elements of a tile are contiguous in what is read, ACROSS in the copy; a vector has EDGE of them,
// and LANES threads of a warp are contiguous in what is read.
template <unsigned BYTES, unsigned DOWN, unsigned ACROSS, unsigned EDGE, unsigned LANES>
__device__ void turn_vectors(const gr_transpose_params &p) {
    constexpr unsigned SIZE = EDGE * BYTES / 4, COLUMNS = DOWN / EDGE, ROWS = ACROSS / EDGE;
    static_assert(COLUMNS * ROWS == GR_TRANSPOSE_VECTOR_THREADS, "a square each");
    using Row = Vec<uint32_t, SIZE>;
    __shared__ Row tile[DOWN][ROWS];
    const TileOrigin place = tile_origin(p, ACROSS, DOWN);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned column = lane % LANES + warp % (COLUMNS / LANES) * LANES;
    const unsigned row = lane / LANES + warp / (COLUMNS / LANES) * (32 / LANES);
    if (place.across + row * EDGE < p.across && place.down + column * EDGE < p.down) {
        const uint64_t from = place.in + (place.across + row * EDGE) * uint64_t(p.in_across) +
                              (place.down + column * EDGE) * BYTES;
        uint32_t square[EDGE][SIZE];
#pragma unroll
        for (unsigned i = 0; i < EDGE; ++i) {
            const Row loaded = *reinterpret_cast<const Row *>(from + i * uint64_t(p.in_across));
#pragma unroll
            for (unsigned w = 0; w < SIZE; ++w)
                square[i][w] = loaded.at[w];
        }
        turn_square<BYTES>(square);
#pragma unroll
        for (unsigned i = 0; i < EDGE; ++i) {
            Row made;
#pragma unroll
            for (unsigned w = 0; w < SIZE; ++w)
                made.at[w] = square[i][w];
            tile[column * EDGE + i][row ^ column % 8] = made; // threads side by side write to all banks
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < EDGE; ++i) {
        const unsigned at = i * GR_TRANSPOSE_VECTOR_THREADS + threadIdx.x, down = at / ROWS,
                       across = at % ROWS;
        if (place.across + across * EDGE < p.across && place.down + down < p.down)
            *reinterpret_cast<Row *>(place.out + (place.down + down) * uint64_t(p.out_down) +
                                     (place.across + across * EDGE) * BYTES) =
                tile[down][across ^ down / EDGE % 8];
    }
}

#define GR_COPY_OF(bytes)                                                                                    \
    GR_ENTRY((GR_COPY_THREADS), copy_each_##bytes, gr_copy_params, copy_each<bytes>)                         \
    GR_ENTRY((GR_COPY_THREADS), copy_turned_##bytes, gr_transpose_params, turn_elements<bytes>)
GR_COPY_OF(1)
GR_COPY_OF(2)
GR_COPY_OF(4)
GR_COPY_OF(8)
GR_COPY_OF(16)
GR_ENTRY((GR_COPY_THREADS), copy_runs_1, gr_copy_params, copy_runs<1>)
GR_ENTRY((GR_COPY_THREADS), copy_runs_2, gr_copy_params, copy_runs<2>)
GR_ENTRY((GR_COPY_THREADS), copy_runs_4, gr_copy_params, copy_runs<4>)
GR_ENTRY((GR_TRANSPOSE_VECTOR_THREADS), copy_turned_vectors_1, gr_transpose_params,
         turn_vectors<1, GR_TRANSPOSE_BYTES_DOWN, GR_TRANSPOSE_BYTES_ACROSS, 8, 16>)
GR_ENTRY((GR_TRANSPOSE_VECTOR_THREADS), copy_turned_vectors_2, gr_transpose_params,
         turn_vectors<2, GR_TRANSPOSE_PAIRS_DOWN, GR_TRANSPOSE_PAIRS_ACROSS, 8, 8>)
