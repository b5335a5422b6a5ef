// Copies of tiles to shared memory by cp.async, which go on while the threads that began them compute
// (compute capability 8.0), from m8 on. A tile has a row for each of its TILE_K elements along k, of TILE_MN
// elements along m or n.
#pragma once

#include "common/ptx.cuh"
#include "matmul/block.cuh"

namespace gr::matmul {

// The pieces of a tile that a thread copies: THREADS threads take neighbouring pieces, WIDTH per row. The
// piece of a later turn is the piece of the first turn plus an offset that is known at compile time.
template <int WIDTH, int THREADS> struct CopyTurns {
    static_assert(WIDTH % THREADS == 0 || THREADS % WIDTH == 0,
                  "a turn ends with a row, or a row with a turn");
    static __device__ unsigned row() {
        return THREADS > WIDTH ? threadIdx.x / WIDTH : 0;
    }
    static __device__ unsigned column() {
        return THREADS > WIDTH ? threadIdx.x % WIDTH : threadIdx.x;
    }
    static constexpr __device__ unsigned later_row(int turn) {
        return turn * THREADS / WIDTH;
    }
    static constexpr __device__ unsigned later_column(int turn) {
        return turn * THREADS % WIDTH;
    }
};

// One thread's part of the copies of tiles of one matrix. ALONG_K: its elements are contiguous along k, as
// those of A do; they are copied one by one, which transposes them. Else 16 bytes at once, if the rows allow
// that.
template <class T, int TILE_K, int TILE_MN, int THREADS, bool ALONG_K> struct Copies {
    typedef T Tile[TILE_K][TILE_MN + 16 / sizeof(T)]; // longer than TILE_MN, so that neighbours along k are
                                                      // in different banks
    // Elements along k that neighbouring lanes take before they go on to the next row of A.
    static constexpr int SECTOR = 32 / sizeof(T);
    static_assert(TILE_K % SECTOR == 0, "a row of A is copied in whole sectors");
    const T *from; // the first element of the block's part of the matrix
    int64_t pitch;
    unsigned valid_mn; // elements of a row of the tile that lie inside the matrix
    bool aligned; // rows are whole pieces of 16 bytes: otherwise the last piece would reach beyond the matrix

    __device__ Copies(const T *matrix, int64_t pitch, uint64_t first, uint64_t end)
        : from(matrix + int64_t(first) * (ALONG_K ? pitch : 1)), pitch(pitch),
          valid_mn(unsigned(min(end - first, uint64_t(TILE_MN)))),
          aligned(!ALONG_K && rows_aligned(matrix, pitch) && valid_mn % Vec16<T>::LENGTH == 0) {
    }

    // The tile from `step` on along k, which ends at `end`.
    __device__ void begin(Tile &tile, uint64_t step, uint64_t end) const {
        constexpr int LENGTH = ALONG_K ? 1 : Vec16<T>::LENGTH;
        const unsigned valid_k = unsigned(min(end - step, uint64_t(TILE_K)));
        const bool whole = valid_mn == TILE_MN && valid_k == TILE_K;
        if (whole && (ALONG_K || aligned))
            copy<LENGTH, true>(tile, step, valid_k);
        else if (!ALONG_K && aligned)
            copy<LENGTH, false>(tile, step, valid_k);
        else
            copy<1, false>(tile, step, valid_k);
    }

  private:
    template <int LENGTH, bool WHOLE>
    __device__ void copy(Tile &tile, uint64_t step, unsigned valid_k) const {
        constexpr int PIECES = TILE_K * TILE_MN / LENGTH;
        typedef CopyTurns<ALONG_K ? SECTOR : TILE_MN / LENGTH, THREADS> At;
        const T *source = ALONG_K ? from + int64_t(At::row()) * pitch + int64_t(step + At::column())
                                  : from + int64_t(step + At::row()) * pitch + At::column() * LENGTH;
#pragma unroll
        for (int i = 0; i < (PIECES + THREADS - 1) / THREADS; ++i)
            if (PIECES % THREADS == 0 || threadIdx.x + i * THREADS < PIECES)
                copy_turn<LENGTH, WHOLE>(tile, source, valid_k, i);
    }

    template <int LENGTH, bool WHOLE>
    __device__ void copy_turn(Tile &tile, const T *source, unsigned valid_k, int turn) const {
        constexpr int BYTES = LENGTH * sizeof(T);
        // ALONG_K a turn's row is one of A, of which it takes a sector; the next sectors follow after all
        // rows.
        typedef CopyTurns<ALONG_K ? SECTOR : TILE_MN / LENGTH, THREADS> At;
        const unsigned row = ALONG_K ? At::column() : At::row();
        const unsigned column = ALONG_K ? At::row() : At::column() * LENGTH;
        const unsigned k_offset = ALONG_K ? At::later_row(turn) / TILE_MN * SECTOR : At::later_row(turn);
        const unsigned mn_offset = ALONG_K ? At::later_row(turn) % TILE_MN : At::later_column(turn) * LENGTH;
        unsigned there = BYTES;
        if (!WHOLE)
            there = row + k_offset < valid_k && column + mn_offset < valid_mn ? BYTES : 0;
        ptx::cp_async<BYTES>(&tile[row][column] + k_offset * (TILE_MN + 16 / sizeof(T)) + mn_offset,
                             source + (ALONG_K ? mn_offset * pitch + k_offset : k_offset * pitch + mn_offset),
                             there);
    }
};

// The products that m9 teaches: forth along a row and back along the next.
template <class T, int R, int S>
__device__ void add_products_serpentine(const T (&frag_a)[R], const T (&frag_b)[S], T (&sums)[R][S]) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < S; ++j) {
            const int s = r % 2 ? S - 1 - j : j;
            sums[r][s] = multiply_add(frag_a[r], frag_b[s], sums[r][s]);
        }
}

} // namespace gr::matmul
