/* What a GPU's tensor cores make of tests/ptxsim/tensor_cases.h and double_cases.h, where wgmma finds its
   operands in shared memory, and what cvt.tf32 does: nvcc -arch=sm_90a -O2 -I tests/ptxsim
   tests/gpu/tensor_cores.cu -o probe; ./probe FOLDER. tests/gpu/tensor_cores.py makes the files that the
   tests read of what it writes. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tensor_cases.h"

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* ---- products in registers ---- */

__device__ uint32_t pack(const uint32_t *x, int count, int stride) {
    uint32_t packed = 0;
    for (int i = 0; i < count; i++)
        packed |= x[i * stride] << (i * 32 / count);
    return packed;
}

/* The fragment of A of a warp: 4 registers or 2, each of the elements of 4 bytes of a row. */
template <int K, int PER> __device__ void load_a(const uint32_t *a, uint32_t (&r)[4]) {
    const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * PER;
    for (int i = 0; i < K / PER / 2; i++)
        r[i] = pack(a + (row + i % 2 * 8) * K + column + i / 2 * 4 * PER, PER, 1);
}

template <int K, int PER> __device__ void load_b(const uint32_t *b, uint32_t (&r)[2]) {
    const int column = threadIdx.x % 32 / 4, row = threadIdx.x % 4 * PER;
    for (int i = 0; i < K / PER / 4; i++)
        r[i] = pack(b + (row + i * 4 * PER) * TC_COLUMNS + column, PER, TC_COLUMNS);
}

/* Where element i of a thread's part of C is. */
__device__ int place(int i) {
    return (threadIdx.x % 32 / 4 + i / 2 * 8) * TC_COLUMNS + threadIdx.x % 4 * 2 + i % 2;
}

__device__ void load_c(const uint32_t *c, uint32_t (&r)[4], bool half) {
    for (int i = 0; i < 4; i++)
        r[i] = c[place(i)];
    if (half)
        for (int i = 0; i < 2; i++)
            r[i] = r[2 * i] | r[2 * i + 1] << 16;
}

__device__ void store_d(uint32_t *d, const uint32_t (&r)[4], bool half) {
    for (int i = 0; i < 4; i++)
        d[place(i)] = half ? r[i / 2] >> i % 2 * 16 & 0xffff : r[i];
}

#define MMA_4_2(types)                                                                                       \
    asm volatile("mma.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"          \
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_2_1(types)                                                                                       \
    asm volatile("mma.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                   \
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]))

template <int FORM>
__global__ void products(const uint32_t *as, const uint32_t *bs, const uint32_t *cs, uint32_t *ds) {
    constexpr tc_type in = FORM < 2 ? TC_TF32 : FORM < 4 ? TC_BF16 : TC_F16;
    constexpr int k = FORM == 0 ? 4 : FORM == 1 || FORM % 2 == 0 ? 8 : 16, per = in == TC_TF32 ? 1 : 2;
    constexpr bool half = FORM == 6 || FORM == 7;
    const size_t number = blockIdx.x;
    uint32_t a[4] = {}, b[2] = {}, c[4];
    load_a<k, per>(as + number * 16 * k, a);
    load_b<k, per>(bs + number * 8 * k, b);
    load_c(cs + number * 128, c, half);
    if constexpr (FORM == 0)
        MMA_2_1("m16n8k4.row.col.f32.tf32.tf32.f32");
    if constexpr (FORM == 1)
        MMA_4_2("m16n8k8.row.col.f32.tf32.tf32.f32");
    if constexpr (FORM == 2)
        MMA_2_1("m16n8k8.row.col.f32.bf16.bf16.f32");
    if constexpr (FORM == 3)
        MMA_4_2("m16n8k16.row.col.f32.bf16.bf16.f32");
    if constexpr (FORM == 4)
        MMA_2_1("m16n8k8.row.col.f32.f16.f16.f32");
    if constexpr (FORM == 5)
        MMA_4_2("m16n8k16.row.col.f32.f16.f16.f32");
    if constexpr (FORM == 6)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                     : "+r"(c[0]), "+r"(c[1])
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    if constexpr (FORM == 7)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
            : "+r"(c[0]), "+r"(c[1])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    store_d(ds + number * 128, c, half);
}

/* ---- wgmma ---- */

__device__ void fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ void finish() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride, uint32_t base,
                               uint32_t swizzle) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
           (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)(base & 7) << 49 | (uint64_t)swizzle << 62;
}

