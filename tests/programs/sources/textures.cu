// Textures, surfaces and arrays: what each function gives, as the programming guide defines it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // cudaMemcpyToArray
#include <cmath>
#include <cstring>

#include "check.h"

constexpr int WIDTH = 5, HEIGHT = 4, DEPTH = 3;

__global__ void fetch(cudaTextureObject_t t, float *out, int n) {
    int i = threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float>(t, i - 2);
}

__global__ void sample1(cudaTextureObject_t t, const float *x, float *out) {
    out[threadIdx.x] = tex1D<float>(t, x[threadIdx.x]);
}

__global__ void sample2(cudaTextureObject_t t, const float *x, float *out) {
    out[threadIdx.x] =
        tex2D<float>(t, x[threadIdx.x], 1.5f) + 100 * tex2DLod<float>(t, 0.5f, x[threadIdx.x], 0);
}

__global__ void weigh(cudaTextureObject_t t, float x, float y, float *out) {
    out[0] = tex2D<float>(t, 0.5f + x, 0.5f + y);
}

__global__ void sample3(cudaTextureObject_t t, float *out) {
    out[threadIdx.x] = tex3D<float>(t, 1.25f, 2.0f, threadIdx.x * 0.5f);
}

__global__ void bytes(cudaTextureObject_t raw, cudaTextureObject_t normalized, float *out) {
    uchar4 four = tex2D<uchar4>(raw, 1.5f, 0.5f);
    float4 part = tex2D<float4>(normalized, 1.5f, 0.5f);
    out[0] = four.x + 1000.0f * four.w;
    out[1] = part.x;
    out[2] = part.w;
}

__global__ void layers(cudaTextureObject_t t, cudaTextureObject_t cube, float *out) {
    out[threadIdx.x] = tex2DLayered<float>(t, 1.5f, 0.5f, threadIdx.x);
    const float3 faces[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    out[8 + threadIdx.x % 6] =
        texCubemap<float>(cube, faces[threadIdx.x % 6].x, faces[threadIdx.x % 6].y, faces[threadIdx.x % 6].z);
}

__global__ void transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = threadIdx.y;
    float value;
    surf2Dread(&value, from, x * (int)sizeof(float), y);
    surf2Dwrite(value, to, y * (int)sizeof(float), x);
    surf2Dwrite(-1.0f, to, 1000, 1000, cudaBoundaryModeZero);
}

__global__ void outside(cudaSurfaceObject_t to) {
    surf2Dwrite(1.0f, to, 0, 100 + threadIdx.x);
}

static float element(int x, int y, int z) {
    return x + 10.0f * y + 100.0f * z;
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode mode,
                                      cudaTextureFilterMode filter, bool normalized,
                                      cudaTextureReadMode read = cudaReadModeElementType) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = mode;
    for (int axis = 1; axis < 3; axis++) // along which an array of one row is a border, too
        description.addressMode[axis] = mode == cudaAddressModeBorder ? cudaAddressModeClamp : mode;
    description.filterMode = filter;
    description.readMode = read;
    description.normalizedCoords = normalized;
    description.borderColor[0] = -7;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface = 0;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static float *x, *out; // managed

static void check_linear_memory() {
    float *data, host[4] = {1.5f, 2.5f, 3.5f, 4.5f};
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = sizeof host;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    fetch<<<1, 32>>>(texture, out, 8);
    CHECK(cudaDeviceSynchronize());
    const float wanted[] = {0, 0, 1.5f, 2.5f, 3.5f, 4.5f, 0, 0};
    EXPECT(!memcmp(out, wanted, sizeof wanted));
    cudaResourceDesc same;
    CHECK(cudaGetTextureObjectResourceDesc(&same, texture));
    EXPECT(same.res.linear.devPtr == data);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(data));
}

// One row: address modes and filters.
static void check_rows() {
    float host[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        host[i] = 1 << i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, WIDTH));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host, sizeof host, 1, cudaMemcpyHostToDevice));
    const struct {
        cudaTextureAddressMode mode;
        cudaTextureFilterMode filter;
        bool normalized;
        float x[6], wanted[6];
    } cases[] = {
        {cudaAddressModeClamp, cudaFilterModePoint, false, {-3, 0, 0.99f, 1, 4.5f, 9}, {1, 1, 1, 2, 16, 16}},
        {cudaAddressModeBorder,
         cudaFilterModePoint,
         false,
         {-1, 0, 2.5f, 5, 4.9f, 9},
         {-7, 1, 4, -7, 16, -7}},
        {cudaAddressModeWrap,
         cudaFilterModePoint,
         true,
         {-0.1f, 0.1f, 1.3f, 2.5f, 0.9f, 0.5f},
         {16, 1, 2, 4, 16, 4}},
        {cudaAddressModeMirror,
         cudaFilterModePoint,
         true,
         {-0.1f, 0.1f, 1.1f, 1.3f, 2.1f, 0.5f},
         {1, 1, 16, 8, 1, 4}},
        // weights of 8 bits: 0.3 is 77/256
        {cudaAddressModeClamp,
         cudaFilterModeLinear,
         false,
         {0.5f, 1, 1.8f, 3.25f, -2, 7},
         {1, 1.5f, 2 + 2 * 77 / 256.0f, 4 + 4 * 0.75f, 1, 16}},
        {cudaAddressModeBorder,
         cudaFilterModeLinear,
         false,
         {0, 0.5f, 5, 4.5f, -2, 2},
         {-3, 1, 4.5f, 16, -7, 3}},
    };
    for (auto &each : cases) {
        memcpy(x, each.x, sizeof each.x);
        sample1<<<1, 6>>>(texture_of(array, each.mode, each.filter, each.normalized), x, out);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 6; i++)
            EXPECT(out[i] == each.wanted[i]);
    }
    CHECK(cudaFreeArray(array));
}

