// Every function of memory: device, pinned, managed and pitched memory, pools, copies, fills, variables.
#include <cstring>

#include "check.h"

__device__ int counter = 3;
__constant__ float scale[4] = {1, 2, 3, 4};
__device__ __managed__ int shared_counter = 10;

__global__ void scaled(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * scale[i % 4];
    if (i == 0) {
        counter++;
        shared_counter += 2;
    }
}

static void variables() {
    float h[8] = {1, 1, 1, 1, 2, 2, 2, 2}, got[8], factors[2] = {10, 20}, *in, *out;
    int count;
    void *address;
    size_t bytes;
    CHECK(cudaMalloc(&in, sizeof h));
    CHECK(cudaMalloc(&out, sizeof h));
    CHECK(cudaMemcpy(in, h, sizeof h, cudaMemcpyDefault));
    CHECK(cudaMemcpyToSymbol(scale, factors, sizeof factors, 2 * sizeof(float)));
    EXPECT(shared_counter == 10);
    for (int i = 0; i < 2; i++)
        scaled<<<1, 32>>>(in, out, 8);
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 5);
    EXPECT(shared_counter == 14);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 1 && got[1] == 2 && got[2] == 10 && got[3] == 20 && got[7] == 40);
    CHECK(cudaGetSymbolAddress(&address, counter));
    CHECK(cudaGetSymbolSize(&bytes, scale));
    EXPECT(bytes == 16);
    CHECK(cudaMemset(address, 0, sizeof count));
    CHECK(cudaMemcpyFromSymbolAsync(&count, counter, sizeof count, 0, cudaMemcpyDeviceToHost, 0));
    EXPECT(count == 0);
    CHECK(cudaMemcpyToSymbolAsync(counter, h, sizeof count, 0, cudaMemcpyHostToDevice, 0));
    FAILS(cudaMemcpyToSymbol(scale, factors, sizeof factors, 12), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(h, factors, sizeof factors), cudaErrorInvalidSymbol);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void host_memory() {
    float *pinned, *mapped, *managed, *view, own[64];
    unsigned flags;
    cudaPointerAttributes attributes;
    CHECK(cudaMallocHost(&pinned, 256));
    CHECK(cudaHostAlloc(&mapped, 256, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&view, mapped, 0));
    CHECK(cudaHostGetFlags(&flags, mapped));
    EXPECT(flags == cudaHostAllocMapped);
    CHECK(cudaMallocManaged(&managed, 256));
    CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    FAILS(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    for (int i = 0; i < 64; i++)
        pinned[i] = mapped[i] = own[i] = i;
    scaled<<<2, 32>>>(view, managed, 64);
    CHECK(cudaDeviceSynchronize());
    EXPECT(managed[63] == 63 * 20 && managed[60] == 60);
    scaled<<<2, 32>>>(own, pinned, 64);
    CHECK(cudaDeviceSynchronize());
    EXPECT(pinned[62] == 620);
    CHECK(cudaMemAdvise(managed, 256, cudaMemAdviseSetReadMostly,
                        cudaMemLocation{cudaMemLocationTypeDevice, 0}));
    CHECK(cudaMemPrefetchAsync(managed, 256, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, 0));
    CHECK(cudaPointerGetAttributes(&attributes, managed));
    EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == managed);
    CHECK(cudaPointerGetAttributes(&attributes, pinned + 5));
    EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == pinned + 5);
    CHECK(cudaPointerGetAttributes(&attributes, &flags));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    CHECK(cudaHostUnregister(own));
    FAILS(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFree(managed));
    FAILS(cudaFreeHost(&flags), cudaErrorInvalidValue);
}

static void rows() {
    enum { WIDTH = 10, HEIGHT = 4, DEPTH = 2 };
    char h[HEIGHT][WIDTH], got[HEIGHT][WIDTH], box[DEPTH][HEIGHT][WIDTH];
    char *d;
    size_t pitch;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        (&h[0][0])[i] = i;
    CHECK(cudaMallocPitch(&d, &pitch, WIDTH, HEIGHT));
    EXPECT(pitch >= WIDTH && pitch % 512 == 0);
    CHECK(cudaMemcpy2D(d, pitch, h, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    CHECK(cudaMemset2D(d + 2, pitch, 99, 3, HEIGHT));
    CHECK(cudaMemset2DAsync(d + pitch, pitch, 77, 1, 1, 0));
    CHECK(cudaMemcpy2DAsync(got, WIDTH, d, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost, 0));
    EXPECT(got[3][1] == 31 && got[3][2] == 99 && got[3][4] == 99 && got[3][5] == 35 && got[1][0] == 77);
    FAILS(cudaMemcpy2D(got, 5, d, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    CHECK(cudaFree(d));
    cudaPitchedPtr p;
    cudaMemcpy3DParms parms = {};
    CHECK(cudaMalloc3D(&p, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    CHECK(cudaMemset3D(p, 5, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    CHECK(cudaMemset3DAsync(p, 6, make_cudaExtent(1, 1, DEPTH), 0));
    parms.srcPtr = p;
    parms.dstPtr = make_cudaPitchedPtr(box, WIDTH, WIDTH, HEIGHT);
    parms.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    parms.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&parms));
    EXPECT(box[1][0][0] == 6 && box[1][0][1] == 5 && box[1][3][9] == 5);
    CHECK(cudaMemcpy3DAsync(&parms, 0));
    CHECK(cudaFree(p.ptr));
}

static void pools() {
    cudaMemPool_t pool, own;
    cudaMemPoolProps properties = {};
    unsigned long long threshold = 1 << 20, got = 0;
    int reuse = 1;
    int *a, *b, h[4] = {1, 2, 3, 4}, back[4];
    size_t before, after, total;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaDeviceGetMemPool(&own, 0));
    EXPECT(own == pool);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    EXPECT(got == threshold);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &properties));
    CHECK(cudaDeviceSetMemPool(0, own));
    CHECK(cudaMemGetInfo(&before, &total));
    CHECK(cudaMallocAsync(&a, sizeof h, 0));
    CHECK(cudaMallocFromPoolAsync(&b, sizeof h, own, 0));
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(before == after + 2 * sizeof h && total > before);
    CHECK(cudaMemcpyAsync(a, h, sizeof h, cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpyAsync(b, a, sizeof h, cudaMemcpyDeviceToDevice, 0));
    CHECK(cudaMemcpyPeer(a + 1, 0, b, 0, 2 * sizeof(int)));
    CHECK(cudaMemcpyPeerAsync(a + 3, 0, b, 0, sizeof(int), 0));
    CHECK(cudaMemsetAsync(b, 0, sizeof(int), 0));
    CHECK(cudaMemcpy(back, a, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 1 && back[1] == 1 && back[2] == 2 && back[3] == 1);
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaFreeAsync(a, 0));
    CHECK(cudaFreeAsync(b, 0));
    CHECK(cudaMemPoolDestroy(own));
}

static void refusals() {
    int *d, h[4];
    CHECK(cudaMalloc(&d, sizeof h));
    FAILS(cudaMemcpy(d, h, 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(h, h + 1, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(d, d, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(d, h, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemset(d + 1, 0, sizeof h), cudaErrorInvalidValue);
    FAILS(cudaMalloc(&d, (size_t)1 << 60), cudaErrorMemoryAllocation);
    FAILS(cudaFree(h), cudaErrorInvalidValue);
    CHECK(cudaFree(0));
    CHECK(cudaMemcpy(h, h + 2, 8, cudaMemcpyHostToHost));
}

int main() {
    variables();
    host_memory();
    rows();
    pools();
    refusals();
    printf("memory: right\n");
}
