// The main loop over k of m9 and m10: tiles of later steps come to a pipeline in shared memory by cp.async,
// and the copies begin between the products of the present step, in a loop without branches.
#pragma once

#include "matmul/cp_async_pipeline.cuh"

namespace gr::matmul {

// A block's tile of C. At the edges of a matrix that is larger than a tile it is moved back over its
// neighbours, so that it is whole, except for up to three columns that keep it on a boundary of 16 bytes; it
// stores the results from `own_row` and `own_column` on.
struct ShiftedTileCoord {
    uint64_t row, column, own_row, own_column;
};

template <int ROWS, int COLUMNS, class T>
__device__ ShiftedTileCoord shifted_tile_coord(const Matrices<T> &p, Block block) {
    constexpr uint64_t LENGTH = Vec16<T>::LENGTH;
    const uint64_t row = block.y * ROWS, column = block.x * COLUMNS;
    const uint64_t last = (p.n - COLUMNS + LENGTH - 1) / LENGTH * LENGTH;
    return {p.m < ROWS ? 0 : min(row, p.m - ROWS), p.n < COLUMNS ? 0 : min(column, last), row, column};
}

// A block's steps of TILE_K elements along k, of which the very first of all is the short one: whatever k is,
// all others are whole.
struct KRange {
    uint64_t first; // where they begin
    unsigned steps;
    int first_length; // elements of the first

