/* The CUDA runtime without nvcc: fat binaries made by hand, whole and damaged, and calls from several
 * threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cudart/types.h"

void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            void *tid, void *bid, void *block, void *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t bytes,
                       int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *address);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaGraphDebugDotPrint(void);

/* A fat binary with one entry. */
typedef struct binary {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    uint16_t kind, entry_version;
    uint32_t entry_header_bytes;
    uint64_t entry_bytes;
    uint32_t packed_bytes, options, ptx_version, architecture, unknown[2];
    uint64_t flags, unknown2, text_bytes;
    char text[4096];
} binary;

typedef struct wrapper {
    int32_t magic, version;
    const void *data, *linked;
} wrapper;

static void make(binary *b, wrapper *w, const char *text, unsigned kind, uint64_t flags) {
    memset(b, 0, sizeof *b);
    *b = (binary){.magic = 0xba55ed50u,
                  .version = 1,
                  .header_bytes = 16,
                  .bytes = sizeof *b - 16,
                  .kind = (uint16_t)kind,
                  .entry_header_bytes = 64,
                  .entry_bytes = sizeof b->text,
                  .packed_bytes = 40,
                  .architecture = 75,
                  .flags = flags,
                  .text_bytes = flags ? 1000 : 0};
    snprintf(b->text, sizeof b->text, "%s", text);
    *w = (wrapper){.magic = 0x466243b1, .version = 1, .data = b};
}

static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 4 .u32 calls;\n"
    ".visible .entry twice(.param .u64 data, .param .u32 factor) {\n"
    ".reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .pred %p<2>;\n"
    "ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [factor]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4;\n"
    "add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r3, [%rd1]; mul.lo.u32 %r3, %r3, %r1;\n"
    "st.global.u32 [%rd1], %r3; setp.eq.u32 %p1, %r2, 0; @%p1 red.global.add.u32 [calls], 1; ret; }\n";

static char stub, absent_stub, variable;

