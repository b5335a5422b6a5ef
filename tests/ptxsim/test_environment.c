/* Parsing and results are independent of the calling thread's locale and floating-point environment. */
#include <fenv.h>
#include <stdlib.h>

#include "check.h"
#include "ir.h"
#include "sim.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* Replaces the C library's locale-dependent function: this one parses numbers as in German. */
double strtod(const char *text, char **end) {
    unsigned long whole = strtoul(text, end, 10);
    return **end == ',' ? (double)whole + (double)strtoul(*end + 1, end, 10) / 10 : (double)whole;
}

static void test_decimal_point(void) {
    ptx_error error = {.message = ""};
    char *text = sim_kernel("mov.f64 %fd1, 2.5; mov.f32 %f1, 1.0e-3; mov.f64 %fd2, 0.1;");
    ptx_module *module = NULL;
    const ptx_status status = ptx_module_parse(text, strlen(text), &module, &error);
    check_report(status == PTX_OK, __FILE__, __LINE__, error.message);
    static const uint64_t want[] = {0x4004000000000000, 0x3a83126f, 0x3fb999999999999a};
    for (size_t i = 0; module && i < sizeof want / sizeof want[0]; i++) {
        const ptx_kernel *kernel = ptx_module_kernel_at(module, 0);
        CHECK_EQUAL(kernel->constants[kernel->constant_count - 3 + i].value, want[i]);
    }
    ptx_module_free(module);
    free(text);
}

/* ---- floating-point environments ---- */

static void to_nearest(void) {
    fesetenv(FE_DFL_ENV);
}

static void upward(void) {
    fesetround(FE_UPWARD);
}

static void downward(void) {
    fesetround(FE_DOWNWARD);
}

/* Flush-to-zero and denormals-are-zero. */
static void flushing(void) {
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

static unsigned bits_of_environment(void) {
#if defined(__SSE__)
    return _mm_getcsr() & ~0x3fu; /* without the exception flags */
#else
    return (unsigned)fegetround();
#endif
}

enum { THREADS = 32, BLOCKS = 64, RESULTS = 6 };

/* Sums that are rounded, subnormal operands and results, constants in the text, an instruction with a
   rounding mode. */
static const char statements[] =
    "shl.b32 %r1, %r30, 2; mul.lo.u32 %r1, %r1, 6; cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd31, %rd1;\n"
    "cvt.rn.f32.u32 %f1, %r30; add.f32 %f1, %f1, 0f3F800000; mov.f32 %f2, 0f3DCCCCCD;\n"
    "div.rn.f32 %f3, %f2, %f1; st.global.f32 [%rd1], %f3;\n"
    "mul.f32 %f4, %f1, 0f00000123; add.f32 %f4, %f4, 0f00000001; st.global.f32 [%rd1+4], %f4;\n"
    "mov.f32 %f5, 0.1; st.global.f32 [%rd1+8], %f5;\n"
    "add.rz.f32 %f6, %f2, %f1; st.global.f32 [%rd1+12], %f6;\n"
    "cvt.f64.f32 %fd1, %f3; mul.f64 %fd1, %fd1, 0d3FB999999999999A; cvt.rn.f32.f64 %f7, %fd1;\n"
    "st.global.f32 [%rd1+16], %f7;\n"
    "cvt.rn.f16.f32 %h1, %f3; mul.rn.f16 %h1, %h1, %h1; cvt.u32.u16 %r2, %h1; st.global.u32 [%rd1+20], %r2;";

static bool never(void *arg) {
    unsigned *seen = arg;
    *seen = bits_of_environment();
    return false;
}

static void run(unsigned threads, uint32_t out[BLOCKS * THREADS * RESULTS]) {
    sim s;
    char *text = sim_kernel(statements);
    sim_open(&s, text, "", 1, BLOCKS * THREADS * RESULTS * sizeof *out);
    s.config.threads = threads;
    const ptx_status status = sim_run(&s, "k", BLOCKS, THREADS, 0, out);
    check_report(status == PTX_OK, __FILE__, __LINE__, s.error.message);
    sim_close(&s);
    free(text);
}

static void test_environments(void) {
    static void (*const environments[])(void) = {upward, downward, flushing};
    static uint32_t want[BLOCKS * THREADS * RESULTS], got[BLOCKS * THREADS * RESULTS];
    to_nearest();
    run(1, want);
    for (size_t i = 0; i < sizeof environments / sizeof environments[0]; i++)
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            environments[i]();
            const unsigned before = bits_of_environment();
            memset(got, 0, sizeof got);
            run(threads, got);
            const unsigned after = bits_of_environment();
            to_nearest();
            CHECK_EQUAL(after, before);
            CHECK_EQUAL(memcmp(got, want, sizeof got), 0);
        }
}

/* The interrupt callback runs in the caller's floating-point environment. */
static void test_callback(void) {
    unsigned seen = 0;
    sim s;
    char *text =
        sim_kernel("mov.u32 %r1, 0; a: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 2000000; @%p1 bra a;");
    sim_open(&s, text, "", 1, 4);
    s.config.interrupted = never;
    s.config.interrupted_arg = &seen;
    upward();
    const unsigned before = bits_of_environment();
    const ptx_status status = sim_run(&s, "k", 1, 1, 0, NULL);
    to_nearest();
    check_report(status == PTX_OK, __FILE__, __LINE__, s.error.message);
    CHECK_EQUAL(seen, before);
    sim_close(&s);
    free(text);
}

int main(void) {
    test_decimal_point();
    test_environments();
    test_callback();
    return finish_checks("test_environment");
}
