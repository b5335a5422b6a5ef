// The device, streams, events, functions and launches of every kind; printf, assert, malloc in kernels.
#include <cassert>
#include <cooperative_groups.h>
#include <cstring>
#include <cuda_profiler_api.h>

#include "check.h"

namespace cg = cooperative_groups;

struct Shape {
    int rows, columns;
    double scale;
};

__global__ void fill(int *out, Shape shape, char offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < shape.rows * shape.columns)
        out[i] = (int)(i * shape.scale) + offset;
}

__global__ void dynamic(int *out) {
    extern __shared__ int many[];
    many[threadIdx.x * 100] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = many[(blockDim.x - 1 - threadIdx.x) * 100];
}

// Each block adds, then all blocks read the sum.
__global__ void together(int *sum, int *out) {
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0)
        atomicAdd(sum, blockIdx.x + 1);
    grid.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = *sum;
    grid.sync();
    if (grid.thread_rank() == 0)
        *sum = -1;
}

__global__ void ranks(int *out) {
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ int mine;
    mine = blockIdx.x;
    cluster.sync();
    int *other = cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = 10 * *other + cluster.num_blocks();
    cluster.sync();
}

struct Node {
    int value;
    Node *next;
};

__global__ void list(int *out, int n) {
    Node *head = nullptr;
    for (int i = 0; i < n; i++)
        head = new Node{i, head};
    int sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        delete head;
        head = next;
    }
    int *copy = (int *)malloc(sizeof(int));
    *copy = sum;
    out[threadIdx.x] = *copy;
    free(copy);
}

__global__ void greet() {
    assert(blockDim.x == 2);
    printf("block %d, thread %d\n", blockIdx.x, threadIdx.x);
}

static void properties() {
    int count, device, value;
    cudaDeviceProp p;
    char address[32];
    unsigned flags;
    size_t limit;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaChooseDevice(&device, &p));
    CHECK(cudaInitDevice(0, 0, 0));
    CHECK(cudaSetValidDevices(&device, 1));
    EXPECT(count == 1 && device == 0);
    CHECK(cudaGetDeviceProperties(&p, 0));
    EXPECT(strstr(p.name, "gpureduce") && p.major == 9 && p.warpSize == 32 && p.maxThreadsDim[2] == 64);
    EXPECT(p.maxGridSize[1] == 65535 && p.multiProcessorCount == 132 &&
           p.sharedMemPerBlockOptin == 227 << 10);
    EXPECT(p.maxThreadsPerMultiProcessor == 2048 && p.cooperativeLaunch && p.clusterLaunch &&
           p.managedMemory);
    EXPECT(p.reservedSharedMemPerBlock == 1024 && p.memoryPoolsSupported &&
           p.hostNumaMultinodeIpcSupported == 0);
    EXPECT(p.totalConstMem == 64 << 10 && p.maxTexture1D == 0 && p.surfaceAlignment == 512);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == p.multiProcessorCount);
    CHECK(cudaDeviceGetPCIBusId(address, sizeof address, 0));
    CHECK(cudaDeviceGetByPCIBusId(&device, address));
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    CHECK(cudaGetDeviceFlags(&flags));
    EXPECT((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleYield && (flags & cudaDeviceMapHost));
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 1 << 20);
    FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
    FAILS(cudaDeviceGetLimit(&limit, (cudaLimit)77), cudaErrorInvalidValue);
    FAILS(cudaDeviceCanAccessPeer(&value, 0, 1), cudaErrorInvalidDevice);
    FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
    FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorInvalidDevice);
    CHECK(cudaRuntimeGetVersion(&value));
    EXPECT(value >= 13000);
    CHECK(cudaDriverGetVersion(&value));
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    cudaFuncCache preference;
    CHECK(cudaDeviceGetCacheConfig(&preference));
    CHECK(cudaCtxResetPersistingL2Cache());
    EXPECT(cudaCreateChannelDesc<float>().x == 32);
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered"));
    EXPECT(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
}

static void streams() {
    cudaStream_t stream, other;
    cudaEvent_t start, stop, untimed;
    int priority, least, greatest, *d, h[6], calls = 0;
    unsigned flags;
    unsigned long long id;
    float milliseconds;
    cudaStreamCaptureStatus capturing;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaStreamGetFlags(other, &flags));
    EXPECT(flags == cudaStreamNonBlocking);
    CHECK(cudaStreamDestroy(other));
#ifndef ON_A_GPU // where the use of a destroyed handle is undefined
    FAILS(cudaStreamSynchronize(other), cudaErrorInvalidResourceHandle);