static void register_all(wrapper *w) {
    void **handle = __cudaRegisterFatBinary(w);
    __cudaRegisterFunction(handle, &stub, &stub, "twice", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &absent_stub, &absent_stub, "absent", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &variable, &variable, "calls", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

static cudaError_t launch(const void *function, void *data, unsigned factor) {
    void *arguments[] = {&data, &factor};
    return cudaLaunchKernel(function, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, NULL);
}

enum { ROUNDS = 20, THREADS = 4 };

/* Allocates, copies, launches and frees like other threads at the same time. */
static void *use(void *arg) {
    unsigned numbers[32], *wrong = arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *data = NULL;
        for (unsigned i = 0; i < 32; i++)
            numbers[i] = i;
        *wrong += cudaMalloc(&data, sizeof numbers) != cudaSuccess;
        *wrong += cudaMemcpy(data, numbers, sizeof numbers, cudaMemcpyHostToDevice) != cudaSuccess;
        *wrong += launch(&stub, data, 3) != cudaSuccess;
        *wrong += cudaMemcpy(numbers, data, sizeof numbers, cudaMemcpyDeviceToHost) != cudaSuccess;
        for (unsigned i = 0; i < 32; i++)
            *wrong += numbers[i] != 3 * i;
        *wrong += cudaFree(data) != cudaSuccess;
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    unsigned wrong[THREADS] = {0}, calls = 0;
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, use, &wrong[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQUAL(wrong[i], 0);
    }
    CHECK_EQUAL(cudaMemcpyFromSymbol(&calls, &variable, sizeof calls, 0, cudaMemcpyDeviceToHost),
                cudaSuccess);
    CHECK_EQUAL(calls, ROUNDS * THREADS);
}

/* The error of a launch from a fat binary, which is registered once more under other stubs. */
static cudaError_t try_binary(const char *text, unsigned kind, uint64_t flags, uint32_t magic) {
    static binary binaries[8];
    static wrapper wrappers[8];
    static char stubs[8];
    static unsigned count;
    const unsigned i = count++;
    make(&binaries[i], &wrappers[i], text, kind, flags);
    if (magic)
        binaries[i].magic = magic;
    void **handle = __cudaRegisterFatBinary(&wrappers[i]);
    __cudaRegisterFunction(handle, &stubs[i], &stubs[i], "twice", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    const cudaError_t error = launch(&stubs[i], NULL, 1), again = launch(&stubs[i], NULL, 1);
    CHECK_EQUAL(error, again);
    CHECK_EQUAL(cudaGetLastError(), error);
    __cudaUnregisterFatBinary(handle);
    return error;
}

static void test_damaged(void) {
    CHECK_EQUAL(try_binary(ptx, 2, 0, 0), cudaErrorNoKernelImageForDevice); /* machine code alone */
    CHECK_EQUAL(try_binary(ptx, 1, 0, 0x12345678), cudaErrorInvalidKernelImage);
    CHECK_EQUAL(try_binary(ptx, 1, 0x8000, 0), cudaErrorInvalidKernelImage); /* not zstd */
    CHECK_EQUAL(try_binary(ptx, 1, 0x2000, 0), cudaErrorInvalidKernelImage); /* not LZ4 */
    CHECK_EQUAL(try_binary("this is no PTX", 1, 0, 0), cudaErrorInvalidPtx);
    CHECK_EQUAL(launch(&absent_stub, NULL, 1), cudaErrorInvalidDeviceFunction);
    CHECK_EQUAL(launch(&variable, NULL, 1), cudaErrorInvalidResourceHandle);
    cudaKernel_t kernel;
    CHECK_EQUAL(__cudaGetKernel(&kernel, &stub), cudaSuccess);
    CHECK_EQUAL(__cudaGetKernel(&kernel, &kernel), cudaErrorInvalidDeviceFunction);
    CHECK_EQUAL(cudaGraphDebugDotPrint(), cudaErrorNotSupported);
}

static void test_configurations(void) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    CHECK_EQUAL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
    for (unsigned i = 0; i < 16; i++)
        CHECK_EQUAL(__cudaPushCallConfiguration((dim3){i, 1, 1}, (dim3){1, 1, 1}, i, NULL), 0);
    CHECK(__cudaPushCallConfiguration((dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, NULL) != 0);
    for (unsigned i = 16; i-- > 0;) {
        CHECK_EQUAL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
        CHECK(grid.x == i && shared == i && block.y == 1 && stream == NULL);
    }
}

static bool is_short_of_memory;

/* The linker calls this one for calloc. */
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes) {
    return is_short_of_memory ? NULL : __real_calloc(count, bytes);
}

/* Registrations without host memory: the calls after them return the error. */
static void test_short_of_memory(void *w) {
    static char other;
    void *address;
    is_short_of_memory = true;
    void **handle = __cudaRegisterFatBinary(w);
    __cudaRegisterFunction(handle, &other, &other, "scale", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &other, &other, "offset", 0, 4, 0, 0);
    is_short_of_memory = false;
    CHECK(handle == NULL);
    __cudaRegisterFatBinaryEnd(handle);
    CHECK_EQUAL(cudaMalloc(&address, 16), cudaErrorMemoryAllocation);
    CHECK_EQUAL(cudaDeviceReset(), cudaSuccess);
    handle = __cudaRegisterFatBinary(w);
    is_short_of_memory = true;
    __cudaRegisterFunction(handle, &other, &other, "scale", -1, NULL, NULL, NULL, NULL, NULL);
    is_short_of_memory = false;
    CHECK_EQUAL(cudaMalloc(&address, 16), cudaErrorMemoryAllocation);
    CHECK_EQUAL(cudaDeviceReset(), cudaSuccess);
}

int main(void) {
    static binary whole;
    static wrapper w;
    make(&whole, &w, ptx, 1, 0);
    register_all(&w);
    test_threads();
    test_damaged();
    test_configurations();
    test_short_of_memory(&w);
    CHECK_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
    return finish_checks("test_runtime");
}
