// Rows in flight: a thread copies its columns of the next sorted rows to shared memory while it adds the
// columns of the rows before them. A thread reads only its own copies, so that no thread waits for another.
#pragma once

#include "common/ptx.cuh"
#include "groups/rows/params.h"

namespace gr::groups {

template <class In, unsigned V> struct alignas(sizeof(In) * V) ColumnPack { In x[V]; };

template <class In, unsigned V> struct RowRing {
    using Pack = ColumnPack<In, V>;
    static constexpr unsigned batch = GR_SORTED_BATCH, threads = GR_SORTED_SUM_THREADS;
#if __CUDA_ARCH__ >= 800
    static constexpr bool async = V > 1 && sizeof(Pack) >= 4; // cp.async copies 4 bytes or more
#else
    static constexpr bool async = false; // registers have the batch after the one that is added
#endif
    // Batches in shared memory: the one that is added, and those whose copies are under way.
    static constexpr unsigned stages = !async ? 1 : sizeof(Pack) < 16 ? 4 : 2, depth = stages * batch;

    Pack *const slots;           // of the thread: every `threads`-th one, by row
    const char *const in;        // the thread's first column of row 0
    int64_t stride;              // bytes between rows
    const uint32_t *const order; // numbers of rows, in their order
    const uint32_t end;          // of the sorted rows that are read
    uint32_t ready;              // the sorted row at which the next batch begins
    uint4 numbers;               // of the rows that are copied next
    Pack pending[async ? 1 : batch];

    // Rows from `from` to `end` will be read, one after the other.
    __device__ RowRing(Pack (*slots)[threads], const In *in, int64_t stride, const uint32_t *order,
                       uint32_t from, uint32_t end)
        : slots(slots[0] + threadIdx.x), in(reinterpret_cast<const char *>(in)),
          stride(stride * int64_t(sizeof(In))), order(order), end(end), ready(from / batch * batch) {
        asm("" : "+l"(this->stride)); // one multiplication and addition makes an address
        load_numbers(ready);
        if constexpr (async) {
#pragma unroll
            for (unsigned i = 0; i + 1 < stages; ++i)
                copy(ready + i * batch);
        } else {
            copy(ready);
        }
    }
    // The slot of a row; those of a batch are `threads` apart.
    __device__ const Pack *at(uint32_t row) const {
        return slots + row % depth * threads;
    }
    // Rows from `ready` on become readable.
    __device__ void advance() {
        if constexpr (async) {
            copy(ready + (stages - 1) * batch);
            common::ptx::cp_async_wait_group<stages - 1>();
        } else {
#pragma unroll
            for (unsigned i = 0; i < batch; ++i)
                slots[i * threads] = pending[i];
            copy(ready + batch);
        }
        ready += batch;
    }

  private:
    __device__ void load_numbers(uint32_t first) {
        if (first < end)
            numbers = *reinterpret_cast<const uint4 *>(order + first);
    }
    // Copies the batch whose numbers are loaded, and loads those of the next one.
    __device__ void copy(uint32_t first) {
        const uint32_t number[batch] = {numbers.x, numbers.y, numbers.z, numbers.w};
        Pack *const to = slots + first % depth * threads;
#pragma unroll
        for (unsigned i = 0; i < batch; ++i) {
            const Pack *from = reinterpret_cast<const Pack *>(in + int64_t(number[i]) * stride);
            if constexpr (async) {
                common::ptx::cp_async<sizeof(Pack)>(to + i * threads, from,
                                                    first + i < end ? sizeof(Pack) : 0);
            } else {
                pending[i] = first + i < end ? *from : Pack();
            }
        }
        if constexpr (async)
            common::ptx::cp_async_commit_group();
        load_numbers(first + batch);
    }
};

} // namespace gr::groups