#endif
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(cudaStreamCreateWithPriority(&other, cudaStreamDefault, greatest - 10));
    CHECK(cudaStreamGetPriority(other, &priority));
    EXPECT(priority == greatest && least == 0);
    CHECK(cudaStreamGetId(other, &id));
    CHECK(cudaStreamIsCapturing(other, &capturing));
    EXPECT(capturing == cudaStreamCaptureStatusNone);
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CHECK(cudaMalloc(&d, sizeof h));
    FAILS(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(start, stream));
    fill<<<1, 32, 0, stream>>>(d, Shape{2, 3, 1.5}, 4);
    CHECK(cudaEventRecordWithFlags(stop, stream, 0));
    CHECK(cudaEventRecord(untimed, stream));
    CHECK(cudaStreamWaitEvent(other, stop, 0));
    CHECK(cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDeviceToHost, other));
    CHECK(cudaLaunchHostFunc(
        other, [](void *data) { ++*(int *)data; }, &calls));
    CHECK(cudaStreamAddCallback(
        other, [](cudaStream_t, cudaError_t status, void *data) { *(int *)data += 10 + status; }, &calls, 0));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaStreamQuery(stream));
    CHECK(cudaEventQuery(stop));
    CHECK(cudaEventSynchronize(stop));
    EXPECT(h[0] == 4 && h[3] == 8 && h[5] == 11 && calls == 11);
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds > 0 && milliseconds < 1e-3); // less than 1,000 instructions of one warp
    FAILS(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
    CHECK(cudaEventDestroy(start));
#ifndef ON_A_GPU
    FAILS(cudaEventRecord(start), cudaErrorInvalidResourceHandle);
#endif
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaEventDestroy(untimed));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(d));
}

static void functions() {
    cudaFuncAttributes attributes;
    int blocks, size, threads, *d, h[1024];
    size_t offset, bytes;
    const char *name;
    cudaKernel_t kernel;
    CHECK(cudaFuncGetAttributes(&attributes, together));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.sharedSizeBytes == 0);
    CHECK(cudaFuncGetAttributes(&attributes, ranks));
    EXPECT(attributes.sharedSizeBytes == 4);
    CHECK(cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared));
    CHECK(cudaFuncGetName(&name, (const void *)fill));
    EXPECT(strstr(name, "fill"));
    CHECK(cudaFuncGetParamInfo((const void *)fill, 1, &offset, &bytes));
    EXPECT(offset == 8 && bytes == sizeof(Shape));
    CHECK(cudaGetKernel(&kernel, (const void *)fill));
    CHECK(cudaMalloc(&d, sizeof h));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic, 256, 100 << 10));
    EXPECT(blocks == 0);
    dynamic<<<1, 1024, 100 * 1024 * 4>>>(d);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue); // more than 48 KiB need an attribute
    FAILS(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
          cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 512 * 400));
    dynamic<<<1, 512, 512 * 400>>>(d);
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 511 && h[511] == 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
    EXPECT(blocks == 8);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic, 256, 100 << 10));
    EXPECT(blocks == 2);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&size, &threads, fill, 0, 0));
    EXPECT(threads == 1024 && size == 2 * 132);
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, fill, 2, 1024));
    EXPECT(bytes == 48 << 10);
    CHECK(cudaFree(d));
}

static void launches() {
    int *d, h[64], four = 4, sixteen = 16;
    CHECK(cudaMalloc(&d, sizeof h));
    CHECK(cudaMemset(d, 0, sizeof h));
    int *out = d + 1;
    void *arguments[] = {&d, &out};
    CHECK(cudaLaunchCooperativeKernel((void *)together, 40, 64, arguments, 0, 0));
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == -1 && h[1] == 820 && h[40] == 820);
    FAILS(cudaLaunchCooperativeKernel((void *)together, 1 << 20, 64, arguments, 0, 0),
          cudaErrorCooperativeLaunchTooLarge);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)four, 1, 1};
    config.gridDim = sixteen;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, ranks, d));
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 14 && h[15] == 144);
    int clusters, largest;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, ranks, &config));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&largest, ranks, &config));
    EXPECT(clusters == 32 * 132 / 4 && largest == 8);
    int n = 5;
    void *list_arguments[] = {&d, &n};
    CHECK(cudaLaunchKernel((void *)list, 1, 64, list_arguments, 0, 0));
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 10 && h[63] == 10);
    fill<<<0, 32>>>(d, Shape{1, 1, 1}, 0);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    fill<<<1, 1025>>>(d, Shape{1, 1, 1}, 0);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(h, 1, 1, arguments, 0, 0), cudaErrorInvalidResourceHandle);
    FAILS(cudaGraphDebugDotPrint(nullptr, "graph.dot", 0), cudaErrorNotSupported);
    CHECK(cudaFree(d));
}

int main() {
    properties();
    streams();
    functions();
    launches();
    CHECK(cudaProfilerStart());
    greet<<<2, 2>>>();
    printf("before the kernel's output\n"); // which a synchronisation shows
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStop());
    printf("device: right\n");
}
