// The kernel `ring` of flat.cuh: bulk copies (TMA) into a pipeline of stages in shared memory, each with an
// mbarrier that completes when its bytes have arrived.
#pragma once

#include "reduce/flat/flat.cuh"

namespace gr::reduce {

#ifdef GR_HOPPER

// Bytes of a stage: of a piece that does not begin with a line of 128 bytes, whole lines are copied, also the
// bytes of the first line before the array. RING_BYTES of csrc/reduce/flat/plan.c counts on this.
constexpr uint32_t RING_STAGE_PITCH = GR_RING_STAGE_BYTES + 128;

// The pieces of one block in flight from global to shared memory, with an mbarrier for each stage.
// They are taken from the end of the array: a kernel that has just written it left its end in the L2 cache,
// where pieces from the beginning would take its place. After a kernel of PyTorch a float32 sum of 1 GiB
// takes 234.8 us in that order on an H200, 239.6 in the other.
struct BulkPipeline {
    uint32_t bytes_at, full_at; // addresses in shared memory
    uint64_t source;            // the line with the beginning of the first piece of all blocks
    uint64_t last;              // end of the aligned vectors of the array
    uint32_t surplus;           // bytes of a copy behind the length of a piece
    uint64_t pieces;            // of this block
    uint64_t begin, step;       // its first piece and the distance to its next one, in pieces of all blocks

    __device__ void open() const {
        for (unsigned stage = 0; stage < GR_RING_STAGES; ++stage)
            ptx::mbarrier_init<1>(full_at + 8 * stage);
        ptx::fence_mbarrier_init();
    }

    __device__ uint64_t number(uint64_t piece) const {
        return begin + piece * step;
    }

    __device__ void fetch(uint64_t piece) const {
        const unsigned stage = piece % GR_RING_STAGES;
        const uint64_t from = source + number(piece) * GR_RING_STAGE_BYTES;
        const uint32_t bytes = uint32_t(min(uint64_t(GR_RING_STAGE_BYTES + surplus), last - from));
        ptx::mbarrier_arrive_expect_tx(full_at + 8 * stage, bytes);
        ptx::cp_async_bulk(bytes_at + stage * RING_STAGE_PITCH, reinterpret_cast<const void *>(from), bytes,
                           full_at + 8 * stage);
    }

    __device__ void wait(uint64_t piece) const {
        ptx::mbarrier_wait_parity(full_at + 8 * (piece % GR_RING_STAGES), piece / GR_RING_STAGES % 2);
    }
};

// Stores the last `bytes` bytes of the vectors of an array, which are at `from`, at their place in shared
// memory: no copy brings them, as memory behind the array has a part of their aligned vector. All threads of
// the block call it.
template <class In> __device__ void store_end(unsigned char *to, uint64_t from, unsigned bytes) {
    using Element = typename Bits<sizeof(In)>::type;
    if (threadIdx.x < bytes / sizeof(In))
        reinterpret_cast<Element *>(to)[threadIdx.x] = reinterpret_cast<const Element *>(from)[threadIdx.x];
    ptx::fence_proxy_async_shared(); // before a copy into this stage
    __syncthreads();
}

template <class F, class In, bool ByIndex> __device__ void ring(const gr_flat_params &p) {
    constexpr unsigned turns = GR_RING_STAGE_BYTES / 16 / GR_RING_THREADS, length = Vec16<In>::length;
    constexpr bool unaligned = ByIndex && sizeof(In) < 16;
    constexpr uint64_t piece_chunks = GR_RING_STAGE_BYTES / 16;
    extern __shared__ __align__(128) unsigned char bytes[];
    __shared__ alignas(8) uint64_t full[GR_RING_STAGES];
    const AlignedSplit parts = aligned_split<In, ByIndex>(p);
    const uint64_t pieces = parts.chunks / piece_chunks;
    const uint64_t begin = p.in + parts.head * sizeof(In), end = begin + parts.chunks * 16;
    const unsigned skew = ByIndex ? begin % 128 : 0; // of the first piece in its line
    const BulkPipeline ring = {shared_address(bytes),
                               shared_address(full),
                               begin - skew,
                               ByIndex ? end - end % 16 : ~uint64_t(0),
                               skew > 0 ? 128u : 0u,
                               pieces > blockIdx.x ? (pieces - blockIdx.x - 1) / gridDim.x + 1 : 0,
                               in_order<F> ? blockIdx.x : pieces - 1 - blockIdx.x,
                               in_order<F> ? gridDim.x : -uint64_t(gridDim.x)};
    const uint64_t position = p.first + parts.head;

    if (threadIdx.x == 0)
        ring.open();
    pdl_wait();
    if (threadIdx.x == 0)
        for (uint64_t piece = 0; piece < GR_RING_STAGES && piece < ring.pieces; ++piece)
            ring.fetch(piece);
    __syncthreads(); // no thread waits at a barrier that is not initialized

    const PeeledEnds<F, In, false> ends(p, parts);
    typename F::Acc acc = F::init();
    Vec16<In> x[turns];
    for (uint64_t piece = 0; piece < ring.pieces; ++piece) {
        ring.wait(piece);
        const uint64_t number = ring.number(piece);
        unsigned char *const stage = bytes + piece % GR_RING_STAGES * RING_STAGE_PITCH;
        unsigned char *const piece_begin = stage + skew;
        const unsigned char *const own = piece_begin + 16 * threadIdx.x;
        if constexpr (unaligned)
            if (skew % 16 != 0 && (number + 1) * piece_chunks == parts.chunks)
                store_end<In>(piece_begin + GR_RING_STAGE_BYTES - skew % 16, end - skew % 16, skew % 16);
        if (unaligned && skew % 16 != 0) {
            UnalignedVectors<FromShared, turns, In> vectors(x, skew % 16);
            vectors.load([=](unsigned k) { return own + 16 * GR_RING_THREADS * k; });
            vectors.shift();
        } else {
#pragma unroll
            for (unsigned k = 0; k < turns; ++k)
                x[k] = reinterpret_cast<const Vec16<In> *>(own)[k * GR_RING_THREADS];
        }
        const uint64_t at = number * piece_chunks + threadIdx.x;
        F::template accumulate<turns>(acc, x, position + at * length, GR_RING_THREADS * length);
        __syncthreads(); // all have read this stage
        if (threadIdx.x == 0 && piece + GR_RING_STAGES < ring.pieces)
            ring.fetch(piece + GR_RING_STAGES);
    }
    pdl_launch_dependents();

    // Chunks behind the last whole piece.
    const Source<In> source(begin);
    for (uint64_t at = pieces * piece_chunks + uint64_t(blockIdx.x) * GR_RING_THREADS + threadIdx.x;
         at < parts.chunks; at += uint64_t(gridDim.x) * GR_RING_THREADS) {
        x[0] = ByIndex ? source.vec16_at(at) : load_vec16(reinterpret_cast<const Vec16<In> *>(begin) + at);
        F::template accumulate<1>(acc, x, position + at * length, 0);
    }
    grid_reduce<F>(p, ends.combined(p, parts, F::to_state(acc)));
}

#endif

} // namespace gr::reduce
