// The functions of the runtime that no other program of this folder calls, each at least once.
#include <cstring>

#include <cuda_profiler_api.h>

#include "check.h"

constexpr int N = 64;

__global__ void count_up(int *a) {
    a[threadIdx.x] += threadIdx.x;
}

static int host[N], back[N];

// Copies to and from a CUDA array, in order and asynchronous; objects tell what they were made of.
static void check_arrays() {
    float rows[4][8], read[4][8] = {};
    for (int i = 0; i < 32; i++)
        rows[i / 8][i % 8] = i * 0.5f - 3;
    const size_t width = sizeof rows[0];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), found;
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 8, 4, cudaArraySurfaceLoadStore));
    CHECK(cudaGetChannelDesc(&found, array));
    EXPECT(found.x == 32 && found.y == 0 && found.f == cudaChannelFormatKindFloat);
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, rows, width, width, 4, cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpy2DFromArrayAsync(read, width, array, 0, 0, width, 4, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(!memcmp(rows, read, sizeof rows));
    CHECK(
        cudaMemcpyToArrayAsync(array, 4, 2, rows, 8, cudaMemcpyHostToDevice, 0)); // elements 1 and 2 of row 2
    memcpy(&rows[2][1], rows, 8);
    CHECK(cudaMemcpyFromArray(read, array, 0, 2, width, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(read, rows[2], width));
    CHECK(cudaMemcpyFromArrayAsync(read, array, 8, 1, 8, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(!memcmp(read, &rows[1][2], 8));
    FAILS(cudaMemcpy2DToArrayAsync(array, 4, 0, rows, 1 << 20, 1 << 20, 4, cudaMemcpyHostToDevice, 0),
          cudaErrorInvalidValue);
    cudaResourceDesc resource = {}, given;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {}, same;
    texture.addressMode[0] = cudaAddressModeMirror;
    texture.filterMode = cudaFilterModeLinear;
    texture.normalizedCoords = 1;
    cudaTextureObject_t object;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    CHECK(cudaGetTextureObjectTextureDesc(&same, object));
    EXPECT(same.addressMode[0] == cudaAddressModeMirror && same.filterMode == cudaFilterModeLinear);
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    CHECK(cudaGetSurfaceObjectResourceDesc(&given, surface));
    EXPECT(given.resType == cudaResourceTypeArray && given.res.array.array == array);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
}

// A graph that allocates, copies, counts and frees; edges and instances by their other functions.
static void check_graphs() {
    cudaGraph_t graph;
    cudaGraphNode_t allocate, copy_in, kernel, copy_out, release, empty;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = sizeof host;
    CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &memory));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host, N, 1);
    copy.dstPtr = make_cudaPitchedPtr(memory.dptr, sizeof host, N, 1);
    copy.extent = make_cudaExtent(sizeof host, 1, 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphAddMemcpyNode(&copy_in, graph, &allocate, 1, &copy));
    void *arguments[] = {&memory.dptr};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)count_up;
    launch.gridDim = dim3(1), launch.blockDim = dim3(N);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, &copy_in, 1));
    CHECK(cudaGraphAddDependencies(graph, &empty, &kernel, nullptr, 1));
    copy.srcPtr = copy.dstPtr;
    copy.dstPtr = make_cudaPitchedPtr(back, sizeof back, N, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&copy_out, graph, &kernel, 1, &copy));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &copy_out, 1, memory.dptr));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphUpload(exec, 0));
    unsigned long long used, zero = 0, one = 1;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    FAILS(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one), cudaErrorInvalidValue);
    for (int i = 0; i < N; i++)
        host[i] = 3 * i;
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < N; i++)
        EXPECT(back[i] == 4 * i);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
}

static void check_captures() {
    cudaStream_t stream;
    cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph;
    CHECK(cudaStreamCreate(&stream));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal);
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeRelaxed);
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT(status == cudaStreamCaptureStatusNone);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

static void check_settings() {
    cudaSharedMemConfig banks;
    CHECK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    CHECK(cudaDeviceGetSharedMemConfig(&banks));
    EXPECT(banks == cudaSharedMemBankSizeFourByte); // as on every GPU since Maxwell
    CHECK(cudaFuncSetSharedMemConfig(count_up, cudaSharedMemBankSizeFourByte));
    int blocks = 0, same = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, count_up, 256, 0,
                                                                 cudaOccupancyDisableCachingOverride));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&same, (const void *)count_up, 256, 0));
    EXPECT(blocks == same && blocks == 8);
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (const void *)count_up));
    EXPECT(function != nullptr);
    CHECK(cudaProfilerStart());
    CHECK(cudaProfilerStop());
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    void *pinned;
    CHECK(cudaMallocHost(&pinned, sizeof host));
    CHECK(cudaMemcpy(pinned, host, sizeof host, cudaMemcpyDefault));
    EXPECT(!memcmp(pinned, host, sizeof host));
    CHECK(cudaFreeHost(pinned));
    int *managed;
    CHECK(cudaMallocManaged(&managed, sizeof host));
    CHECK(cudaStreamAttachMemAsync(0, managed, sizeof host, cudaMemAttachGlobal));
    CHECK(cudaFree(managed));
}

// Binaries of CUDA 12 launch by cudaLaunchKernel, and templates by cudaLaunchKernelEx.
static void check_launches() {
    int *a;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMemset(a, 0, sizeof host));
    void *arguments[] = {&a};
    CHECK(cudaLaunchKernel((const void *)count_up, dim3(1), dim3(N), arguments, 0, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(N);
    CHECK(cudaLaunchKernelExC(&config, (const void *)count_up, arguments));
    CHECK(cudaLaunchKernelEx(&config, count_up, a));
    CHECK(cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(back[i] == 3 * i);
    CHECK(cudaFree(a));
}

int main() {
    check_arrays();
    check_graphs();
    check_captures();
    check_settings();
    check_launches();
    printf("others: right\n");
    return 0;
}
