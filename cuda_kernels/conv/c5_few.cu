// c5_few: few channels, on tensor cores by warps.
//
// What c5 and c7 still cost with few channels: a chunk of 16 bytes has four or eight channels, so with three
// channels much of it is zeros, again for each tap.
// The change: rows of x are in shared memory as in NHWC, where the elements of a row of taps are contiguous:
// 3 channels of 7 taps are 21 numbers, three chunks of a 2-byte dtype. Chunks may have any alignment, because
// mma.sync reads its operands from registers; so a step uses any two chunks, of one row of taps or of two.
// The part of a chunk beyond its row of taps is cleared. Blocks keep their filters, in the order in which the
// fragments use them, and process tile after tile. What limits it now: memory, to which the results are
// written; loads from shared memory, four for each chunk of 16 pixels and one for each product of two.
// Where it shows: tensor-core operations. It supports dilations of one along a row; c5 and c7 compute all
// other convolutions.
// c7_few: the same for 2-byte elements, by other entries.
#include "common/entry.cuh"
#include "common/shared_array.cuh"
#include "common/vec.cuh"
#include "conv/conv.cuh"
#include "matmul/mma.cuh"
#include "matmul/tma.cuh"

using namespace gr::conv;

enum { WARPS = 8, THREADS = 32 * WARPS, PIECE = 16, TILES = 2 }; // tiles of 16 pixels that a warp has at once
static_assert(THREADS == row_c5_few.threads && THREADS == row_c7_few.threads);

// Where the two pieces of a step lie, from a pixel's first element on, and how many elements they have.
struct alignas(16) Step {
    uint32_t first, second, of_first, of_second;
};

