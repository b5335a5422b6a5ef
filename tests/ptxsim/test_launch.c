/* Launches: rejected configurations, budgets, interrupts, and independence of the number of host threads. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "sim.h"

static uint32_t in_words[4096], out_words[8192];

static void open_kernel(sim *s, const char *statements) {
    for (unsigned i = 0; i < 4096; i++)
        in_words[i] = i * 2246822519u + 11;
    char *text = sim_kernel(statements);
    sim_open(s, text, in_words, sizeof in_words, sizeof out_words);
    free(text);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- rejected configurations ---- */

static void expect_refusal(const uint32_t grid[3], const uint32_t block[3], size_t param_bytes, size_t shared,
                           const char *part) {
    sim s;
    uint64_t params[4] = {0};
    open_kernel(&s, "ret;");
    ptx_launch_config config = {
        .params = params, .param_bytes = param_bytes, .dynamic_shared_bytes = shared, .threads = 1};
    memcpy(config.grid, grid, sizeof config.grid);
    memcpy(config.block, block, sizeof config.block);
    ptx_error error;
    ptx_status status = ptx_launch(ptx_module_kernel_at(s.module, 0), s.memory, &config, NULL, &error);
    CHECK_EQUAL_AS(status, part ? PTX_ERR_ARGUMENT : PTX_OK, part ? part : "accepted");
    if (part) {
        CHECK_CONTAINS(error.message, part);
        CHECK(strcmp(error.kernel, "k") == 0);
    }
    sim_close(&s);
}

static void test_refusals(void) {
    const uint32_t one[3] = {1, 1, 1};
    expect_refusal((uint32_t[]){0, 1, 1}, one, 24, 0, "a grid of 0 x 1 x 1 blocks");
    expect_refusal((uint32_t[]){1, 65536, 1}, one, 24, 0, "a grid of 1 x 65536 x 1 blocks");
    expect_refusal((uint32_t[]){0x80000000u, 1, 1}, one, 24, 0, "a grid of 2147483648 x 1 x 1 blocks");
    expect_refusal(one, (uint32_t[]){0, 1, 1}, 24, 0, "a block of 0 x 1 x 1 threads");
    expect_refusal(one, (uint32_t[]){1025, 1, 1}, 24, 0, "a block of 1025 x 1 x 1 threads");
    expect_refusal(one, (uint32_t[]){64, 17, 1}, 24, 0, "a block of 64 x 17 x 1 threads");
    expect_refusal(one, (uint32_t[]){1, 1, 65}, 24, 0, "a block of 1 x 1 x 65 threads");
    expect_refusal(one, (uint32_t[]){65536, 65536, 1}, 24, 0, "a block of 65536");
    expect_refusal(one, one, 16, 0, "16 bytes of parameters were given, the kernel takes 24");
    expect_refusal(one, one, 24, 232449, "232449 dynamic bytes of shared memory");
    expect_refusal(one, one, 24, SIZE_MAX, "dynamic bytes of shared memory");
    expect_refusal(one, (uint32_t[]){1024, 1, 1}, 24, 232448, NULL);
    expect_refusal((uint32_t[]){1, 65535, 1}, (uint32_t[]){8, 2, 64}, 24, 0, NULL);
}

static void test_compiled_limits(void) {
    static const char text[] =
        SIM_HEADER ".entry a() .maxntid 64, 2, 1 { ret; }\n.entry b() .reqntid 32, 2 { ret; }\n";
    ptx_module *module;
    ptx_memory *memory;
    ptx_error error;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_create(0, &memory, &error), PTX_OK);
    ptx_launch_config config = {.grid = {1, 1, 1}, .block = {128, 1, 1}, .threads = 1};
    const ptx_kernel *a = ptx_module_find(module, "a"), *b = ptx_module_find(module, "b");
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_OK);
    CHECK_EQUAL(ptx_launch(b, memory, &config, NULL, &error), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(error.message, "compiled for 32 x 2 x 1");
    config.block[0] = 129;
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(error.message, "compiled for at most 128");
    config.block[0] = 32;
    config.block[1] = 2;
    CHECK_EQUAL(ptx_launch(b, memory, &config, NULL, NULL), PTX_OK);
    ptx_memory_destroy(memory);
    ptx_module_free(module);
}

/* ---- special registers in three dimensions ---- */

