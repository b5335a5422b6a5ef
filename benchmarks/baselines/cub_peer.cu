// CUB as a peer of the benchmark, and the floors that nothing can beat: compiled by the benchmark itself,
// with the nvcc that it finds. Functions of one type enqueue one reduction; peer_time replays many as a
// graph.
#include <cstdint>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/zip_iterator.h>
#include <type_traits>

namespace {

struct Work {
    void *temp;
    size_t temp_bytes;
    const void *in, *second;
    void *out;
    uint64_t n;
};

using Enqueue = cudaError_t(Work &, cudaStream_t);

// What gpureduce's sum is kept in: integers in 64 bits, halves in float.
template <class T>
using SumOut =
    std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<sizeof(T) == 2, float, T>>;

// CUB indexes with the type of the count. Most callers have an int, mostly the faster one: it gets one where
// n allows.
template <class Reduction> cudaError_t by_count(const Work &w, Reduction reduce) {
    return w.n <= INT32_MAX ? reduce(int32_t(w.n)) : reduce(w.n);
}

template <class T> cudaError_t sum(Work &w, cudaStream_t stream) {
    return by_count(w, [&](auto n) {
        const T *in = static_cast<const T *>(w.in);
        auto *out = static_cast<SumOut<T> *>(w.out);
        // CUB's Sum would add halves as halves.
        if constexpr (std::is_same_v<SumOut<T>, float> && sizeof(T) == 2)
            return cub::DeviceReduce::Reduce(w.temp, w.temp_bytes, in, out, n, cuda::std::plus<float>(), 0.0f,
                                             stream);
        else
            return cub::DeviceReduce::Sum(w.temp, w.temp_bytes, in, out, n, stream);
    });
}

template <class T> cudaError_t max(Work &w, cudaStream_t stream) {
    return by_count(w, [&](auto n) {
        return cub::DeviceReduce::Max(w.temp, w.temp_bytes, static_cast<const T *>(w.in),
                                      static_cast<T *>(w.out), n, stream);
    });
}

template <class T> cudaError_t argmax(Work &w, cudaStream_t stream) {
    return cub::DeviceReduce::ArgMax(w.temp, w.temp_bytes, static_cast<const T *>(w.in),
                                     static_cast<T *>(w.out), static_cast<int64_t *>(w.out) + 1, int64_t(w.n),
                                     stream);
}

// Products of halves are taken in float, as gpureduce does; integers wrap in their own type.
template <class T> using DotTerm = std::conditional_t<sizeof(T) == 2, float, T>;

template <class T> struct Multiply {
    __host__ __device__ DotTerm<T> operator()(const thrust::tuple<T, T> &pair) const {
        return DotTerm<T>(DotTerm<T>(thrust::get<0>(pair)) * DotTerm<T>(thrust::get<1>(pair)));
    }
};

template <class T> cudaError_t dot(Work &w, cudaStream_t stream) {
    const auto pairs =
        thrust::make_zip_iterator(static_cast<const T *>(w.in), static_cast<const T *>(w.second));
    return by_count(w, [&](auto n) {
        return cub::DeviceReduce::TransformReduce(
            w.temp, w.temp_bytes, pairs, static_cast<DotTerm<T> *>(w.out), n, cuda::std::plus<DotTerm<T>>(),
            Multiply<T>(), DotTerm<T>(0), stream);
    });
}

// ---- floors ----

__global__ void nothing() {
}

cudaError_t empty(Work &, cudaStream_t stream) {
    nothing<<<1, 32, 0, stream>>>();
    return cudaGetLastError();
}

// Reads everything by the copy engine and looks at none of it: a ring of bulk copies in each block.
constexpr unsigned STAGES = 6, STAGE_BYTES = 32768;

__global__ void __launch_bounds__(32, 1) read_all(const char *in, uint64_t pieces) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char ring[];
    __shared__ alignas(8) uint64_t full[STAGES];
    if (threadIdx.x != 0)
        return;
    const uint32_t ring_at = uint32_t(__cvta_generic_to_shared(ring));
    const uint32_t full_at = uint32_t(__cvta_generic_to_shared(full));
    for (unsigned stage = 0; stage < STAGES; ++stage)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full_at + 8 * stage) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    const uint64_t own = pieces > blockIdx.x ? (pieces - blockIdx.x - 1) / gridDim.x + 1 : 0;
    for (uint64_t turn = 0; turn < own + STAGES; ++turn) {
        const unsigned stage = turn % STAGES;
        if (turn >= STAGES && turn - STAGES < own) {
            uint32_t done;
            do
                asm volatile("{\n\t.reg .pred p;\n\t"
                             "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                             "selp.u32 %0, 1, 0, p;\n\t}"
                             : "=r"(done)
                             : "r"(full_at + 8 * stage), "r"(uint32_t(turn / STAGES - 1) % 2)
                             : "memory");
            while (!done);
        }
        if (turn >= own)
            continue;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full_at + 8 * stage),
                     "r"(STAGE_BYTES)
                     : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                ring_at + stage * STAGE_BYTES),
            "l"(in + (turn * gridDim.x + blockIdx.x) * STAGE_BYTES), "r"(STAGE_BYTES),
            "r"(full_at + 8 * stage)
            : "memory");
    }
#endif
}

int multiprocessors() {
    int device = 0, count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
}

