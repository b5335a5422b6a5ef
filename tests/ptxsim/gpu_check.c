/* Compares the simulator with a GPU, bit for bit: every row of alu_cases.def, then each of its instructions
   with many inputs, then whole kernels from PTX files. It needs the NVIDIA driver, so that CI does not run
   it. Usage: gpu_check [file.ptx ...]; the kernels of a file take (u64 in, u64 out, u64 n), one block of 256
   threads. */
#include <dlfcn.h>
#include <stdlib.h>

#include "alu_ptx.h"
#include "check.h"
#include "ordinary.h"
#include "ptxsim.h"

enum { BLOCK = 256, BLOCKS = 64, THREADS = BLOCK * BLOCKS, SOURCE_BYTES = THREADS * ALU_SOURCES * 8 };

typedef struct alu_case {
    const char *op, *shape, *extra;
    uint64_t source[ALU_SOURCES];
    uint64_t want;
} alu_case;

static const alu_case cases[] = {
#define CASE(op, shape, extra, a, b, c, d, want) {op, shape, extra, {a, b, c, d}, want},
#include "alu_cases.def"
#undef CASE
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- the GPU ---- */

static int (*cu_init)(unsigned);
static int (*cu_context)(void **, int);
static int (*cu_use)(void *);
static int (*cu_load)(void **, const void *);
static int (*cu_unload)(void *);
static int (*cu_function)(void **, void *, const char *);
static int (*cu_alloc)(uint64_t *, size_t);
static int (*cu_up)(uint64_t, const void *, size_t);
static int (*cu_down)(void *, uint64_t, size_t);
static int (*cu_fill)(uint64_t, unsigned char, size_t);
static int (*cu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                        void **, void **);
static int (*cu_sync)(void);
static uint64_t gpu_in, gpu_out;

static bool open_gpu(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return false;
    const struct {
        void *pointer;
        const char *name;
    } symbols[] = {
        {&cu_init, "cuInit"},           {&cu_context, "cuDevicePrimaryCtxRetain"},
        {&cu_use, "cuCtxSetCurrent"},   {&cu_load, "cuModuleLoadData"},
        {&cu_unload, "cuModuleUnload"}, {&cu_function, "cuModuleGetFunction"},
        {&cu_alloc, "cuMemAlloc_v2"},   {&cu_up, "cuMemcpyHtoD_v2"},
        {&cu_down, "cuMemcpyDtoH_v2"},  {&cu_fill, "cuMemsetD8_v2"},
        {&cu_launch, "cuLaunchKernel"}, {&cu_sync, "cuCtxSynchronize"},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return false;
        memcpy(symbols[i].pointer, &found, sizeof found);
    }
    void *context;
    return cu_init(0) == 0 && cu_context(&context, 0) == 0 && cu_use(context) == 0 &&
           cu_alloc(&gpu_in, SOURCE_BYTES) == 0 && cu_alloc(&gpu_out, THREADS * 8) == 0;
}

static bool run_on_gpu(const char *text, const char *name, const void *source, unsigned grid, uint64_t n,
                       void *result) {
    void *module, *function;
    if (cu_load(&module, text) != 0)
        return false;
    void *params[] = {&gpu_in, &gpu_out, &n};
    bool good = cu_function(&function, module, name) == 0 && cu_up(gpu_in, source, SOURCE_BYTES) == 0 &&
                cu_fill(gpu_out, 0xA5, THREADS * 8) == 0 &&
                cu_launch(function, grid, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL) == 0 && cu_sync() == 0 &&
                cu_down(result, gpu_out, THREADS * 8) == 0;
    cu_unload(module);
    return good;
}

/* ---- the simulator ---- */

static bool run_on_simulator(const char *text, const char *name, const void *source, unsigned grid,
                             uint64_t n, void *result) {
    ptx_error error;
    ptx_module *module = NULL;
    ptx_memory *memory = NULL;
    uint64_t params[3] = {0, 0, n};
    ptx_status status = ptx_module_parse(text, strlen(text), &module, &error);
    if (status == PTX_OK)
        status = ptx_memory_create(0, &memory, &error);
    if (status == PTX_OK)
        status = ptx_memory_alloc(memory, SOURCE_BYTES, &params[0], &error);
    if (status == PTX_OK)
        status = ptx_memory_alloc(memory, THREADS * 8, &params[1], &error);
    if (status == PTX_OK)
        status = ptx_memory_write(memory, params[0], source, SOURCE_BYTES, &error);
    memset(result, 0xA5, THREADS * 8); /* the same initial contents as on the GPU */
    if (status == PTX_OK)
        status = ptx_memory_write(memory, params[1], result, THREADS * 8, &error);
    if (status == PTX_OK) {
        const ptx_kernel *kernel = ptx_module_find(module, name);
        ptx_launch_config config = {.grid = {grid, 1, 1},
                                    .block = {BLOCK, 1, 1},
                                    .params = params,
                                    .param_bytes = ptx_kernel_param_bytes(kernel),
                                    .threads = 1};
        status = ptx_launch(kernel, memory, &config, NULL, &error);
    }
    if (status == PTX_OK)
        status = ptx_memory_read(memory, result, params[1], THREADS * 8, &error);
    if (status != PTX_OK)
        fprintf(stderr, "simulator: %s\n", error.message);
    ptx_memory_destroy(memory);
    ptx_module_free(module);
    return status == PTX_OK;
}

/* ---- inputs ---- */

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Corner cases of integers and floats of both widths, small numbers, and random bits. */
static uint64_t random_source(char letter) {
    static const uint64_t narrow[] = {0,          1,          2,          31,         32,         33,
                                      0xff,       0x8000,     0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                      0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffa00001,
                                      0x00800000, 0x807fffff, 0x7f7fffff, 0x4f000000, 0xcf000000, 0x5f000000};
    static const uint64_t wide[] = {0,
                                    1,
                                    63,
                                    64,
                                    0x7fffffff,
                                    0xffffffff,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0x3ff0000000000000,
                                    0xbff0000000000000,
                                    0x7ff0000000000000,
                                    0xfff0000000000000,
                                    0x7ff8000000000001,
                                    0xfff4000000000123,
                                    0x0010000000000000,
                                    0x800fffffffffffff,
                                    0x7fefffffffffffff,
                                    0x43e0000000000000,
                                    0xc3e0000000000000};
    switch (random_bits() % 4) {
    case 0:
        return letter == 'l' ? wide[random_bits() % 20] : narrow[random_bits() % 24];
    case 1:
        return letter == 'p' ? random_bits() & 1 : random_bits() % 80;
    case 2: { /* a number of moderate size */
        double value = (double)(int64_t)random_bits() / (double)(1ull << (random_bits() % 63));
        float single = (float)value;
        uint64_t bits = 0;
        if (letter == 'l')
            memcpy(&bits, &value, sizeof value);
        else
            memcpy(&bits, &single, sizeof single);
        return bits;
    }
    default:
        return random_bits();
    }
}

static uint64_t source[THREADS * ALU_SOURCES], on_gpu[THREADS], simulated[THREADS];
_Static_assert(THREADS *ALU_SOURCES >= ORDINARY_SOURCES && (int)BLOCK == (int)ORDINARY_THREADS,
               "files run on these, too");

static void check_op(const alu_case *rows, unsigned count) {
    char text[4000], name[200];
    alu_ptx(text, sizeof text, rows->op, rows->shape, rows->extra);
    size_t letters = strlen(rows->shape) - 1;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned k = 0; k < ALU_SOURCES; k++)
            source[t * ALU_SOURCES + k] =
                t < count ? rows[t].source[k] : random_source(k < letters ? rows->shape[k + 1] : 'l');
    snprintf(name, sizeof name, "%s%s runs on the GPU", rows->op, rows->extra);
    bool good = run_on_gpu(text, "k", source, BLOCKS, 0, on_gpu);
    check_report(good, "gpu_check", 0, name);
    if (!good || !run_on_simulator(text, "k", source, BLOCKS, 0, simulated))
        return;
    /* Instructions that a GPU approximates agree for the inputs of the table. */
    const bool approximate = strstr(rows->op, ".approx") || strstr(rows->op, ".full");
    unsigned shown = 0;
    for (unsigned t = 0; t < (approximate ? count : THREADS); t++) {
        if (on_gpu[t] == simulated[t] || ++shown > 6)
            continue;
        const uint64_t *s = &source[t * ALU_SOURCES];
        snprintf(name, sizeof name, "%s%s(0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ")",
                 rows->op, rows->extra, s[0], s[1], s[2], s[3]);
        CHECK_EQUAL_AS(simulated[t], on_gpu[t], name);
    }
    if (shown > 6)
        fprintf(stderr, "  ... %u of %d differ\n", shown, THREADS);
    check_report(shown == 0, "gpu_check", 0, rows->op);
}