    template <int TILE_K> static __device__ KRange of(uint64_t k, unsigned part, unsigned parts) {
        const unsigned all = unsigned((k + TILE_K - 1) / TILE_K);
        const unsigned each = parts == 1 ? all : all / parts, more = all - each * parts;
        const unsigned before = each * part + min(part, more),
                       short_by = unsigned(all * uint64_t(TILE_K) - k);
        return {before == 0 ? 0 : before * uint64_t(TILE_K) - short_by, each + (part < more ? 1 : 0),
                before == 0 ? TILE_K - int(short_by) : TILE_K};
    }
    // The steps of all parts up to a part and with it.
    static __device__ unsigned end_of_part(unsigned all, unsigned part, unsigned parts) {
        return parts == 1 ? all : all / parts * (part + 1) + min(part + 1, all % parts);
    }
};

// One thread's part of the copies of tiles of TILE_K elements along k by TILE_MN along m or n, an element at
// once. A turn of all threads brings SECTOR by TURN_MN elements, neighbours in memory by neighbouring
// threads. ANYHOW: neighbours need not lie along k, and the matrix may be narrower than a tile; zeros take
// the place of the rest.
template <class T, int TILE_K, int TILE_MN, int THREADS, bool ANYHOW> struct Elements {
    enum { SECTOR = 8, TURN_MN = THREADS / SECTOR, PITCH = TILE_MN + 16 / sizeof(T) };
    enum { TURNS = TILE_K * TILE_MN / THREADS, TURNS_MN = TILE_MN / TURN_MN, CHECKED = ANYHOW };
    static_assert(TILE_K % SECTOR == 0 && TILE_MN % TURN_MN == 0, "turns fill a tile");
    const char *from;
    int64_t turn_bytes, k_step; // of elements that many apart, and elements from one along k to the next
    unsigned at;
    int k, left; // elements from this thread's first one to the edge

    // From element `first` on, of `end`, and from `first_k` on along k; `step` leads along m or n.
    __device__ Elements(const T *matrix, int64_t step, int64_t k_step, uint64_t first, uint64_t end,
                        uint64_t first_k)
        : turn_bytes(step * int64_t(TURN_MN * sizeof(T))), k_step(k_step) {
        const bool along_k = !ANYHOW || k_step == 1;
        const unsigned t = threadIdx.x, mn = along_k ? t / SECTOR : t % TURN_MN;
        k = int(along_k ? t % SECTOR : t / TURN_MN);
        left = int(min(end - first, uint64_t(TILE_MN))) - int(mn);
        at = unsigned(k) * PITCH + mn;
        from = reinterpret_cast<const char *>(matrix + int64_t(first + mn) * step) + k_bytes(first_k + k);
    }

    __device__ int64_t k_bytes(int64_t elements) const {
        return elements * int64_t(sizeof(T)) * (ANYHOW ? k_step : 1);
    }

    // The turn's part of the tile whose first element `source` is this thread's; `valid_k`: of a tile that
    // ends there along k.
    template <bool SHORT> __device__ void copy(T *tile, const char *source, int turn, int valid_k) const {
        const int k_offset = turn / TURNS_MN * SECTOR, mn_offset = turn % TURNS_MN * TURN_MN;
        bool there = true;
        if (CHECKED)
            there = mn_offset < left;
        if (SHORT)
            there = there && k + k_offset < valid_k;
        ptx::cp_async<sizeof(T)>(tile + at + k_offset * PITCH + mn_offset,
                                 source + turn % TURNS_MN * turn_bytes + k_bytes(k_offset),
                                 there ? sizeof(T) : 0);
    }
};

// The same 16 bytes at once, of rows along m or n that are aligned.
template <class T, int TILE_K, int TILE_MN, int THREADS> struct Vectors {
    enum { LENGTH = Vec16<T>::LENGTH, VECS_MN = TILE_MN / LENGTH, ROWS = THREADS / VECS_MN };
    enum { TURNS = TILE_K / ROWS, PITCH = TILE_MN + LENGTH, CHECKED = false };
    static_assert(THREADS % VECS_MN == 0 && TILE_K % ROWS == 0, "turns fill a tile");
    const char *from;
    int64_t k_step;
    unsigned at;
    int k;

    __device__ Vectors(const T *matrix, int64_t k_step, uint64_t first, uint64_t first_k)
        : k_step(k_step), k(int(threadIdx.x / VECS_MN)) {
        const unsigned mn = threadIdx.x % VECS_MN * LENGTH;
        at = unsigned(k) * PITCH + mn;
        from = reinterpret_cast<const char *>(matrix + first + mn) + k_bytes(first_k + k);
    }

    __device__ int64_t k_bytes(int64_t elements) const {
        return elements * int64_t(sizeof(T)) * k_step;
    }

    template <bool SHORT> __device__ void copy(T *tile, const char *source, int turn, int valid_k) const {
        const bool there = !SHORT || k + turn * ROWS < valid_k;
        ptx::cp_async<16>(tile + at + turn * ROWS * PITCH, source + k_bytes(turn * ROWS), there ? 16 : 0);
    }
};

// The same of rows along k: the tile has a row for each of TILE_N columns of B.
template <class T, int TILE_K, int TILE_N, int THREADS> struct KVectors {
    enum { LENGTH = Vec16<T>::LENGTH, VECS_K = TILE_K / LENGTH, ROWS = THREADS / VECS_K };
    enum { TURNS = TILE_N / ROWS, PITCH = TILE_K + LENGTH, CHECKED = false };
    static_assert(THREADS % VECS_K == 0 && TILE_N % ROWS == 0, "turns fill a tile");
    const char *from;
    int64_t turn_bytes;
    unsigned at;
    int k;

    __device__ KVectors(const T *matrix, int64_t step, uint64_t first, uint64_t first_k)
        : turn_bytes(step * int64_t(ROWS * sizeof(T))), k(int(threadIdx.x % VECS_K * LENGTH)) {
        const unsigned n = threadIdx.x / VECS_K;
        at = n * PITCH + unsigned(k);
        from = reinterpret_cast<const char *>(matrix + int64_t(first + n) * step) + k_bytes(first_k + k);
    }

    static __device__ int64_t k_bytes(int64_t elements) {
        return elements * int64_t(sizeof(T));
    }

    template <bool SHORT> __device__ void copy(T *tile, const char *source, int turn, int valid_k) const {
        const bool there = !SHORT || k < valid_k;
        ptx::cp_async<16>(tile + at + turn * ROWS * PITCH, source + turn * turn_bytes, there ? 16 : 0);
    }
};

// Which operands may have any layout, and fewer rows or columns than a tile: none, A, or both. Else the
// elements of rows are contiguous, rows of B begin on boundaries of 16 bytes, and nothing is checked.
// OF_A_K_MAJOR: of A, and the columns of B are contiguous and begin on boundaries of 16 bytes.
enum Checks { NONE, OF_A, OF_A_K_MAJOR, OF_BOTH };

// The pipeline.
// `GROUP` elements along k have the copies that belong to them begun together: ptxas puts idle instructions
// between loads from shared memory and copies. On an H200 65536 x 64 x 64 takes 21.2 us in groups of four and
// 21.9 one by one; with checks, which make groups long, 4095 x 4095 x 4095 by m9 2,962 us and 2,865.
template <class T, int ROWS, int COLUMNS, int TILE_K, int THREADS, int STAGES, Checks CHECKS, int GROUP = 4>
struct Steps {
    enum { PAD = 16 / sizeof(T), K_MAJOR = CHECKS == OF_A_K_MAJOR };
    typedef T TileOfA[TILE_K][ROWS + PAD];
    typedef T TileOfB[K_MAJOR ? COLUMNS : TILE_K][(K_MAJOR ? TILE_K : COLUMNS) + PAD];
    TileOfA a[STAGES];
    TileOfB b[STAGES];

