/* Stands in for cuBLAS: multiplies on the host, in the memory of the fake driver, and remembers what it was
   told. Usage: GPUREDUCE_LIBCUBLAS=libcublas_fake.so next to GPUREDUCE_LIBCUDA. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct handle {
    void *stream, *workspace;
    int mode;
} handle;

typedef struct record {
    long handles, calls, mode, compute, type, turned, count, fail;
    void *stream;
} record;

EXPORT record *fake_cublas(void);
EXPORT const char *cublasGetStatusString(int status);
EXPORT int cublasCreate_v2(handle **out);
EXPORT int cublasSetStream_v2(handle *self, void *stream);
EXPORT int cublasSetWorkspace_v2(handle *self, void *memory, size_t bytes);
EXPORT int cublasSetMathMode(handle *self, int mode);
EXPORT int cublasGemmStridedBatchedEx_64(handle *self, int turned_a, int turned_b, int64_t m, int64_t n,
                                         int64_t k, const void *alpha, const void *a, int type_a,
                                         int64_t pitch_a, int64_t apart_a, const void *b, int type_b,
                                         int64_t pitch_b, int64_t apart_b, const void *beta, void *c,
                                         int type_c, int64_t pitch_c, int64_t apart_c, int64_t count,
                                         int compute, int algorithm);

static record seen;

record *fake_cublas(void) {
    return &seen;
}

const char *cublasGetStatusString(int status) {
    return status == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : "CUBLAS_STATUS_INVALID_VALUE";
}

int cublasCreate_v2(handle **out) {
    static handle all[8];
    *out = &all[seen.handles++];
    return 0;
}

int cublasSetStream_v2(handle *self, void *stream) {
    self->stream = stream;
    self->workspace = NULL; /* as the library has it */
    return 0;
}

int cublasSetWorkspace_v2(handle *self, void *memory, size_t bytes) {
    self->workspace = memory;
    return memory == NULL || (uintptr_t)memory % 16 != 0 || bytes < 4u << 20 ? 7 : 0;
}

int cublasSetMathMode(handle *self, int mode) {
    self->mode = mode;
    return 0;
}

/* What was put into the stream before has to be done. */
static void wait_for(void *stream) {
    void *driver = dlopen(getenv("GPUREDUCE_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    int (*wait)(void *);
    void *address = driver != NULL ? dlsym(driver, "cuStreamSynchronize") : NULL;
    if (address == NULL)
        abort();
    memcpy(&wait, &address, sizeof address);
    if (wait(stream) != 0)
        abort();
    dlclose(driver);
}

static double at(const void *matrix, int wide, int64_t place) {
    return wide ? ((const double *)matrix)[place] : (double)((const float *)matrix)[place];
}

int cublasGemmStridedBatchedEx_64(handle *self, int turned_a, int turned_b, int64_t m, int64_t n, int64_t k,
                                  const void *alpha, const void *a, int type_a, int64_t pitch_a,
                                  int64_t apart_a, const void *b, int type_b, int64_t pitch_b,
                                  int64_t apart_b, const void *beta, void *c, int type_c, int64_t pitch_c,
                                  int64_t apart_c, int64_t count, int compute, int algorithm) {
    const int wide = type_a == 1;
    seen = (record){seen.handles, seen.calls + 1, self->mode,  compute, type_a, turned_a | turned_b << 1,
                    count,        seen.fail,      self->stream};
    if (seen.fail != 0)
        return 13;
    if (self->workspace == NULL || algorithm != -1 || type_a > 1 || type_b != type_a || type_c != type_a ||
        pitch_a < (turned_a ? k : m) || pitch_b < (turned_b ? n : k) || pitch_c < m ||
        at(alpha, wide, 0) != 1 || at(beta, wide, 0) != 0)
        return 7;
    wait_for(self->stream);
    for (int64_t s = 0; s < count; s++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double sum = 0;
                for (int64_t x = 0; x < k; x++)
                    sum += at(a, wide, s * apart_a + (turned_a ? x + i * pitch_a : i + x * pitch_a)) *
                           at(b, wide, s * apart_b + (turned_b ? j + x * pitch_b : x + j * pitch_b));
                const int64_t place = s * apart_c + i + j * pitch_c;
                if (wide)
                    ((double *)c)[place] = sum;
                else
                    ((float *)c)[place] = (float)sum;
            }
    return 0;
}
