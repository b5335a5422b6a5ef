// Panels of matrices of any strides and alignment, which pass through a ring in shared memory, where they
// lie as in memory: lines along k, or lines along m or n. Lines of contiguous elements are copied
// asynchronously (cp.async) in windows of 16 bytes that begin on boundaries of 16 bytes. Where lines do not,
// two neighbouring windows are read from shared memory, shifted, and stored.
#pragma once

#include "common/ptx.cuh"
#include "matmul/global_load.cuh"
#include "matmul/panel.cuh"

namespace gr::matmul {

// The lines of a matrix, contiguous if either of its strides is 1.
template <class T> struct RingLines {
    const T *first;
    int64_t line, element; // elements from one line to the next, and from one element of a line to the next
    uint64_t least;        // address of the first byte
    bool along_k, contiguous, aligned;

    // `others`: the number of rows of A or columns of B.
    __device__ RingLines(const T *matrix, uint64_t others, uint64_t k, int64_t stride, int64_t k_stride)
        : first(matrix), along_k(k_stride == 1 || (stride != 1 && llabs(k_stride) < llabs(stride))) {
        line = along_k ? stride : k_stride;
        element = along_k ? k_stride : stride;
        const int64_t span = int64_t((along_k ? others : k) - 1) * line;
        least = reinterpret_cast<uint64_t>(matrix + (span < 0 ? span : 0));
        contiguous = element == 1;
        aligned = contiguous && rows_aligned(matrix, line);
    }
    __device__ const T *at(uint64_t other, uint64_t k) const {
        return first + int64_t(along_k ? other : k) * line + int64_t(along_k ? k : other) * element;
    }
};

// Elements from one row or column of a panel in shared memory to the next, and from one along k to the next.
struct PanelStrides {
    unsigned other, k;
    bool along_k;
};

// Panels of OTHERS rows or columns and DEPTH elements along k, one after the other along k, which THREADS
// threads copy, each of them the same windows of every panel. Panels begin at multiples of 16 elements along
// k, so that the bytes from a boundary to a line's first element are the same in each.
template <class T, int OTHERS, int DEPTH, int THREADS> struct RingPanel {
    static constexpr int SIZE = sizeof(T), LENGTH = 16 / SIZE;
    static constexpr int COUNT = OTHERS * DEPTH / THREADS, VECTORS = COUNT / LENGTH;
    static_assert(COUNT % LENGTH == 0 && DEPTH % 16 == 0 && OTHERS <= THREADS && DEPTH <= THREADS,
                  "whole vectors, with the same shifts in each panel, and a thread for each line");
    // Elements from one line to the next in shared memory, so that lanes that are served at once have other
    // banks, and with room for one more window: of lines along k, and of the others.
    static constexpr int K_PITCH = DEPTH + (SIZE == 8 ? 2 : 1) * LENGTH;
    static constexpr int PITCH = OTHERS + (SIZE == 2 ? 1 : 2) * LENGTH;
    static constexpr int ROOM = OTHERS * K_PITCH > DEPTH *PITCH ? OTHERS *K_PITCH : DEPTH *PITCH;

    // 16 bytes from a boundary on: `size` bytes of a whole panel are inside, `shift` bytes before the element
    // that the window is of; `to` elements from the beginning of the panel in shared memory.
    struct Window {
        const char *from;
        unsigned to, size, shift;
    };
    const RingLines<T> &of;
    const uint64_t first;    // row or column
    const char *origin;      // the first element of the next panel
    int64_t step;            // bytes from one element along k to the next
    int64_t least;           // bytes from `origin` on to the lowest address of a panel
    Window windows[VECTORS]; // of this thread's vectors in the next panel
    Window last;             // and the last one of a line
    unsigned others;         // rows or columns that are inside

    __device__ RingPanel(const RingLines<T> &of, uint64_t first, uint64_t k, unsigned others)
        : of(of), first(first), origin(reinterpret_cast<const char *>(of.at(first, k))),
          step((of.along_k ? of.element : of.line) * SIZE), others(others) {
        least = min(int64_t((of.along_k ? others : DEPTH) - 1) * of.line * SIZE, int64_t(0));
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            const unsigned unit = i * THREADS + thread();
            const unsigned line = of.along_k ? unit / (DEPTH / LENGTH) : unit / (OTHERS / LENGTH);
            windows[i] = window_of(line, unit * LENGTH - line * length());
        }
        last = window_of(min(thread(), lines() - 1), length());
    }
    // The number of a thread among those that copy: the last THREADS of a block.
    static __device__ unsigned thread() {
        return threadIdx.x + THREADS - blockDim.x;
    }
    __device__ unsigned lines() const {
        return of.along_k ? OTHERS : DEPTH;
    }
    __device__ unsigned length() const {
        return of.along_k ? DEPTH : OTHERS;
    }
    __device__ unsigned pitch() const {
        return of.along_k ? K_PITCH : PITCH;
    }
    static __device__ PanelStrides strides_of(bool along_k) {
        return {along_k ? unsigned(K_PITCH) : 1u, along_k ? 1u : unsigned(PITCH), along_k};
    }
    // The window of element number `place` of a line. Rows and columns beyond the last one are copies of it.
    __device__ Window window_of(unsigned line, unsigned place) const {
        const char *at =
            origin + int64_t(of.along_k ? min(line, others - 1) : line) * of.line * SIZE + place * SIZE;
        const unsigned shift = unsigned(reinterpret_cast<uint64_t>(at)) & 15;
        const int inside = (int(of.along_k ? DEPTH : others) - int(place)) * SIZE + int(shift);
        return {at - shift, line * pitch() + place, unsigned(max(0, min(inside, 16))), shift};
    }
    // Copies the first `size` bytes of a window; the others become zeros.
    __device__ void copy(T *to, const char *from, unsigned size) const {
        if (size == 0 || reinterpret_cast<uint64_t>(from) >= of.least) {
            ptx::cp_async<16>(to, from, size);
            return;
        }
        /* The window begins before the matrix does. */
        const T *elements = reinterpret_cast<const T *>(from);
#pragma unroll 1
        for (int i = 0; i < LENGTH; ++i)
            to[i] = reinterpret_cast<uint64_t>(elements + i) >= of.least && unsigned(i * SIZE) < size
                        ? load_global(elements + i)
                        : T(0.f);
    }
    // Copies a window of a panel that ends at `deep` elements along k, or begins the matrix.
    __device__ void copy_edge(T *to, const Window &window, unsigned deep) const {
        const unsigned line = window.to / pitch(), place = window.to % pitch();
        const int inside = int(deep * SIZE) - int(place * SIZE) + int(window.shift);
        copy(to + window.to, window.from,
             of.along_k    ? unsigned(max(0, min(inside, 16)))
             : line < deep ? window.size
                           : 0);
    }
    // Begins to copy the next panel, of which `deep` elements along k are inside; those beyond are zeros.
    __device__ void load(T *to, unsigned deep) {
        if (!of.contiguous)
            return;
        const bool has_last = !of.aligned && thread() < lines();
        if (deep == DEPTH &&
            (of.least % 16 == 0 || reinterpret_cast<uint64_t>(origin) + least >= of.least + 16)) {
#pragma unroll
            for (int i = 0; i < VECTORS; ++i)
                ptx::cp_async<16>(to + windows[i].to, windows[i].from, windows[i].size);
            if (has_last)
                ptx::cp_async<16>(to + last.to, last.from, last.size);
            return;
        }
#pragma unroll 1
        for (int i = 0; i <= VECTORS; ++i) {
            Window window = last;
#pragma unroll
            for (int j = 0; j < VECTORS; ++j)
                window = i == j ? windows[j] : window;
            if (i < VECTORS || has_last)
                copy_edge(to, window, deep);
        }
    }
    // The next panel begins `count` elements along k from this one.
    __device__ void advance(int64_t count) {
        const int64_t bytes = count * step;
        origin += bytes;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
            windows[i].from += bytes;
        last.from += bytes;
    }
    // Shifts what was copied to `raw`; the elements of lines that are not contiguous are read now.
    __device__ void arrange(const T *raw, T *to, uint64_t k, unsigned deep) const {
        if (of.contiguous) {
#pragma unroll
            for (int i = 0; i < VECTORS; ++i) {
                const Words *at = reinterpret_cast<const Words *>(raw + windows[i].to);
                *reinterpret_cast<Words *>(to + windows[i].to) =
                    shifted<SIZE>(at[0], at[1], windows[i].shift);
            }
            return;
        }
        constexpr int AT_ONCE = COUNT < 8 ? COUNT : 8;
        const T *const from = of.at(first, k);
        const unsigned lines_inside = of.along_k ? others : deep, length_inside = of.along_k ? deep : others;
#pragma unroll 1
        for (int i = 0; i < COUNT; i += AT_ONCE) {
            T found[AT_ONCE];
            const auto each = [&](auto work) {
#pragma unroll
                for (int j = 0; j < AT_ONCE; ++j) {
                    const unsigned unit = (i + j) * THREADS + thread();
                    const unsigned line = of.along_k ? unit / DEPTH : unit / OTHERS;
                    work(j, line, unit - line * length());
                }
            };
            each([&](int j, unsigned line, unsigned place) {
                found[j] = load_global(from + int64_t(min(line, lines_inside - 1)) * of.line +
                                       int64_t(min(place, length_inside - 1)) * of.element);
            });
            each([&](int j, unsigned line, unsigned place) {
                to[line * pitch() + place] = (of.along_k ? place : line) < deep ? found[j] : T(0.f);
            });
        }
    }
};

} // namespace gr::matmul