    // Has `multiply` take the tiles of A and B of each step. What it gets as its third argument it calls
    // before the products of each element along k: that begins copies of a later step.
    template <class F>
    __device__ void each(const Matrices<T> &p, const ShiftedTileCoord &place, const KRange &range,
                         F multiply) {
        each_part(p, place, range, 1, multiply, [](unsigned) {});
    }

    // The same of `parts` parts of k, the range being all of it: `end_part` is called with the number of each
    // part after its last step, while copies of the next one are in flight.
    template <class F, class E>
    __device__ void each_part(const Matrices<T> &p, const ShiftedTileCoord &place, const KRange &range,
                              unsigned parts, F multiply, E end_part) {
        const Elements<T, TILE_K, ROWS, THREADS, CHECKS != NONE> of_a(p.a, p.a_row, p.a_column, place.row,
                                                                      p.m, range.first);
        if constexpr (CHECKS == OF_BOTH)
            run(of_a,
                Elements<T, TILE_K, COLUMNS, THREADS, true>(p.b, p.b_column, p.b_row, place.column, p.n,
                                                            range.first),
                range, parts, multiply, end_part);
        else if constexpr (K_MAJOR)
            run(of_a, KVectors<T, TILE_K, COLUMNS, THREADS>(p.b, p.b_column, place.column, range.first),
                range, parts, multiply, end_part);
        else
            run(of_a, Vectors<T, TILE_K, COLUMNS, THREADS>(p.b, p.b_row, place.column, range.first), range,
                parts, multiply, end_part);
    }

  private:
    template <class Of>
    static __device__ void copy_group(const Of &of, T *tile, const char *from, int i, int valid_k) {
#pragma unroll
        for (int turn = i * Of::TURNS / TILE_K; turn < (i + GROUP) * Of::TURNS / TILE_K; ++turn)
            of.template copy<Of::CHECKED>(tile, from, turn, valid_k);
    }

    template <class Of>
    static __device__ void copy_all(const Of &of, T *tile, const char *from, int valid_k) {
#pragma unroll
        for (int turn = 0; turn < Of::TURNS; ++turn)
            of.template copy<true>(tile, from, turn, valid_k);
    }