__device__ void put(unsigned char *to, uint32_t bits, int bytes) {
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(bits >> 8 * i);
}

#define WGMMA_F32(types, keep, more)                                                                         \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " keep ", 0;\n"                                              \
                 "wgmma.mma_async.sync.aligned." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, p, " more ";}"    \
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define WGMMA_F16(types, more)                                                                               \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0;\n"                                                     \
                 "wgmma.mma_async.sync.aligned." types " {%0,%1}, {%2,%3,%4,%5}, %6, p, " more ";}"          \
                 : "+r"(c[0]), "+r"(c[1])                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

template <int FORM>
__global__ void wide_products(const uint32_t *as, const uint32_t *bs, const uint32_t *cs, uint32_t *ds) {
    constexpr int bytes = FORM == 8 || (FORM >= 15 && FORM <= 17) ? 4 : FORM >= 12 && FORM <= 14 ? 1 : 2;
    constexpr int k = 32 / bytes;
    constexpr bool half = FORM == 11 || FORM == 14;
    __shared__ __align__(1024) unsigned char tile[256];
    const size_t number = blockIdx.x;
    const int warp = threadIdx.x / 32;
    for (int i = (int)threadIdx.x; i < k * TC_COLUMNS; i += 128) {
        const int row = i / TC_COLUMNS * bytes, column = i % TC_COLUMNS;
        put(tile + row / 16 * 128 + column * 16 + row % 16, bs[number * k * TC_COLUMNS + i], bytes);
    }
    uint32_t a[4] = {}, c[4];
    load_a<k, 4 / bytes>(as + (number * 64 + warp * 16) * k, a);
    load_c(cs + (number * 64 + warp * 16) * TC_COLUMNS, c, half);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const uint64_t b = descriptor((uint32_t)__cvta_generic_to_shared(tile), 128, 128, 0, 0);
    fence();
    if constexpr (FORM == 8)
        WGMMA_F32("m64n8k8.f32.tf32.tf32", "1", "1, 1");
    if constexpr (FORM == 9)
        WGMMA_F32("m64n8k16.f32.bf16.bf16", "1", "1, 1, 0");
    if constexpr (FORM == 10)
        WGMMA_F32("m64n8k16.f32.f16.f16", "1", "1, 1, 0");
    if constexpr (FORM == 11)
        WGMMA_F16("m64n8k16.f16.f16.f16", "1, 1, 0");
    if constexpr (FORM == 12)
        WGMMA_F32("m64n8k32.f32.e4m3.e4m3", "1", "1, 1");
    if constexpr (FORM == 13)
        WGMMA_F32("m64n8k32.f32.e5m2.e5m2", "1", "1, 1");
    if constexpr (FORM == 14)
        WGMMA_F16("m64n8k32.f16.e4m3.e4m3", "1, 1");
    if constexpr (FORM == 15)
        WGMMA_F32("m64n8k8.f32.tf32.tf32", "0", "1, 1");
    if constexpr (FORM == 16)
        WGMMA_F32("m64n8k8.f32.tf32.tf32", "1", "-1, 1");
    if constexpr (FORM == 17)
        WGMMA_F32("m64n8k8.f32.tf32.tf32", "1", "1, -1");
    if constexpr (FORM == 18)
        WGMMA_F32("m64n8k16.f32.bf16.bf16", "1", "-1, -1, 0");
    finish();
    store_d(ds + (number * 64 + warp * 16) * TC_COLUMNS, c, half);
}

typedef void (*kernel)(const uint32_t *, const uint32_t *, const uint32_t *, uint32_t *);
static const kernel kernels[TC_FORMS] = {
    products<0>,       products<1>,       products<2>,       products<3>,       products<4>,
    products<5>,       products<6>,       products<7>,       wide_products<8>,  wide_products<9>,
    wide_products<10>, wide_products<11>, wide_products<12>, wide_products<13>, wide_products<14>,
    wide_products<15>, wide_products<16>, wide_products<17>, wide_products<18>,
};