static void check_file(const char *path) {
    static char text[1 << 22];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    ptx_module *module;
    ptx_error error;
    if (ptx_module_parse(text, length, &module, &error) != PTX_OK) {
        check_report(false, path, 0, error.message);
        return;
    }
    ordinary_source(source);
    for (size_t i = 0; i < ptx_module_kernel_count(module); i++) {
        const char *name = ptx_kernel_name(ptx_module_kernel_at(module, i));
        bool good = run_on_gpu(text, name, source, 1, BLOCK, on_gpu) &&
                    run_on_simulator(text, name, source, 1, BLOCK, simulated);
        check_report(good, path, 0, name);
        for (unsigned t = 0, shown = 0; good && t < THREADS && shown < 6; t++)
            if (on_gpu[t] != simulated[t]) {
                char what[200];
                snprintf(what, sizeof what, "%s out[%u]", name, t);
                CHECK_EQUAL_AS(simulated[t], on_gpu[t], what);
                shown++;
            }
    }
    ptx_module_free(module);
}

int main(int count, char **arguments) {
    if (!open_gpu()) {
        fprintf(stderr, "no usable GPU\n");
        return 1;
    }
    for (unsigned i = 0, n; i < CASES; i += n) {
        for (n = 1; i + n < CASES && strcmp(cases[i].op, cases[i + n].op) == 0 &&
                    strcmp(cases[i].extra, cases[i + n].extra) == 0;
             n++)
            ;
        check_op(&cases[i], n);
    }
    for (int i = 1; i < count; i++)
        check_file(arguments[i]);
    return finish_checks("gpu_check");
}