    template <class OfA, class OfB, class F, class E>
    __device__ void run(const OfA &of_a, const OfB &of_b, const KRange &range, unsigned parts, F multiply,
                        E end_part) {
        const char *from_a = of_a.from, *from_b = of_b.from; // of the step begun last
        unsigned begun = 0, next = 0, now = 0;
        // After the last step the same tile is copied again and never read, which avoids a branch.
        const auto advance = [&] {
            const int further = begun == 0 || begun >= range.steps ? 0
                                : begun == 1                       ? range.first_length
                                                                   : TILE_K;
            from_a += of_a.k_bytes(further);
            from_b += of_b.k_bytes(further);
            ++begun;
        };
        const auto turn = [](unsigned &stage) { stage = stage + 1 == STAGES ? 0 : stage + 1; };
#pragma unroll 1
        for (int stage = 0; stage < STAGES - 1; ++stage) {
            if (begun < range.steps) {
                advance();
                copy_all(of_a, &a[next][0][0], from_a, stage == 0 ? range.first_length : TILE_K);
                copy_all(of_b, &b[next][0][0], from_b, stage == 0 ? range.first_length : TILE_K);
            } else {
                ++begun;
            }
            ptx::cp_async_commit_group();
            turn(next);
        }
        const auto take_step = [&] {
            ptx::cp_async_wait_group<STAGES - 2>();
            __syncthreads(); // all copies have arrived, and no thread reads the stage of the step before any
                             // longer
            const int valid_k = begun < range.steps ? TILE_K : 0; // of what is copied, where that is checked
            advance();
            multiply(a[now], b[now], [&](int i) {
                if (i % GROUP != 0)
                    return;
                copy_group(of_a, &a[next][0][0], from_a, i, valid_k);
                copy_group(of_b, &b[next][0][0], from_b, i, valid_k);
            });
            ptx::cp_async_commit_group();
            turn(next);
            turn(now);
        };
        unsigned step = 0;
#pragma unroll 1
        for (unsigned part = 0; part < parts; ++part) {
            for (const unsigned end = KRange::end_of_part(range.steps, part, parts); step < end; ++step)
                take_step();
            end_part(part);
        }
        ptx::cp_async_wait_group<0>();
    }
};

// The positions of a lane's results, THREAD_M along m by THREAD_N along n in runs of four, in a tile of
// COLUMNS columns. The tile of a warp is square, or nearly, which reads the fewest bytes from shared memory
// (2048 x 2048 x 1024 by m9 on an H200: 170 us with 64 by 64, 178 with 128 by 32).
template <int COLUMNS, int THREAD_M, int THREAD_N, int LANES_M_ = THREAD_M<THREAD_N ? 8 : 4> struct Lane {
    enum { LANES_M = LANES_M_, LANES_N = 32 / LANES_M };
    enum { RUN_M = 4 * LANES_M, RUN_N = 4 * LANES_N }; // from one run to the next
    enum { WARP_ROWS = LANES_M * THREAD_M, WARP_COLUMNS = LANES_N * THREAD_N };
    static __device__ unsigned y() {
        return threadIdx.x / 32 / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + threadIdx.x % 32 / LANES_N * 4;
    }
    static __device__ unsigned x() {
        return threadIdx.x / 32 % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + threadIdx.x % LANES_N * 4;
    }
};

// Multiplies a thread's results by one, from a special register so that the compiler keeps the product: it
// may be in other registers than those that are stored.
template <class T, int R, int S> __device__ void free_of_store(T (&sums)[R][S]) {
    const float one = float(blockDim.z);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; ++s)
            sums[r][s] *= one;
}

template <class T, int R, int S> __device__ void clear(T (&sums)[R][S]) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; ++s)
            sums[r][s] = T{};
}

// A thread's results to a tile in shared memory, whose rows are PITCH elements long.
template <class In, int PITCH, class T, int R, int S>
__device__ void store_to_tile(T *tile, const T (&sums)[R][S]) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; s += LENGTH)
            *reinterpret_cast<Vec16<T> *>(tile + (r / 4 * In::RUN_M + r % 4) * PITCH + s / 4 * In::RUN_N +
                                          s % 4) = vec16_of(&sums[r][s]);
}

// Adds a vector of results to what this thread stored there, as far as this block's own part goes.
template <class T>
__device__ Vec16<T> load_own(const Matrices<T> &p, const ShiftedTileCoord &place, uint64_t row,
                             uint64_t column, bool aligned, const Vec16<T> &v) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
    Vec16<T> sum = v;
    if (row < place.own_row || row >= p.m)
        return sum;
    const T *from = p.c + row * p.n + column;
    if (aligned && column >= place.own_column && column < p.n) {
        sum = *reinterpret_cast<const Vec16<T> *>(from);
#pragma unroll
        for (int i = 0; i < LENGTH; ++i)
            sum.element[i] += v.element[i];
    } else if (!aligned) {
#pragma unroll
        for (int i = 0; i < LENGTH; ++i)
            if (column + i >= place.own_column && column + i < p.n) {
                sum.element[i] = from[i];
                sum.element[i] += v.element[i];
            }
    }
    return sum;
}