template <class T, int FILTERS> struct Few {
    enum { LENGTH = PIECE / sizeof(T), WORD = 4 / sizeof(T), BANK = 2 * FILTERS * PIECE }; // bytes of a step
    typedef Vec<T, 4> Quad;

    const gr_conv_small_c_params &few;
    const gr_conv_params &p;
    unsigned warp, lane, pitch, filter; // elements from pixel to pixel; the first filter
    uint32_t rows, bank;                // in shared memory
    Step *steps;

    __device__ explicit Few(const gr_conv_small_c_params &few)
        : few(few), p(few.conv), warp(threadIdx.x / 32), lane(threadIdx.x % 32), pitch(unsigned(few.pitch)),
          filter(blockIdx.y * FILTERS), rows(shared_address(shared_array<unsigned char>())),
          bank(rows + unsigned(few.rows * few.row_bytes)),
          steps(reinterpret_cast<Step *>(shared_array<unsigned char>() + few.rows * few.row_bytes +
                                         few.k_steps * BANK)) {
    }

    static __device__ uint32_t load(uint32_t at) {
        uint32_t v;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
        return v;
    }
    static __device__ void store(uint32_t at, uint32_t v) {
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
    }
    static __device__ uint4 load_four(uint32_t at) {
        uint4 v;
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(at)
                     : "memory");
        return v;
    }

    // ---- once a block

    // Pieces are numbered row of taps by row of taps.
    __device__ unsigned place_of(unsigned piece) const {
        const unsigned row = piece / unsigned(few.row_vec16s);
        return row * unsigned(p.height.dilation * few.row_bytes) + piece % unsigned(few.row_vec16s) * PIECE;
    }
    __device__ unsigned length_of(unsigned piece) const {
        return min(unsigned(LENGTH),
                   unsigned(p.width.kernel) * pitch - piece % unsigned(few.row_vec16s) * LENGTH);
    }
    __device__ void make_steps() const {
        const unsigned all = unsigned(p.height.kernel * few.row_vec16s);
        for (unsigned i = threadIdx.x; i < few.k_steps; i += THREADS) {
            const bool paired = 2 * i + 1 < all;
            steps[i] = {place_of(2 * i), paired ? place_of(2 * i + 1) : 0, length_of(2 * i),
                        paired ? length_of(2 * i + 1) : 0};
        }
    }

    // The weight of a filter for an element of a piece.
    __device__ T weight(unsigned number, unsigned piece, unsigned i) const {
        const unsigned row = piece / unsigned(few.row_vec16s),
                       at = piece % unsigned(few.row_vec16s) * LENGTH + i;
        const unsigned tap = at / pitch, channel = at % pitch;
        const bool there =
            number < p.filters && row < p.height.kernel && tap < p.width.kernel && channel < p.channels;
        return there ? reinterpret_cast<const T *>(p.w)[conv_offset(p.of_w, number, row, tap, channel)]
                     : T(0.f);
    }
    // As fragments: of 16 filters a lane has four contiguous words, of two products' two pieces each. The
    // filters are distributed so that the results of a lane are four neighbours.
    __device__ uint32_t word_of_filters(unsigned i) const {
        const unsigned second = i % 2, product = i / 2 % 2, to = i / 4 % 32, sixteen = i / 128;
        const unsigned step = sixteen / (FILTERS / 16), column = to / 4;
        const unsigned number =
            filter + sixteen % (FILTERS / 16) * 16 + column / 2 * 4 + product * 2 + column % 2;
        Vec<T, WORD> word;
#pragma unroll
        for (unsigned k = 0; k < WORD; ++k)
            word.at[k] = weight(number, 2 * step + second, to % 4 * WORD + k);
        const uint32_t bits = reinterpret_cast<const uint32_t &>(word);
        return sizeof(T) == 4 ? ptx::cvt_rna_tf32(bits) : bits;
    }
    __device__ void bring_filters() const {
        enum { AT_ONCE = 4 };
        const unsigned all = unsigned(few.k_steps) * (BANK / 4);
        for (unsigned first = threadIdx.x; first < all; first += AT_ONCE * THREADS) {
            uint32_t words[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
                words[i] = word_of_filters(min(first + i * THREADS, all - 1));
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
                if (first + i * THREADS < all)
                    store(bank + 4 * (first + i * THREADS), words[i]);
        }
    }
    // Zeros for what no pixel has: channels that fill up, and the ends of rows.
    __device__ void clear() const {
        for (unsigned i = 4 * threadIdx.x; i < few.rows * few.row_bytes; i += 4 * THREADS)
            store(rows + i, 0);
    }

    // ---- a tile

    static __device__ void put(uint32_t at, T value) {
        if (sizeof(T) == 4)
            store(at, ptx::cvt_rna_tf32(reinterpret_cast<const uint32_t &>(value)));
        else
            asm volatile("st.shared.b16 [%0], %1;" ::"r"(at), "h"(reinterpret_cast<const uint16_t &>(value))
                         : "memory");
    }
    // Warps take turns; of a row neighbouring lanes take what is contiguous.
    __device__ void bring_rows(const T *x, int top, int left) const {
        enum { AT_ONCE = 32 / sizeof(T), TURN = 32 * AT_ONCE };
        const bool channels_last = few.channels_last;
        const unsigned channels = unsigned(p.channels), columns = unsigned(few.columns);
        const unsigned inner = channels_last ? channels : columns, factor = 0xffffffff / inner + 1;
        const unsigned turns = (channels * columns + TURN - 1) / TURN;
        for (unsigned turn = warp; turn < unsigned(few.rows) * turns; turn += WARPS) {
            const unsigned row = turn / turns, first = turn % turns * TURN + lane;
            const bool row_there = unsigned(top + int(row)) < p.height.size;
            const T *line = x + (top + int(row)) * p.of_x.row;
            T some[AT_ONCE];
            uint32_t to[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                const unsigned number = first + 32 * i,
                               outer = inner == 1 ? number : __umulhi(number, factor),
                               rest = number - outer * inner;
                const unsigned channel = channels_last ? rest : outer, column = channels_last ? outer : rest;
                const bool there = row_there && channel < channels && column < columns &&
                                   unsigned(left + int(column)) < p.width.size;
                some[i] =
                    there
                        ? line[(left + int(column)) * int(p.of_x.column) + int(channel) * int(p.of_x.channel)]
                        : T(0.f);
                to[i] = rows + row * unsigned(few.row_bytes) + (column * pitch + channel) * sizeof(T);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
                if (first + 32 * i < channels * columns)
                    put(to[i], some[i]);
        }
    }

    // The bits of this lane's word that are elements of a piece of this length.
    __device__ uint32_t mask(unsigned length) const {
        const unsigned at = lane % 4 * WORD;
        return at + WORD <= length ? 0xffffffff : at < length ? 0xffff : 0;
    }

    // `at`: this lane's words of its tiles' first pixels; eight pixels on, `eight` bytes.
    __device__ void multiply_tiles(const uint32_t (&at)[TILES], uint32_t eight,
                                   float (&sums)[TILES][FILTERS / 8][4]) const {
        uint32_t weights = bank + lane * PIECE;
#pragma unroll 1
        for (unsigned number = 0; number < few.k_steps; ++number, weights += BANK) {
            const Step step = steps[number];
            const uint32_t of_first = mask(step.of_first), of_second = mask(step.of_second);
            uint32_t a[TILES][4];
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                a[i][0] = load(at[i] + step.first) & of_first;
                a[i][1] = load(at[i] + eight + step.first) & of_first;
                a[i][2] = load(at[i] + step.second) & of_second;
                a[i][3] = load(at[i] + eight + step.second) & of_second;
            }
#pragma unroll
            for (int j = 0; j < FILTERS / 16; ++j) {
                const uint4 b = load_four(weights + j * 32 * PIECE);
#pragma unroll
                for (int i = 0; i < TILES; ++i) {
                    ptx::mma_m16n8(T(), a[i], b.x, b.y, sums[i][2 * j]);
                    ptx::mma_m16n8(T(), a[i], b.z, b.w, sums[i][2 * j + 1]);
                }
            }
        }
    }

    // The results of a tile, from this lane's pixel on, and eight pixels on.
    __device__ void store_tile(T *to, int columns, const float (&sums)[FILTERS / 8][4]) const {
        const int there = int(p.filters) - int(filter) - int(lane % 4 * 4);
        const bool vec4s = p.of_out.channel == 1 && p.filters % 4 == 0 && p.out % sizeof(Quad) == 0;
        to += (filter + lane % 4 * 4) * p.of_out.channel;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (8 * h >= columns)
                break;
#pragma unroll
            for (int j = 0; j < FILTERS / 16; ++j) {
                const float *a = sums[2 * j] + 2 * h, *b = sums[2 * j + 1] + 2 * h;
                const Quad vec4 = {T(a[0]), T(a[1]), T(b[0]), T(b[1])};
                T *at = to + 8 * h * p.of_out.column + 16 * j * p.of_out.channel;
                if (vec4s && 16 * j < there)
                    store_at_once(at, vec4);
                else if (!vec4s)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        if (16 * j + i < there)
                            at[i * p.of_out.channel] = vec4.at[i];
            }
        }
    }

    __device__ void make_tile(unsigned number) const {
        const unsigned across = unsigned(few.tiles_x), down = unsigned(few.tiles_y),
                       m16_tiles = unsigned(few.m16_tiles);
        const unsigned picture = number / across / down, left = number % across * m16_tiles * 16,
                       top = number / across % down * unsigned(few.block_rows);
        bring_rows(reinterpret_cast<const T *>(p.x) + picture * p.of_x.outer,
                   int(top * unsigned(p.height.stride)) - int(p.height.padding),
                   int(left * unsigned(p.width.stride)) - int(p.width.padding));
        __syncthreads();
        const uint32_t pixel = unsigned(p.width.stride) * pitch * sizeof(T);
        const unsigned all = m16_tiles * unsigned(few.block_rows);
        for (unsigned first = warp * TILES; first < all; first += WARPS * TILES) {
            uint32_t at[TILES];
            float sums[TILES][FILTERS / 8][4] = {};
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                const unsigned tile = min(first + i, all - 1);
                at[i] = rows + tile / m16_tiles * unsigned(p.height.stride * few.row_bytes) +
                        (tile % m16_tiles * 16 + lane / 4) * pixel + lane % 4 * 4;
            }
            multiply_tiles(at, 8 * pixel, sums);
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                const unsigned row = top + (first + i) / m16_tiles,
                               column = left + (first + i) % m16_tiles * 16 + lane / 4;
                if (first + i < all && row < p.height.out)
                    store_tile(reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, picture, row, column, 0),
                               int(p.width.out) - int(column), sums[i]);
            }
        }
        __syncthreads(); // the rows are no longer read
    }
};

template <class T, int FILTERS> __device__ void conv(const gr_conv_small_c_params &p) {
    pdl_launch_dependents();
    const Few<T, FILTERS> few(p);
    few.make_steps();
    few.clear();
    pdl_wait();
    few.bring_filters();
    __syncthreads();
    for (unsigned number = blockIdx.x; number < p.tiles; number += gridDim.x)
        few.make_tile(number);
}

#define GR_CONV(rung, suffix, T)                                                                             \
    GR_ENTRY((THREADS, 2), rung##_##suffix##_32, __grid_constant__ gr_conv_small_c_params, conv<T, 32>)      \
    GR_ENTRY((THREADS, 2), rung##_##suffix##_64, __grid_constant__ gr_conv_small_c_params, conv<T, 64>)

GR_CONV(c5_few, f32, float)
GR_CONV(c7_few, f16, gr_f16)
GR_CONV(c7_few, bf16, gr_bf16)