/* Writes the results of the first `kept` cases as they are, and a hash of each chunk of `all`. */
static void probe_form(int form, uint32_t kept, uint32_t all, FILE *bits, FILE *text) {
    const tc_form *f = &tc_forms[form];
    const size_t na = (size_t)f->rows * f->k, nb = (size_t)f->k * TC_COLUMNS,
                 nd = (size_t)f->rows * TC_COLUMNS;
    const uint32_t batch = 4 * TC_CHUNK;
    std::vector<uint32_t> a(batch * na), b(batch * nb), c(batch * nd), d(batch * nd);
    uint32_t *ga, *gb, *gc, *gd;
    CHECK(cudaMalloc(&ga, 4 * a.size()));
    CHECK(cudaMalloc(&gb, 4 * b.size()));
    CHECK(cudaMalloc(&gc, 4 * c.size()));
    CHECK(cudaMalloc(&gd, 4 * d.size()));
    std::string hashes;
    uint64_t hash = 0;
    static tc_inputs in;
    for (uint32_t first = 0; first < all; first += batch) {
        for (uint32_t i = 0; i < batch; i++) {
            tc_case(form, first + i, &in);
            memcpy(&a[i * na], in.a, 4 * na);
            memcpy(&b[i * nb], in.b, 4 * nb);
            memcpy(&c[i * nd], in.c, 4 * nd);
        }
        CHECK(cudaMemcpy(ga, a.data(), 4 * a.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(gb, b.data(), 4 * b.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(gc, c.data(), 4 * c.size(), cudaMemcpyHostToDevice));
        CHECK(cudaMemset(gd, 0xa5, 4 * d.size()));
        kernels[form]<<<batch, f->rows * 2>>>(ga, gb, gc, gd);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(d.data(), gd, 4 * d.size(), cudaMemcpyDeviceToHost));
        for (uint32_t i = 0; i < batch; i++) {
            for (size_t j = 0; j < nd; j++) {
                const uint32_t result = d[i * nd + j];
                hash = tc_hash(hash, result);
                if (first + i < kept)
                    fwrite(&result, f->out == TC_F16 ? 2 : 4, 1, bits);
            }
            if ((first + i) % TC_CHUNK == TC_CHUNK - 1) {
                char one[24];
                snprintf(one, sizeof one, "%s\"%016llx\"", hashes.empty() ? "" : ",",
                         (unsigned long long)hash);
                hashes += one;
                hash = 0;
            }
        }
    }
    fprintf(text, "%s\n{\"form\": \"%s\", \"kept\": %u, \"cases\": %u, \"hashes\": [%s]}", form ? "," : "",
            f->name, kept, all, hashes.c_str());
    printf("%s: %u cases\n", f->name, all);
    CHECK(cudaFree(ga));
    CHECK(cudaFree(gb));
    CHECK(cudaFree(gc));
    CHECK(cudaFree(gd));
}

#include "tensor_cores_double.h"

/* ---- where wgmma finds an operand ---- */

/* Shared memory holds at each element one digit of its number, to base 8, with 8 added to it. */
enum { REGION = 192 * 1024, DIGITS = 6 };

__device__ uint32_t small_number(int bytes, uint32_t value) {
    const float number = (float)value;
    uint32_t bits = __float_as_uint(number);
    if (bytes == 4)
        return bits;
    if (bytes == 2)
        return bits >> 16;
    return value == 0 ? 0 : ((bits >> 23) - 127 + 7) << 3 | (bits >> 20 & 7);
}

typedef struct layout {
    uint32_t start, leading, stride, base, swizzle;
} layout;

#include "tensor_cores_layouts.h"

/* Operand of `which`: 0 is A, 1 is B; the other one is the identity. */
template <int BYTES, int WHICH, int TRANSPOSED>
__global__ void where(layout at, int digit, uint32_t *found, uint32_t *base_address) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(1024) unsigned char identity[1024];
    constexpr int k = 32 / BYTES, n = WHICH == 0 ? k : BYTES == 2 ? 128 : 32, count = n / 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t i = threadIdx.x; i < REGION / BYTES; i += 128)
        put(memory + i * BYTES, small_number(BYTES, 8 + (i >> 3 * digit & 7)), BYTES);
    for (uint32_t i = threadIdx.x; i < 1024; i += 128)
        identity[i] = 0;
    __syncthreads();
    if ((int)threadIdx.x < k) { /* K-major, no swizzle: cores of 8 columns by 16 bytes */
        const int j = (int)threadIdx.x * BYTES;
        put(identity + j / 16 * 512 + threadIdx.x / 8 * 128 + threadIdx.x % 8 * 16 + j % 16,
            small_number(BYTES, 1), BYTES);
    }
    uint32_t a[4], d[64];
    for (int i = 0; i < 4; i++) {
        const int row = warp * 16 + lane / 4 + i % 2 * 8,
                  column = lane % 4 * (4 / BYTES) + i / 2 * 4 * (4 / BYTES);
        a[i] = 0;
        for (int j = 0; j < 4 / BYTES; j++)
            a[i] |= row == column + j ? small_number(BYTES, 1) << j * 8 * BYTES : 0;
    }
    for (int i = 0; i < count; i++)
        d[i] = 0;
    const uint32_t start = (uint32_t)__cvta_generic_to_shared(memory);
    const uint64_t probed = descriptor(start + at.start, at.leading, at.stride, at.base, at.swizzle);
    const uint64_t other = descriptor((uint32_t)__cvta_generic_to_shared(identity), 512, 128, 0, 0);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    fence();
    find<BYTES, WHICH, TRANSPOSED>(d, a, probed, other);
    finish();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *base_address = start;
    for (int i = 0; i < count; i++) {
        const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (WHICH == 0 || row < k)
            found[row * n + column] += ((uint32_t)__uint_as_float(d[i]) - 8) << 3 * digit;
    }
}