// A product of two weights is rounded to 1/256: these are an H100's, of the elements (0, 0), (1, 0), (0, 1)
// and (1, 1).
static void check_weights() {
    const struct {
        int x, y, weights[4];
    } measured[] = {{1, 128, {128, 0, 127, 1}},
                    {128, 1, {128, 127, 0, 1}},
                    {77, 2, {178, 76, 1, 1}},
                    {200, 3, {55, 198, 1, 2}},
                    {77, 100, {109, 47, 70, 30}}};
    const float host[4] = {0, 1, 1000, 7};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 2, 2));
    CHECK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    cudaTextureObject_t texture = texture_of(array, cudaAddressModeClamp, cudaFilterModeLinear, false);
    for (auto &each : measured) {
        weigh<<<1, 1>>>(texture, each.x / 256.0f, each.y / 256.0f, out);
        CHECK(cudaDeviceSynchronize());
        EXPECT(out[0] == (each.weights[1] + 1000 * each.weights[2] + 7 * each.weights[3]) / 256.0f);
    }
    CHECK(cudaFreeArray(array));
}

static void check_planes() {
    float host[HEIGHT][WIDTH], back[WIDTH][HEIGHT];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        host[i / WIDTH][i % WIDTH] = element(i % WIDTH, i / WIDTH, 0);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array, other;
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&other, &format, HEIGHT, WIDTH, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    x[0] = 1.5f, x[1] = 2.5f;
    sample2<<<1, 2>>>(texture_of(array, cudaAddressModeClamp, cudaFilterModePoint, false), x, out);
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[0] == element(1, 1, 0) + 100 * element(0, 1, 0));
    EXPECT(out[1] == element(2, 1, 0) + 100 * element(0, 2, 0));
    transpose<<<1, dim3(WIDTH, HEIGHT)>>>(surface_of(array), surface_of(other));
    CHECK(cudaMemcpy2DFromArray(back, sizeof back[0], other, 0, 0, sizeof back[0], WIDTH,
                                cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT(back[i % WIDTH][i / WIDTH] == host[i / WIDTH][i % WIDTH]);
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(&format, &extent, nullptr, array));
    EXPECT(format.x == 32 && format.f == cudaChannelFormatKindFloat && extent.width == WIDTH &&
           extent.height == HEIGHT);
    FAILS(cudaMemcpyToArray(array, 0, 1, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
}

static void check_bytes() {
    uchar4 host[2] = {{1, 2, 3, 4}, {51, 6, 7, 255}};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 2, 1));
    CHECK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    bytes<<<1, 1>>>(
        texture_of(array, cudaAddressModeClamp, cudaFilterModePoint, false),
        texture_of(array, cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat),
        out);
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[0] == 51 + 1000.0f * 255 && out[1] == 51 / 255.0f && out[2] == 1);
}

static cudaArray_t box_of(int width, int height, int depth, unsigned flags) {
    static float host[6 * 8 * 8];
    for (int i = 0; i < width * height * depth; i++)
        host[i] = element(i % width, i / width % height, i / width / height);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(width, height, depth);
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, width * sizeof(float), width, height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void check_boxes() {
    cudaArray_t box = box_of(WIDTH, HEIGHT, DEPTH, 0);
    sample3<<<1, 7>>>(texture_of(box, cudaAddressModeClamp, cudaFilterModeLinear, false), out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 7; i++) {
        const float z = fminf(fmaxf(i * 0.5f - 0.5f, 0), DEPTH - 1);
        EXPECT(out[i] == 0.75f + 15 + 100 * z);
    }
    cudaArray_t layered = box_of(WIDTH, HEIGHT, DEPTH, cudaArrayLayered),
                cube = box_of(2, 2, 6, cudaArrayCubemap);
    layers<<<1, 6>>>(texture_of(layered, cudaAddressModeClamp, cudaFilterModePoint, false),
                     texture_of(cube, cudaAddressModeClamp, cudaFilterModePoint, true), out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 6; i++) {
        EXPECT(out[i] == element(1, 0, i < DEPTH ? i : DEPTH - 1));
        EXPECT(out[8 + i] == element(1, 1, i));
    }
}

int main(int argc, char **argv) {
    CHECK(cudaMallocManaged(&x, 256));
    CHECK(cudaMallocManaged(&out, 256));
    check_linear_memory();
    check_rows();
    check_planes();
    check_weights();
    check_bytes();
    check_boxes();
    if (argc > 1 && !strcmp(argv[1], "outside")) {
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        cudaArray_t array;
        CHECK(cudaMallocArray(&array, &format, 8, 8, cudaArraySurfaceLoadStore));
        outside<<<1, 1>>>(surface_of(array));
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
    printf("textures: right\n");
    return 0;
}