static void test_indices(void) {
    static const uint32_t grid[3] = {3, 2, 2}, block[3] = {5, 3, 4};
    sim s;
    open_kernel(
        &s,
        "mad.lo.u32 %r1, %ctaid.z, %nctaid.y, %ctaid.y; mad.lo.u32 %r1, %r1, %nctaid.x, %ctaid.x;\n"
        "mad.lo.u32 %r2, %tid.z, %ntid.y, %tid.y; mad.lo.u32 %r2, %r2, %ntid.x, %tid.x;\n"
        "mul.lo.u32 %r3, %ntid.x, %ntid.y; mad.lo.u32 %r1, %r1, 60, %r2; mad.wide.u32 %rd1, %r1, 4, %rd31;\n"
        "mul.lo.u32 %r4, %nctaid.z, %ntid.z; mad.lo.u32 %r5, %warpid, 32, %laneid; sub.u32 %r5, %r5, %r2;\n"
        "add.u32 %r4, %r4, %r5; mad.lo.u32 %r4, %r4, 1000, %r1; st.global.u32 [%rd1], %r4;\n"
        "mov.u32 %r6, %lanemask_lt; popc.b32 %r6, %r6; mov.u32 %r7, %lanemask_ge; popc.b32 %r7, %r7;\n"
        "add.u32 %r6, %r6, %r7; mov.u32 %r7, %lanemask_eq; not.b32 %r8, %lanemask_gt; \n"
        "xor.b32 %r8, %r8, %lanemask_le; add.u32 %r6, %r6, %r8; setp.ne.u32 %p1, %r6, 32; @%p1 trap;\n"
        "shl.b32 %r8, 1, %laneid; setp.ne.u32 %p1, %r7, %r8; @%p1 trap;");
    uint64_t params[3] = {s.in, s.out, 0};
    ptx_launch_config config = {.params = params, .param_bytes = sizeof params, .threads = 2};
    memcpy(config.grid, grid, sizeof grid);
    memcpy(config.block, block, sizeof block);
    ptx_status status = ptx_launch(ptx_module_kernel_at(s.module, 0), s.memory, &config, NULL, &s.error);
    check_report(status == PTX_OK, __FILE__, __LINE__, status == PTX_OK ? "" : s.error.message);
    ptx_memory_read(s.memory, out_words, s.out, sizeof out_words, &s.error);
    for (uint32_t i = 0; i < 12 * 60; i++)
        CHECK_EQUAL(out_words[i], 8000 + i);
    CHECK_EQUAL(out_words[12 * 60], 0xFFFFFFFFu);
    sim_close(&s);
}

/* ---- budgets and interrupts ---- */

static void test_budget(void) {
    sim s;
    open_kernel(&s, "head: add.u32 %r1, %r1, 1; bra head;");
    s.config.step_budget = 20000;
    double start = now();
    CHECK_EQUAL(sim_run(&s, "k", 50, 256, 0, NULL), PTX_ERR_BUDGET);
    CHECK(now() - start < 5);
    CHECK_CONTAINS(s.error.message, "over its budget of 20000 warp instructions");
    CHECK(s.stats.warp_instructions > 20000 && s.stats.warp_instructions < 40000);
    s.config.threads = 2;
    CHECK_EQUAL(sim_run(&s, "k", 50, 256, 0, NULL), PTX_ERR_BUDGET);
    sim_close(&s);
    /* a launch that ends exactly within its budget: per warp 7 instructions of sim_kernel and 2 of its own */
    open_kernel(&s, "add.u32 %r1, %r1, 1; ret;");
    s.config.step_budget = 8 * 10 * 8;
    CHECK_EQUAL(sim_run(&s, "k", 10, 256, 0, NULL), PTX_OK);
    CHECK_EQUAL(s.stats.warp_instructions, 640);
    s.config.step_budget--;
    CHECK_EQUAL(sim_run(&s, "k", 10, 256, 0, NULL), PTX_ERR_BUDGET);
    sim_close(&s);
}

typedef struct interruption {
    double at;
    unsigned asked;
    pthread_t caller;
    bool elsewhere;
} interruption;

static bool interrupted(void *argument) {
    interruption *i = argument;
    i->asked++;
    i->elsewhere = i->elsewhere || !pthread_equal(pthread_self(), i->caller);
    return now() > i->at;
}

/* `threads` 2: the first of the blocks ends at once, so that the caller waits for the other one and must keep
   polling. */
static void test_interrupt(void) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        sim s;
        interruption i = {.at = now() + 0.2, .caller = pthread_self()};
        open_kernel(&s, "setp.eq.u32 %p1, %ctaid.x, 1; @!%p1 ret; head: add.u32 %r1, %r1, 1; bra head;");
        s.config.threads = threads;
        s.config.interrupted = interrupted;
        s.config.interrupted_arg = &i;
        double start = now();
        CHECK_EQUAL(sim_run(&s, "k", 2, 32, 0, NULL), PTX_ERR_INTERRUPTED);
        CHECK(now() - start < 5);
        CHECK(i.asked >= 2 && i.asked < 100);
        CHECK(!i.elsewhere);
        CHECK_CONTAINS(s.error.message, "kernel k was interrupted");
        sim_close(&s);
    }
}

static void test_trap(void) {
    sim s;
    open_kernel(&s, "setp.eq.u32 %p1, %r31, 37;\n@%p1 trap;\n@!%p1 st.global.u32 [%rd28], 1;");
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, out_words), PTX_OK);
    CHECK_EQUAL(out_words[31], 1);
    CHECK_EQUAL(sim_run(&s, "k", 1, 64, 0, NULL), PTX_ERR_TRAP);
    CHECK_EQUAL(s.error.warp, 1);
    CHECK_EQUAL(s.error.lane, 5);
    CHECK_EQUAL(s.error.line, 19);
    sim_close(&s);
}