static const layout layouts[] = {
    {0, 128, 256, 0, 0},     {0, 256, 128, 0, 0},      {0, 1024, 2048, 0, 0},    {0, 2048, 1024, 0, 0},
    {0, 16, 1024, 0, 0},     {32, 16, 1024, 0, 0},     {64, 2048, 4096, 0, 0},   {96, 4096, 512, 0, 0},
    {128, 2048, 1024, 0, 0}, {128, 2048, 1024, 1, 0},  {1280, 2048, 1024, 2, 0}, {512, 512, 4096, 0, 0},
    {16, 0, 768, 0, 0},      {2048, 8192, 2048, 0, 0},
};

template <int BYTES, int WHICH, int TRANSPOSED>
static void probe_layouts(const char *name, FILE *bits, FILE *text, bool first) {
    constexpr int k = 32 / BYTES, n = WHICH == 0 ? k : BYTES == 2 ? 128 : 32, rows = WHICH == 0 ? 64 : k;
    uint32_t *found, *address, start = 0;
    std::vector<uint32_t> host(rows * n);
    CHECK(cudaMalloc(&found, 4 * host.size()));
    CHECK(cudaMalloc(&address, 4));
    CHECK(cudaFuncSetAttribute(where<BYTES, WHICH, TRANSPOSED>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               REGION));
    fprintf(text, "%s\n{\"operand\": \"%s\", \"rows\": %d, \"columns\": %d, \"layouts\": [", first ? "" : ",",
            name, rows, n);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        for (uint32_t swizzle = 0; swizzle < 4; swizzle++) {
            layout at = layouts[i];
            at.swizzle = swizzle;
            CHECK(cudaMemset(found, 0, 4 * host.size()));
            for (int digit = 0; digit < DIGITS; digit++)
                where<BYTES, WHICH, TRANSPOSED><<<1, 128, REGION>>>(at, digit, found, address);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpy(host.data(), found, 4 * host.size(), cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(&start, address, 4, cudaMemcpyDeviceToHost));
            fwrite(host.data(), 4, host.size(), bits);
            fprintf(text, "%s[%u,%u,%u,%u,%u]", i || swizzle ? "," : "", at.start, at.leading, at.stride,
                    at.base, swizzle);
        }
    fprintf(text, "], \"address\": %u}", start);
    printf("%s: memory at %u\n", name, start);
}

/* ---- cvt ---- */

#define CONVERT(name, what)                                                                                  \
    __global__ void name(const uint32_t *x, uint32_t *y) {                                                   \
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
        asm volatile("cvt." what ".tf32.f32 %0, %1;" : "=r"(y[i]) : "f"(__uint_as_float(x[i])));             \
    }
