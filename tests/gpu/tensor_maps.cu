/* Runs tensor maps on a GPU, case by case: the columns of tensor_maps.py on stdin, a line each; for each the
   driver's answer, or digests of shared memory and of the tensor after the copy. For tensor_maps.py. */
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { REGION = 1 << 15, SOURCE = 1 << 20 };

struct place {
    int at[5];
};

template <int RANK> __device__ void load(const CUtensorMap *map, place p, uint32_t to, uint32_t bar) {
    if constexpr (RANK == 1)
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                     "{%3}], [%2];" ::"r"(to),
                     "l"(map), "r"(bar), "r"(p.at[0])
                     : "memory");
    if constexpr (RANK == 2)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                     "{%3, %4}], [%2];" ::"r"(to),
                     "l"(map), "r"(bar), "r"(p.at[0]), "r"(p.at[1])
                     : "memory");
    if constexpr (RANK == 3)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                     "{%3, %4, %5}], [%2];" ::"r"(to),
                     "l"(map), "r"(bar), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2])
                     : "memory");
    if constexpr (RANK == 4)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                     "{%3, %4, %5, %6}], [%2];" ::"r"(to),
                     "l"(map), "r"(bar), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3])
                     : "memory");
    if constexpr (RANK == 5)
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                     "{%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
                     "l"(map), "r"(bar), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4])
                     : "memory");
}

template <int RANK> __device__ void store(const CUtensorMap *map, place p, uint32_t from) {
    if constexpr (RANK == 1)
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%1, {%2}], [%0];" ::"r"(from),
                     "l"(map), "r"(p.at[0])
                     : "memory");
    if constexpr (RANK == 2)
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %3}], [%0];" ::"r"(from),
            "l"(map), "r"(p.at[0]), "r"(p.at[1])
            : "memory");
    if constexpr (RANK == 3)
        asm volatile(
            "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%1, {%2, %3, %4}], [%0];" ::"r"(from),
            "l"(map), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2])
            : "memory");
    if constexpr (RANK == 4)
        asm volatile(
            "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%1, {%2, %3, %4, %5}], [%0];" ::"r"(from),
            "l"(map), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3])
            : "memory");
    if constexpr (RANK == 5)
        asm volatile(
            "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%1, {%2, %3, %4, %5, %6}], [%0];" ::"r"(
                from),
            "l"(map), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4])
            : "memory");
}

/* Shared memory begins as 0xA5 for loads, as a pattern for stores. *late: the bytes announced have not come.
 */
template <int RANK>
__global__ void probe(const __grid_constant__ CUtensorMap map, place p, uint32_t offset, uint32_t bytes,
                      int stores, uint8_t *out, int *late) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ __align__(8) uint64_t barrier;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(s), bar = (uint32_t)__cvta_generic_to_shared(&barrier);
    for (uint32_t i = threadIdx.x; i < REGION; i += blockDim.x)
        s[i] = stores ? (uint8_t)((i * 2654435761u) >> 24) : 0xA5;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0 && stores) {
        store<RANK>(&map, p, base + offset);
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (threadIdx.x == 0 && !stores) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                     : "memory");
        load<RANK>(&map, p, base + offset, bar);
        uint32_t done = 0;
        for (int k = 0; k < 100000 && !done; k++)
            asm volatile(
                "{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%1], 0; selp.u32 %0, 1, 0, q; }"
                : "=r"(done)
                : "r"(bar)
                : "memory");
        *late = !done;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < REGION; i += blockDim.x)
        out[i] = s[i];
}

static uint64_t digest(const uint8_t *bytes, size_t count) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

int main() {
    encode_function *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault,
                                         &found) != cudaSuccess ||
        !encode)
        return 1;
    uint8_t *source, *out;
    int *late;
    cudaMalloc(&source, SOURCE);
    cudaMalloc(&out, REGION);
    cudaMallocManaged(&late, 4);
    std::vector<uint8_t> host(SOURCE), got(SOURCE), shared(REGION);
    void *kernels[] = {nullptr,          (void *)probe<1>, (void *)probe<2>,
                       (void *)probe<3>, (void *)probe<4>, (void *)probe<5>};
    for (int r = 1; r <= 5; r++)
        cudaFuncSetAttribute(kernels[r], cudaFuncAttributeMaxDynamicSharedMemorySize, REGION);
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        /* id kind type rank address dims[5] strides[4] box[5] steps[5] interleave swizzle fill at[5] offset
         * bytes */
        long long v[33];
        char *at = line;
        for (int i = 0; i < 33; i++)
            v[i] = strtoll(at, &at, 10);
        const long long kind = v[1];
        for (uint32_t i = 0; i < SOURCE / 4; i++) {
            uint32_t word = (i * 2654435761u) ^ (i >> 7) * 40503u;
            /* halves, nearly halves, both parities, the ends of the range */
            static const uint32_t lows[] = {0x1000, 0x0fff, 0x1001, 0x3000, 0x2fff, 0x3001, 0x0000, 0x1fff};
            static const uint32_t highs[] = {0x3f800000, 0x7f7fc000, 0x7f800000, 0x00000000,
                                             0x007fc000, 0x7fc00000, 0xff7fc000, 0xff800000,
                                             0x80000000, 0x4b120000, 0x7f804000, 0xc1484000};
            if (kind == 4)
                word = highs[i / 8 % 12] | lows[i % 8];
            memcpy(&host[4 * i], &word, 4);
        }
        if (kind == 1)
            memset(host.data(), 0xEE, SOURCE);
        cudaMemcpy(source, host.data(), SOURCE, cudaMemcpyHostToDevice);
        cuuint64_t dims[5], strides[4];
        cuuint32_t box[5], steps[5];
        place p;
        for (int i = 0; i < 5; i++) {
            dims[i] = v[5 + i];
            if (i < 4)
                strides[i] = v[10 + i];
            box[i] = v[14 + i];
            steps[i] = v[19 + i];
            p.at[i] = v[27 + i];
        }
        alignas(64) CUtensorMap map;
        CUresult result = encode(&map, (CUtensorMapDataType)v[2], v[3], source + v[4], dims, strides, box,
                                 steps, (CUtensorMapInterleave)v[24], (CUtensorMapSwizzle)v[25],
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)v[26]);
        uint32_t offset = (uint32_t)(v[32] & 0xffff), bytes = (uint32_t)(v[32] >> 16);
        if (result || kind == 2) {
            printf("%lld encode %d\n", v[0], (int)result);
            continue;
        }
        int stores = kind == 1;
        *late = 0;
        void *args[] = {&map, &p, &offset, &bytes, &stores, &out, &late};
        cudaError_t e = cudaLaunchKernel(kernels[v[3]], 1, 128, args, REGION, 0);
        if (e == cudaSuccess)
            e = cudaDeviceSynchronize();
        if (e != cudaSuccess) {
            printf("%lld error %s\n", v[0], cudaGetErrorString(e));
            fflush(stdout);
            return 0; /* the context is gone */
        }
        cudaMemcpy(shared.data(), out, REGION, cudaMemcpyDeviceToHost);
        cudaMemcpy(got.data(), source, SOURCE, cudaMemcpyDeviceToHost);
        printf("%lld ran late %d shared %016llx source %016llx", v[0], *late,
               (unsigned long long)digest(shared.data(), REGION),
               (unsigned long long)digest(got.data(), SOURCE));
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