cudaError_t read_only(Work &w, cudaStream_t stream) {
    const cudaError_t set =
        cudaFuncSetAttribute(read_all, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * STAGE_BYTES);
    if (set != cudaSuccess)
        return set;
    read_all<<<multiprocessors(), 32, STAGES * STAGE_BYTES, stream>>>(static_cast<const char *>(w.in),
                                                                      w.n / STAGE_BYTES);
    return cudaGetLastError();
}

cudaError_t copy(Work &w, cudaStream_t stream) {
    return cudaMemcpyAsync(w.out, w.in, w.n, cudaMemcpyDeviceToDevice, stream);
}

struct Entry {
    const char *op, *dtype;
    Enqueue *enqueue;
};

#define OF(name, T)                                                                                          \
    {"sum", name, sum<T>}, {"max", name, max<T>}, {"argmax", name, argmax<T>}, {                             \
        "dot", name, dot<T>                                                                                  \
    }
const Entry entries[] = {
    OF("float32", float), OF("float64", double),   OF("float16", __half), OF("bfloat16", __nv_bfloat16),
    OF("int8", int8_t),   OF("uint8", uint8_t),    OF("int32", int32_t),  OF("int64", int64_t),
    {"empty", "", empty}, {"read", "", read_only}, {"copy", "", copy},
};

Enqueue *find(const char *op, const char *dtype) {
    for (const Entry &entry : entries)
        if (strcmp(entry.op, op) == 0 && strcmp(entry.dtype, dtype) == 0)
            return entry.enqueue;
    return nullptr;
}

cudaError_t replay(Enqueue *enqueue, Work &w, const uint64_t *ins, const uint64_t *seconds,
                   const uint64_t *outs, size_t buffers, size_t launches, size_t repeats, double *us,
                   cudaStream_t stream) {
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const cudaError_t code = (call);                                                                     \
        if (code != cudaSuccess)                                                                             \
            return code;                                                                                     \
    } while (0)
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t start, stop;
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&stop));
    w.in = reinterpret_cast<void *>(ins[0]);
    w.second = reinterpret_cast<void *>(seconds[0]);
    w.out = reinterpret_cast<void *>(outs[0]);
    TRY(enqueue(w, stream)); // loads the kernels, which must not happen in a capture
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (size_t i = 0; i < launches; ++i) {
        w.in = reinterpret_cast<void *>(ins[i % buffers]);
        w.second = reinterpret_cast<void *>(seconds[i % buffers]);
        w.out = reinterpret_cast<void *>(outs[i % buffers]);
        TRY(enqueue(w, stream));
    }
    TRY(cudaStreamEndCapture(stream, &graph));
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    TRY(cudaGraphLaunch(exec, stream));
    for (size_t i = 0; i < repeats; ++i) {
        float ms = 0;
        TRY(cudaEventRecord(start, stream));
        TRY(cudaGraphLaunch(exec, stream));
        TRY(cudaEventRecord(stop, stream));
        TRY(cudaEventSynchronize(stop));
        TRY(cudaEventElapsedTime(&ms, start, stop));
        us[i] = 1e3 * ms / double(launches);
    }
    TRY(cudaGraphExecDestroy(exec));
    TRY(cudaGraphDestroy(graph));
    TRY(cudaEventDestroy(start));
    TRY(cudaEventDestroy(stop));
    return cudaSuccess;
#undef TRY
}

} // namespace

// Times `launches` reductions of n elements (or bytes, for the floors) in a graph, over `buffers` inputs by
// turns, and writes the mean microseconds of one for each replay. Returns null, or what went wrong.
extern "C" const char *peer_time(const char *op, const char *dtype, uint64_t n, const uint64_t *ins,
                                 const uint64_t *seconds, const uint64_t *outs, size_t buffers,
                                 size_t launches, size_t repeats, double *us) {
    Enqueue *enqueue = find(op, dtype);
    if (enqueue == nullptr)
        return "no such reduction";
    cudaStream_t stream;
    if (const cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return cudaGetErrorString(code);
    Work w = {nullptr,
              0,
              reinterpret_cast<void *>(ins[0]),
              reinterpret_cast<void *>(seconds[0]),
              reinterpret_cast<void *>(outs[0]),
              n};
    cudaError_t code = enqueue(w, stream); // CUB says how much it needs; the floors need nothing
    if (code == cudaSuccess && w.temp_bytes > 0)
        code = cudaMalloc(&w.temp, w.temp_bytes);
    if (code == cudaSuccess)
        code = replay(enqueue, w, ins, seconds, outs, buffers, launches, repeats, us, stream);
    cudaStreamSynchronize(stream);
    cudaFree(w.temp);
    cudaStreamDestroy(stream);
    return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}

// Puts one reduction into a stream; without `temp` it only says in *temp_bytes how much of it CUB needs.
// Returns null, or what went wrong.
extern "C" const char *peer_enqueue(const char *op, const char *dtype, uint64_t n, uint64_t in,
                                    uint64_t second, uint64_t out, uint64_t temp, size_t *temp_bytes,
                                    cudaStream_t stream) {
    Enqueue *enqueue = find(op, dtype);
    if (enqueue == nullptr)
        return "no such reduction";
    Work w = {reinterpret_cast<void *>(temp), *temp_bytes,
              reinterpret_cast<void *>(in),   reinterpret_cast<void *>(second),
              reinterpret_cast<void *>(out),  n};
    const cudaError_t code = enqueue(w, stream);
    *temp_bytes = w.temp_bytes;
    return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}