/* ---- threads ---- */

static void test_threads_agree(void) {
    static uint32_t first[8192];
    uint64_t steps = 0;
    for (unsigned threads = 1; threads <= 4; threads++) {
        sim s;
        open_kernel(
            &s,
            ".shared .b32 s[128]; mov.u32 %r1, s; mad.lo.u32 %r1, %r31, 4, %r1; and.b32 %r2, %r30, 4095;\n"
            "mad.wide.u32 %rd1, %r2, 4, %rd30; ld.global.u32 %r3, [%rd1]; st.shared.u32 [%r1], %r3; bar.sync "
            "0;\nxor.b32 %r1, %r1, 64; rem.u32 %r4, %r30, 37;\n"
            "h: ld.shared.u32 %r5, [%r1]; mad.lo.u32 %r3, %r3, 5, %r5; sub.u32 %r4, %r4, 1; "
            "setp.gt.s32 %p1, %r4, 0; @%p1 bra h; st.global.u32 [%rd28], %r3;");
        s.config.threads = threads;
        CHECK_EQUAL(sim_run(&s, "k", 64, 128, 0, out_words), PTX_OK);
        if (threads == 1) {
            memcpy(first, out_words, sizeof first);
            steps = s.stats.warp_instructions;
        }
        CHECK(memcmp(first, out_words, sizeof first) == 0);
        CHECK_EQUAL(s.stats.warp_instructions, steps);
        sim_close(&s);
    }
}

/* If several blocks fail, the reported one does not depend on the host threads: the last one, which starts
   first. */
static void test_threads_agree_on_errors(void) {
    for (unsigned round = 0; round < 40; round++) {
        sim s;
        open_kernel(
            &s, "mov.u32 %r1, 3000; setp.ne.u32 %p2, %ctaid.x, 5; @%p2 mov.u32 %r1, 1;\n"
                "h: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra h; setp.ge.u32 %p1, %ctaid.x, 5; "
                "@%p1 trap;");
        s.config.threads = 1 + round % 4;
        CHECK_EQUAL(sim_run(&s, "k", 40, 32, 0, NULL), PTX_ERR_TRAP);
        CHECK_EQUAL(s.error.block[0], 39);
        sim_close(&s);
    }
}

/* Global atomics take effect in the order of a single thread, so that their results are deterministic. */
static void test_atomics_are_ordered(void) {
    sim s;
    open_kernel(&s, "atom.global.add.u32 %r1, [%rd30], 1; st.global.u32 [%rd28], %r1;");
    s.config.threads = 4;
    CHECK_EQUAL(sim_run(&s, "k", 64, 128, 0, out_words), PTX_OK);
    for (unsigned i = 0; i < 8192; i++)
        CHECK_EQUAL(out_words[i], in_words[0] + i);
    sim_close(&s);
}

typedef struct user {
    sim *s;
    unsigned failures;
} user;

/* Allocates, launches and frees concurrently with other threads that use the same memory and module. */
static void *use(void *argument) {
    user *u = argument;
    for (unsigned round = 0; round < 50; round++) {
        uint64_t params[3] = {u->s->in, 0, 0};
        uint32_t result[64];
        ptx_error error;
        ptx_launch_config config = {.grid = {2, 1, 1},
                                    .block = {32, 1, 1},
                                    .params = params,
                                    .param_bytes = sizeof params,
                                    .threads = 2};
        bool good = ptx_memory_alloc(u->s->memory, sizeof result, &params[1], &error) == PTX_OK &&
                    ptx_launch(ptx_module_kernel_at(u->s->module, 0), u->s->memory, &config, NULL, &error) ==
                        PTX_OK &&
                    ptx_memory_read(u->s->memory, result, params[1], sizeof result, &error) == PTX_OK &&
                    ptx_memory_free(u->s->memory, params[1], &error) == PTX_OK;
        for (unsigned i = 0; i < 64 && good; i++)
            good = result[i] == in_words[i] + i;
        u->failures += !good;
    }
    return NULL;
}

static void test_shared_use(void) {
    sim s;
    pthread_t threads[4];
    user users[4];
    open_kernel(&s, "mad.wide.u32 %rd1, %r30, 4, %rd30; ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, %r30; "
                    "st.global.u32 [%rd28], %r1;");
    for (unsigned i = 0; i < 4; i++) {
        users[i] = (user){.s = &s};
        CHECK(pthread_create(&threads[i], NULL, use, &users[i]) == 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQUAL(users[i].failures, 0);
    }
    sim_close(&s);
}

int main(void) {
    test_refusals();
    test_compiled_limits();
    test_indices();
    test_budget();
    test_interrupt();
    test_trap();
    test_threads_agree();
    test_threads_agree_on_errors();
    test_atomics_are_ordered();
    test_shared_use();
    return finish_checks("test_launch");
}