// Stores a row's vector of results, as far as this block's own part of the tile goes. `adds`: added to what
// this thread stored there.
template <class T>
__device__ void store_own(const Matrices<T> &p, const ShiftedTileCoord &place, uint64_t row, uint64_t column,
                          bool aligned, Vec16<T> v, bool adds = false) {
    if (row < place.own_row || row >= p.m)
        return;
    if (adds)
        v = load_own(p, place, row, column, aligned, v);
    T *to = p.c + row * p.n + column;
    if (aligned) { // and so are the edges of tiles
        if (column >= place.own_column && column < p.n)
            *reinterpret_cast<Vec16<T> *>(to) = v;
        return;
    }
#pragma unroll
    for (int i = 0; i < Vec16<T>::LENGTH; ++i)
        if (column + i >= place.own_column && column + i < p.n)
            to[i] = v.element[i];
}

// Memory for 16 rows of each warp's tile, which begin up to three elements late.
template <class In, class T, int THREADS> struct Rows {
    enum { PITCH = In::WARP_COLUMNS + 2 * Vec16<T>::LENGTH };
    alignas(16) T of_warps[THREADS / 32][4 * In::LANES_M][PITCH];
};

// Stores what a warp has laid there: rows from `row` on, of which the first element, in C, lies `late`
// elements behind a boundary of 16 bytes; all but the ends of a row goes out 16 bytes at once.
template <class In, class T, int PITCH>
__device__ void store_rows(const Matrices<T> &p, const ShiftedTileCoord &place, uint64_t row, uint64_t column,
                           const T (&rows)[4 * In::LANES_M][PITCH]) {
    constexpr int LENGTH = Vec16<T>::LENGTH, PIECES = In::WARP_COLUMNS / LENGTH + 1;
    const uint64_t begin = max(column, place.own_column), end = min(column + In::WARP_COLUMNS, p.n);
#pragma unroll 1
    for (unsigned i = threadIdx.x % 32; i < 4 * In::LANES_M * PIECES; i += 32) {
        const unsigned y = i / PIECES, piece = i % PIECES;
        if (row + y < place.own_row || row + y >= p.m)
            continue;
        T *first = p.c + (row + y) * p.n + column;
        const unsigned late = unsigned(reinterpret_cast<uint64_t>(first) / sizeof(T) % LENGTH);
        const T *from = &rows[y][piece * LENGTH];
        const int64_t at = int64_t(column) + piece * LENGTH - late;
        T *to = p.c + int64_t(row + y) * int64_t(p.n) + at;
        if (at >= int64_t(begin) && at + LENGTH <= int64_t(end)) {
            *reinterpret_cast<Vec16<T> *>(to) = *reinterpret_cast<const Vec16<T> *>(from);
            continue;
        }
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            if (at + j >= int64_t(begin) && at + j < int64_t(end))
                to[j] = from[j];
    }
}

// Stores a thread's results through shared memory, which no thread uses any more.
template <class In, int THREADS, class T, int R, int S>
__device__ void store_own_rows(const Matrices<T> &p, const ShiftedTileCoord &place, unsigned y, unsigned x,
                               Rows<In, T, THREADS> &room, const T (&sums)[R][S]) {
    auto &rows = room.of_warps[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32, lane_m = lane / In::LANES_N * 4;
    const unsigned lane_n = lane % In::LANES_N * 4;
    const uint64_t column = place.column + x - lane_n;
#pragma unroll
    for (int group = 0; group < R; group += 4) {
        const uint64_t row = place.row + y - lane_m + group / 4 * In::RUN_M;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const uint64_t first = reinterpret_cast<uint64_t>(p.c + (row + lane_m + r) * p.n + column);
            const unsigned late = unsigned(first / sizeof(T) % Vec16<T>::LENGTH);
#pragma unroll
            for (int s = 0; s < S; ++s)
                rows[lane_m + r][late + lane_n + s / 4 * In::RUN_N + s % 4] = sums[group + r][s];
        }
        __syncwarp();
        store_rows<In>(p, place, row, column, rows);
        __syncwarp();
    }
}

// Stores a thread's results. `adds`: to those that it stored before.
template <class In, class T, int R, int S>
__device__ void store_own_results(const Matrices<T> &p, const ShiftedTileCoord &place, unsigned y, unsigned x,
                                  const T (&sums)[R][S], bool adds = false) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
    const bool aligned = rows_aligned(p.c, p.n);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < S; s += LENGTH)
            store_own(p, place, place.row + y + r / 4 * In::RUN_M + r % 4,
                      place.column + x + s / 4 * In::RUN_N + s % 4, aligned, vec16_of(&sums[r][s]), adds);
}

} // namespace gr::matmul