CONVERT(cvt_rna, "rna")
CONVERT(cvt_rn, "rn")
CONVERT(cvt_rz, "rz")
CONVERT(cvt_rn_relu, "rn.relu")
CONVERT(cvt_rz_relu, "rz.relu")

static void probe_conversions(FILE *text) {
    enum { N = 4096, SHOWN = 256 };
    const uint32_t ends[] = {0x00000000, 0x80000000, 0x00000fff, 0x00001000, 0x00001001, 0x007fffff,
                             0x007fefff, 0x007ff000, 0x00800000, 0x7f7fffff, 0x7f7fefff, 0x7f7ff000,
                             0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffc01234, 0x7fffffff,
                             0xff800001, 0x3f801000, 0x3f803000, 0x3f802fff, 0xbf801000, 0xbf803000};
    const struct {
        const char *name;
        void (*kernel)(const uint32_t *, uint32_t *);
    } all[] = {
        {"rna", cvt_rna}, {"rn", cvt_rn}, {"rz", cvt_rz}, {"rn.relu", cvt_rn_relu}, {"rz.relu", cvt_rz_relu}};
    std::vector<uint32_t> x(N), y(N);
    uint64_t state = 1;
    for (size_t i = 0; i < N; i++)
        x[i] = i < sizeof ends / 4 ? ends[i] : i % 4 ? tc_next(&state) : tc_special(&state, TC_F32);
    uint32_t *gx, *gy;
    CHECK(cudaMalloc(&gx, 4 * N));
    CHECK(cudaMalloc(&gy, 4 * N));
    CHECK(cudaMemcpy(gx, x.data(), 4 * N, cudaMemcpyHostToDevice));
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        all[k].kernel<<<N / 256, 256>>>(gx, gy);
        CHECK(cudaMemcpy(y.data(), gy, 4 * N, cudaMemcpyDeviceToHost));
        uint64_t hash = 0;
        for (uint32_t result : y)
            hash = tc_hash(hash, result);
        fprintf(text, "%s\n\"%s\": {\"hash\": \"%016llx\", \"results\": [", k ? "," : "", all[k].name,
                (unsigned long long)hash);
        for (size_t i = 0; i < SHOWN; i++)
            fprintf(text, "%s[%u,%u]", i ? "," : "", x[i], y[i]);
        fprintf(text, "]}");
    }
}

int main(int count, char **arguments) {
    const std::string folder = count > 1 ? arguments[1] : ".";
    FILE *text = fopen((folder + "/tensor_cores.json").c_str(), "w");
    FILE *bits = fopen((folder + "/tensor_cores.bin").c_str(), "wb");
    FILE *places = fopen((folder + "/tensor_cores_layouts.bin").c_str(), "wb");
    if (!text || !bits || !places)
        return 1;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    fprintf(text, "{\"device\": \"%s\", \"conversions\": {", device.name);
    probe_conversions(text);
    fprintf(text, "},\n\"forms\": [");
    for (int form = 0; form < TC_FORMS; form++) {
        const bool wide = tc_forms[form].rows == 64;
        probe_form(form, wide ? (form > 14 ? 2 : 4) * TC_KINDS : 16 * TC_KINDS,
                   (wide ? 40u : 200u) * TC_CHUNK, bits, text);
        fflush(text);
        fflush(bits);
    }
    for (int form = 0; form < DC_FORMS; form++)
        probe_doubles(form, 512u * DC_CHUNK, text);
    fprintf(text, "],\n\"layouts\": [");
    probe_layouts<4, 0, 0>("a.tf32", places, text, true);
    probe_layouts<4, 1, 0>("b.tf32", places, text, false);
    probe_layouts<2, 0, 0>("a.bf16", places, text, false);
    probe_layouts<2, 0, 1>("a.bf16.transposed", places, text, false);
    probe_layouts<2, 1, 0>("b.bf16", places, text, false);
    probe_layouts<2, 1, 1>("b.bf16.transposed", places, text, false);
    probe_layouts<1, 0, 0>("a.e4m3", places, text, false);
    probe_layouts<1, 1, 0>("b.e4m3", places, text, false);
    fprintf(text, "]}\n");
    fclose(text);
    fclose(bits);
    fclose(places);
    return 0;
}
