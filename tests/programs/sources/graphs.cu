// CUDA graphs: nodes that are added one by one, and streams that are captured.
#include <cstring>

#include "check.h"

constexpr int N = 100;

__global__ void scale(float *a, float factor) {
    if (threadIdx.x < N)
        a[threadIdx.x] *= factor;
}

__global__ void add(float *a, const float *b) {
    if (threadIdx.x < N)
        a[threadIdx.x] += b[threadIdx.x];
}

static float host[N], back[N];
static float *a, *b;
static int calls;

static void count(void *by) {
    calls += *(int *)by;
}

static void expect(float factor, float summand) {
    for (int i = 0; i < N; i++)
        EXPECT(back[i] == factor * host[i] + summand);
}

static void check_nodes() {
    cudaGraph_t graph, child, clone;
    cudaGraphNode_t copy, fill, scaled, added, last, node;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, a, host, sizeof host, cudaMemcpyHostToDevice));
    cudaMemsetParams zeros = {};
    zeros.dst = b;
    zeros.elementSize = 4;
    zeros.value = 0x3f800000; // 1.0f
    zeros.width = N;
    zeros.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));
    float factor = 2;
    void *arguments[] = {&a, &factor};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)scale;
    kernel.gridDim = dim3(1), kernel.blockDim = dim3(128);
    kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&scaled, graph, &copy, 1, &kernel));
    factor = 77; // the node has its own copy
    void *others[] = {&a, &b};
    cudaKernelNodeParams sum = kernel;
    sum.func = (void *)add;
    sum.kernelParams = others;
    cudaGraphNode_t both[] = {scaled, fill};
    CHECK(cudaGraphAddKernelNode(&added, graph, both, 2, &sum));
    CHECK(cudaGraphCreate(&child, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&node, child, nullptr, 0, back, a, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddChildGraphNode(&last, graph, &added, 1, child));
    static int by = 3;
    cudaHostNodeParams call = {count, &by};
    CHECK(cudaGraphAddHostNode(&node, graph, &last, 1, &call));
    size_t nodes = 0, roots = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT(nodes == 6 && roots == 2);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(last, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);

    cudaGraphExec_t exec, other;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphInstantiate(&other, clone, 0));
    EXPECT(calls == 0);
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    expect(2, 1);
    factor = 5;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, scaled, &kernel));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    expect(5, 1);
    CHECK(cudaGraphLaunch(other, nullptr)); // the clone is as the graph was
    CHECK(cudaDeviceSynchronize());
    expect(2, 1);
    EXPECT(calls == 9);
    factor = 8;
    CHECK(cudaGraphKernelNodeSetParams(scaled, &kernel));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    expect(8, 1);
    EXPECT(cudaGraphExecUpdate(exec, child, &info) == cudaErrorGraphExecUpdateFailure);
    (void)cudaGetLastError();
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(other));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(child));
    FAILS(cudaGraphDestroy(child), cudaErrorInvalidValue);
}

static void check_capture() {
    cudaStream_t stream, side;
    cudaEvent_t fork, joined;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&joined));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    float *scratch;
    CHECK(cudaMallocAsync(&scratch, N * sizeof(float), stream));
    CHECK(cudaMemcpyAsync(a, host, sizeof host, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    CHECK(cudaMemcpyAsync(scratch, a, sizeof host, cudaMemcpyDeviceToDevice, side));
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    scale<<<1, 128, 0, stream>>>(a, 3);
    add<<<1, 128, 0, stream>>>(a, scratch);
    CHECK(cudaMemcpyAsync(back, a, sizeof back, cudaMemcpyDeviceToHost, stream));
    static int by = 100;
    CHECK(cudaLaunchHostFunc(stream, count, &by));
    CHECK(cudaFreeAsync(scratch, stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    memset(back, 0, sizeof back);
    calls = 0;
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT(back[1] == 0 && calls == 0); // nothing has run
    for (int i = 1; i <= 2; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        expect(4, 0);
        EXPECT(calls == 100 * i);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    FAILS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    scale<<<1, 128, 0, stream>>>(a, 2); // at once again
    CHECK(cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost));
    expect(8, 0);
}

int main() {
    for (int i = 0; i < N; i++)
        host[i] = i - 30.5f;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    check_nodes();
    check_capture();
    printf("graphs: right\n");
    return 0;
}
