// How tiles come to shared memory from m8 on: by copies that go on while the thread that began them computes
// (compute capability 8.0). A tile has a row for each of its DEEP elements along k, of WIDE elements along m
// or n.
#pragma once

#include "matmul_block.cuh"

// Begins to copy BYTES bytes to shared memory, of which the first `there` are read and the others become
// zeros.
template <int BYTES> __device__ void copy_async(void *to, const void *from, unsigned there = BYTES) {
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES),
                     "r"(there)
                     : "memory");
}

// What was begun since the last call becomes a group.
inline __device__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most LATER groups of this thread, the last ones, are under way.
template <int LATER> __device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// Which pieces of a tile a thread copies: THREADS neighbours take neighbouring ones, WIDTH to a row, so that
// a thread's place in its first turn and the way from turn to turn, known when this is compiled, add up.
template <int WIDTH, int THREADS> struct Turns {
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

// One thread's part of the copies of tiles of one matrix. ALONG_K: its elements lie side by side along k, as
// those of A do; they are copied one by one, which transposes them. Else 16 bytes at once, if the rows allow
// that.
template <class T, int DEEP, int WIDE, int THREADS, bool ALONG_K> struct Copies {
    typedef T Tile[DEEP]
                  [WIDE + 16 / sizeof(T)]; // longer than WIDE, so that neighbours along k lie in other banks
    // Elements along k that neighbouring lanes take before they go on to the next row of A.
    static constexpr int SECTOR = 32 / sizeof(T);
    static_assert(DEEP % SECTOR == 0, "a row of A is copied in whole sectors");
    const T *from; // the first element of the block's part of the matrix
    int64_t pitch;
    unsigned wide; // elements of a row of the tile that lie inside the matrix
    bool aligned;

    __device__ Copies(const T *matrix, int64_t pitch, uint64_t first, uint64_t end)
        : from(matrix + int64_t(first) * (ALONG_K ? pitch : 1)), pitch(pitch),
          wide(unsigned(min(end - first, uint64_t(WIDE)))), aligned(!ALONG_K && rows_aligned(matrix, pitch)) {
    }

    // The tile from `step` on along k, which ends at `end`.
    __device__ void begin(Tile &tile, uint64_t step, uint64_t end) const {
        constexpr int LENGTH = ALONG_K ? 1 : Vector<T>::LENGTH;
        const unsigned deep = unsigned(min(end - step, uint64_t(DEEP)));
        const bool whole = wide == WIDE && deep == DEEP;
        if (whole && (ALONG_K || aligned))
            copy<LENGTH, true>(tile, step, deep);
        else if (!ALONG_K && aligned)
            copy<LENGTH, false>(tile, step, deep);
        else
            copy<1, false>(tile, step, deep);
    }

    // Whether all of the block's part is there, and can be copied without a check as far as whole steps go.
    __device__ bool is_whole() const {
        return wide == WIDE && (ALONG_K || aligned);
    }

    // Where this thread's part of the tile from `step` on begins, if it is whole, and the way to that of the
    // next.
    __device__ const T *own(uint64_t step) const {
        typedef Turns<ALONG_K ? SECTOR : WIDE / Vector<T>::LENGTH, THREADS> At;
        return ALONG_K ? from + int64_t(At::row()) * pitch + int64_t(step + At::column())
                       : from + int64_t(step + At::row()) * pitch + At::column() * Vector<T>::LENGTH;
    }
    __device__ int64_t to_next() const {
        return DEEP * (ALONG_K ? 1 : pitch);
    }

    // That part of a whole tile which comes before the products of its element `i` along k.
    __device__ void begin_between(Tile &tile, const T *own, int i) const {
        constexpr int LENGTH = ALONG_K ? 1 : Vector<T>::LENGTH, TURNS = DEEP * WIDE / LENGTH / THREADS;
        static_assert(TURNS * LENGTH * THREADS == DEEP * WIDE, "every thread copies as much");
#pragma unroll
        for (int turn = i * TURNS / DEEP; turn < (i + 1) * TURNS / DEEP; ++turn)
            copy_turn<LENGTH, true>(tile, own, DEEP, turn);
    }

  private:
    template <int LENGTH, bool WHOLE> __device__ void copy(Tile &tile, uint64_t step, unsigned deep) const {
        constexpr int PIECES = DEEP * WIDE / LENGTH;
        typedef Turns<ALONG_K ? SECTOR : WIDE / LENGTH, THREADS> At;
        const T *source =
            ALONG_K ? own(step) : from + int64_t(step + At::row()) * pitch + At::column() * LENGTH;
#pragma unroll
        for (int i = 0; i < (PIECES + THREADS - 1) / THREADS; ++i)
            if (PIECES % THREADS == 0 || threadIdx.x + i * THREADS < PIECES)
                copy_turn<LENGTH, WHOLE>(tile, source, deep, i);
    }

    template <int LENGTH, bool WHOLE>
    __device__ void copy_turn(Tile &tile, const T *source, unsigned deep, int turn) const {
        constexpr int BYTES = LENGTH * sizeof(T);
        // ALONG_K a turn's row is one of A, of which it takes a sector; the next sectors follow after all
        // rows.
        typedef Turns<ALONG_K ? SECTOR : WIDE / LENGTH, THREADS> At;
        const unsigned row = ALONG_K ? At::column() : At::row();
        const unsigned column = ALONG_K ? At::row() : At::column() * LENGTH;
        const unsigned down = ALONG_K ? At::later_row(turn) / WIDE * SECTOR : At::later_row(turn);
        const unsigned across = ALONG_K ? At::later_row(turn) % WIDE : At::later_column(turn) * LENGTH;
        unsigned there = BYTES;
        if (!WHOLE)
            there = row + down < deep && column + across < wide
                        ? min(wide - column - across, LENGTH) * unsigned(sizeof(T))
                        : 0;
        copy_async<BYTES>(&tile[row][column] + down * (WIDE + 16 / sizeof(T)) + across,
                          source + (ALONG_K ? across * pitch + down : down * pitch + across), there);
    }
};

// Where a lane's results lie among its warp's, eight lanes down and four across. A load of 16 bytes from
// shared memory takes half the wavefronts where each two neighbours, or each two lanes next but one, want the
// same: the former is so down the warp's tile, the latter across.
inline __device__ unsigned lane_down() {
    return threadIdx.x / 2 % 8;
}
inline __device__ unsigned lane_across() {
    return threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2;
}

// The ring that m8 teaches, for the rungs after it: the tiles of STAGES steps along k, in shared memory.
// TURNED: the elements of a column lie side by side, and the pitch leads from one column to the next.
template <class T, int ROWS, int COLUMNS, int DEEP, int THREADS, bool A_TURNED = false, bool B_TURNED = false>
struct Ring {
    typedef Copies<T, DEEP, ROWS, THREADS, !A_TURNED> OfA;
    typedef Copies<T, DEEP, COLUMNS, THREADS, B_TURNED> OfB;
    typename OfA::Tile a[2];
    typename OfB::Tile b[2];

    // Has `multiply` take the tiles of A and of B of each step from `first` to `end`, of the block's rows and
    // columns. What it gets as its third argument it calls before the products of each element along k: where
    // all that the block takes is whole, that begins the copies of the next step, and the loop has no
    // branches among its products.
    template <class F>
    __device__ void each_step(const Matrices<T> &p, uint64_t first_row, uint64_t first_column, uint64_t first,
                              uint64_t end, F multiply) {
        const OfA of_a(p.a, p.a_row, first_row, p.m);
        const OfB of_b(p.b, p.b_row, first_column, p.n);
        if (of_a.is_whole() && of_b.is_whole() && (end - first) % DEEP == 0)
            run<true>(of_a, of_b, first, end, multiply);
        else
            run<false>(of_a, of_b, first, end, multiply);
    }

  private:
    template <bool WHOLE, class F>
    __device__ void run(const OfA &of_a, const OfB &of_b, uint64_t first, uint64_t end, F multiply) {
        const auto begin = [&](uint64_t step, unsigned stage) {
            if (step < end) {
                of_a.begin(a[stage], step, end);
                of_b.begin(b[stage], step, end);
            }
            commit_copies();
        };
        begin(first, 0);
        const T *next_a = of_a.own(first), *next_b = of_b.own(first);
        unsigned now = 0;
        for (uint64_t step = first; step < end; step += DEEP, now ^= 1) {
            wait_for_copies<0>();
            __syncthreads();
            if (!WHOLE)
                begin(step + DEEP, now ^ 1);
            // Behind the last step that one comes again, for nobody, rather than a branch.
            const bool more = step + DEEP < end;
            next_a += more ? of_a.to_next() : 0;
            next_b += more ? of_b.to_next() : 0;
            multiply(a[now], b[now], [&](int i) {
                if (WHOLE) {
                    of_a.begin_between(a[now ^ 1], next_a, i);
                    of_b.begin_between(b[now ^ 1], next_b, i);
                }
            });
            if (WHOLE)
                commit_copies();
        }
        wait_for_copies<0>();
    }
};

// The products that m9 teaches: forth along a row and back along the next.
template <class T, int R, int S>
__device__ void add_products_serpentine(const T (&down)[R], const T (&across)[S], T (&sums)[R][S]) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < S; ++j) {
            const int s = r % 2 ? S - 1 - j : j;
            sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
        }
}

// Multiplies a thread's results by one, which the compiler does not know, so that they may lie in other
// registers than those in which they are stored.
template <class T, int R, int S> __device__ void free_of_store(T (&sums)[R][S]) {
    const T one = T(blockDim.z);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; ++s)
            sums[r][s] *= one;
}

// A thread's results to a tile in shared memory, whose rows are PITCH elements long.
template <int PITCH, int DOWN, int ACROSS, class T, int R, int S>
__device__ void store_to_tile(T *tile, const T (&sums)[R][S]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; s += LENGTH) {
            Vector<T> v;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                v.element[j] = sums[r][s + j];
            *reinterpret_cast<Vector<T> *>(tile + (r / 4 * DOWN + r % 4) * PITCH + s / 4 * ACROSS + s % 4) =
                v;
        }
}
