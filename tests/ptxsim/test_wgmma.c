/* wgmma: results and operand layouts against an H200's, and rejected uses. */
#include <stdlib.h>

#include "check.h"
#include "instrumentation/racecheck.h"
#include "sim.h"
#include "tensor_cases.h"

typedef struct form_results {
    const char *name;
    uint64_t hash[16];
} form_results;

static const form_results results[] = {
#define FORM(name, ...) {name, {__VA_ARGS__}},
#include "tensor_results.def"
#undef FORM
};

typedef struct layout_result {
    const char *operand;
    unsigned start, leading, stride, base, swizzle;
    uint64_t hash;
} layout_result;

static const layout_result layouts[] = {
#define LAYOUT(operand, start, leading, stride, base, swizzle, hash)                                         \
    {operand, start, leading, stride, base, swizzle, hash},
#include "tensor_layouts.def"
#undef LAYOUT
};

/* ---- accumulators ---- */

enum { THREADS = 128, THREAD_WORDS = 8, B_WORDS = 64, CASE_WORDS = THREADS * THREAD_WORDS + B_WORDS };

/* Inputs per thread: fragments of A and of the accumulators, and B in its shared-memory layout. */
static void spread(const tc_form *f, const tc_inputs *in, uint32_t *words) {
    const unsigned bytes = (unsigned)tc_layout_of(f->in).bytes, packed = 4 / bytes, width = 8 * bytes;
    memset(words, 0, CASE_WORDS * sizeof *words);
    for (unsigned t = 0; t < THREADS; t++) {
        const unsigned row = t / 32 * 16 + t % 32 / 4, member = t % 4;
        uint32_t *mine = words + t * THREAD_WORDS;
        for (unsigned r = 0; r < 4; r++)
            for (unsigned e = 0; e < packed; e++)
                mine[r] |= in->a[(row + 8 * (r % 2)) * f->k + (member + r / 2 * 4) * packed + e] << e * width;
        for (unsigned i = 0; i < 4; i++) {
            const uint32_t c = in->c[(row + i / 2 * 8) * 8 + member * 2 + i % 2];
            if (f->out == TC_F16)
                mine[4 + i / 2] |= c << i % 2 * 16;
            else
                mine[4 + i] = c;
        }
    }
    for (unsigned k = 0; k < (unsigned)f->k; k++)
        for (unsigned n = 0; n < 8; n++) {
            const unsigned at = k * bytes / 16 * 128 + n * 16 + k * bytes % 16;
            words[THREADS * THREAD_WORDS + at / 4] |= in->b[k * 8 + n] << at % 4 * 8;
        }
}

static uint32_t collected(const tc_form *f, const uint32_t *threads, unsigned row, unsigned column) {
    const uint32_t *thread = threads + 4 * (row / 16 * 32 + row % 8 * 4 + column / 2);
    const unsigned lower = row % 16 / 8;
    return f->out == TC_F16 ? thread[lower] >> column % 2 * 16 & 0xffff : thread[lower * 2 + column % 2];
}

#define BEGIN "wgmma.fence.sync.aligned;\n"
#define END "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"

static void expect_products(const char *name, const char *instruction) {
    static uint32_t in[TC_CHUNK * CASE_WORDS], got[TC_CHUNK * THREADS * 4];
    static tc_inputs inputs;
    int form = 0;
    while (form < TC_FORMS && strcmp(tc_forms[form].name, name) != 0)
        form++;
    const form_results *want = results;
    while (strcmp(want->name, name) != 0)
        want++;
    const tc_form *f = &tc_forms[form];
    char text[1500];
    snprintf(
        text, sizeof text,
        ".shared .align 1024 .b8 s[256];\nmov.u32 %%r1, %%ctaid.x; mad.wide.u32 %%rd1, %%r1, %u, %%rd30;\n"
        "mad.wide.u32 %%rd2, %%r31, 32, %%rd1; ld.global.v4.u32 {%%r3, %%r4, %%r5, %%r6}, [%%rd2];\n"
        "ld.global.v4.u32 {%%r11, %%r12, %%r13, %%r14}, [%%rd2+16];\n"
        "mov.u32 %%r2, s; mad.lo.u32 %%r7, %%r31, 4, %%r2; mad.wide.u32 %%rd3, %%r31, 4, %%rd1;\n"
        "setp.lt.u32 %%p1, %%r31, 64; @%%p1 ld.global.u32 %%r8, [%%rd3+4096]; @%%p1 st.shared.u32 [%%r7], "
        "%%r8;\n"
        "fence.proxy.async; bar.sync 0;\n"
        "shr.u32 %%r2, %%r2, 4; cvt.u64.u32 %%rd4, %%r2; or.b64 %%rd4, %%rd4, 0x800080000;\n"
        "setp.eq.u32 %%p2, %%r31, 4096;\n" BEGIN "wgmma.mma_async.sync.aligned.%s;\n" END
        "mad.lo.u32 %%r1, %%r1, 128, %%r31; mad.wide.u32 %%rd5, %%r1, 16, %%rd31;\n"
        "st.global.v4.u32 [%%rd5], {%%r11, %%r12, %%r13, %%r14};",
        CASE_WORDS * 4, instruction);
    char *kernel = sim_kernel(text);
    for (uint32_t i = 0; i < TC_CHUNK; i++) {
        tc_case(form, i, &inputs);
        spread(f, &inputs, in + i * CASE_WORDS);
    }
    sim s;
    sim_open(&s, kernel, in, sizeof in, sizeof got);
    const ptx_status status = sim_run(&s, "k", TC_CHUNK, THREADS, 0, got);
    check_report(status == PTX_OK, name, 0, status == PTX_OK ? "" : s.error.message);
    uint64_t hash = 0;
    for (uint32_t i = 0; i < TC_CHUNK; i++)
        for (unsigned j = 0; j < 512; j++)
            hash = tc_hash(hash, collected(f, got + i * THREADS * 4, j / 8, j % 8));
    CHECK_EQUAL_AS(hash, want->hash[0], name);
    sim_close(&s);
    free(kernel);
}

#define D_4 "{%r11, %r12, %r13, %r14}"
#define A_4 "{%r3, %r4, %r5, %r6}"
#define FROM_4 " " D_4 ", " A_4 ", %rd4, "

static void test_sums(void) {
    expect_products("wgmma.m64n8k8.f32.tf32.tf32", "m64n8k8.f32.tf32.tf32" FROM_4 "1, 1, 1");
    expect_products("wgmma.m64n8k8.f32.tf32.tf32, no addend", "m64n8k8.f32.tf32.tf32" FROM_4 "%p2, 1, 1");
    expect_products("wgmma.m64n8k8.f32.tf32.tf32, -a", "m64n8k8.f32.tf32.tf32" FROM_4 "1, -1, 1");
    expect_products("wgmma.m64n8k8.f32.tf32.tf32, -b", "m64n8k8.f32.tf32.tf32" FROM_4 "1, 1, -1");
    expect_products("wgmma.m64n8k16.f32.bf16.bf16", "m64n8k16.f32.bf16.bf16" FROM_4 "1, 1, 1, 0");
    expect_products("wgmma.m64n8k16.f32.bf16.bf16, -a -b", "m64n8k16.f32.bf16.bf16" FROM_4 "1, -1, -1, 0");
    expect_products("wgmma.m64n8k16.f32.f16.f16", "m64n8k16.f32.f16.f16" FROM_4 "1, 1, 1, 0");
    expect_products("wgmma.m64n8k16.f16.f16.f16",
                    "m64n8k16.f16.f16.f16 {%r11, %r12}, " A_4 ", %rd4, 1, 1, 1, 0");
    expect_products("wgmma.m64n8k32.f32.e4m3.e4m3", "m64n8k32.f32.e4m3.e4m3" FROM_4 "1, 1, 1");
    expect_products("wgmma.m64n8k32.f32.e5m2.e5m2", "m64n8k32.f32.e5m2.e5m2" FROM_4 "1, 1, 1");
}

/* ---- operand layouts ---- */

enum { REGION = 192 * 1024, AROUND = REGION + 2048, MOST_SUMS = 64 };

/* The bits of a number from 0 to 15. */
static uint32_t small_number(unsigned bytes, uint32_t value) {
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (bytes == 4)
        return bits;
    if (bytes == 2)
        return bits >> 16;
    return value == 0 ? 0 : ((bits >> 23) - 127 + 7) << 3 | (bits >> 20 & 7);
}

/* An element of shared memory identifies its position, or nearly so. */
static uint32_t number_at(uint32_t element) {
    return 8 + (element * 2654435761u >> 29);
}

/* A shape with A or B in elements of `bytes` bytes: n columns; the other operand is the identity. */
typedef struct probe {
    const char *operand, *shape, *more;
    unsigned bytes, n;
} probe;

static const probe probes[] = {
    {"a.tf32", "m64n8k8.f32.tf32.tf32", "1, 1", 4, 8},
    {"b.tf32", "m64n32k8.f32.tf32.tf32", "1, 1", 4, 32},
    {"a.bf16", "m64n16k16.f32.bf16.bf16", "1, 1, 0, 0", 2, 16},
    {"a.bf16.transposed", "m64n16k16.f32.bf16.bf16", "1, 1, 1, 0", 2, 16},
    {"b.bf16", "m64n128k16.f32.bf16.bf16", "1, 1, 0", 2, 128},
    {"b.bf16.transposed", "m64n128k16.f32.bf16.bf16", "1, 1, 1", 2, 128},
    {"a.e4m3", "m64n32k32.f32.e4m3.e4m3", "1, 1", 1, 32},
    {"b.e4m3", "m64n32k32.f32.e4m3.e4m3", "1, 1", 1, 32},
};

/* Registers from %s0 on are the accumulators, %a0 to %a3 A's identity, %rd4 the current descriptor, %rd5 the
   descriptor of B's identity. */
static char *probe_kernel(const probe *p) {
    const unsigned sums = p->n / 2;
    char *text = malloc(16000);
    int used = snprintf(
        text, 16000,
        ".reg .b32 %%s<64>, %%a<4>;\n"
        "mov.b32 %%r1, 0; mov.u32 %%r2, s;\nmad.lo.u32 %%r3, %%r31, 16, %%r2; mad.wide.u32 %%rd1, %%r31, 16, "
        "%%rd30;\n"
        "LOOP: ld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%rd1]; st.shared.v4.u32 [%%r3], {%%r4, %%r5, "
        "%%r6, %%r7};\n"
        "add.u32 %%r3, %%r3, 2048; add.u64 %%rd1, %%rd1, 2048; add.u32 %%r1, %%r1, 2048;\n"
        "setp.lt.u32 %%p1, %%r1, %u; @%%p1 bra LOOP;\n"
        "mad.wide.u32 %%rd1, %%r31, 16, %%rd30; ld.global.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%rd1+%u];\n"
        "ld.global.u64 %%rd4, [%%rd30+%u]; shr.u32 %%r2, %%r2, 4; cvt.u64.u32 %%rd2, %%r2; add.u64 %%rd4, "
        "%%rd4, %%rd2;\n"
        "or.b64 %%rd5, %%rd2, 0x800200000; add.u64 %%rd5, %%rd5, %u;\nfence.proxy.async; bar.sync 0;\n" BEGIN
        "wgmma.mma_async.sync.aligned.%s {",
        AROUND, AROUND, AROUND + 2048, REGION / 16, p->shape);
    for (unsigned i = 0; i < sums; i++)
        used += snprintf(text + used, 16000 - (size_t)used, "%s%%s%u", i ? ", " : "", i);
    used += snprintf(text + used, 16000 - (size_t)used,
                     "}, %s, 0, %s;\n" END "mad.wide.u32 %%rd6, %%r31, %u, %%rd31;\n",
                     p->operand[0] == 'a' ? "%rd4, %rd5" : "{%a0, %a1, %a2, %a3}, %rd4", p->more, 4 * sums);
    for (unsigned i = 0; i < sums; i++)
        used += snprintf(text + used, 16000 - (size_t)used, "st.global.u32 [%%rd6+%u], %%s%u;\n", 4 * i, i);
    return text;
}

/* Memory: the probed operand, then B's identity without swizzle, the fragments of A's identity, and a
   descriptor. */
static void fill(const probe *p, uint8_t *memory) {
    const unsigned bytes = p->bytes, k = 32 / bytes;
    const uint32_t one = small_number(bytes, 1);
    for (uint32_t i = 0; i < REGION / bytes; i++) {
        const uint32_t bits = small_number(bytes, number_at(i));
        memcpy(memory + (size_t)i * bytes, &bits, bytes);
    }
    memset(memory + REGION, 0, 2048 + 2048);
    for (unsigned i = 0; i < k; i++) {
        const unsigned j = i * bytes;
        memcpy(memory + REGION + j / 16 * 512 + i / 8 * 128 + i % 8 * 16 + j % 16, &one, bytes);
    }
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned e = 0; e < 4 / bytes; e++)
                if (t / 32 * 16 + t % 32 / 4 + r % 2 * 8 == (t % 4 + r / 2 * 4) * (4 / bytes) + e)
                    memcpy(memory + AROUND + t * 16 + r * 4 + e * bytes, &one, bytes);
}

static void test_layout(sim *s, const probe *p, const layout_result *at) {
    static uint32_t got[THREADS * MOST_SUMS];
    const unsigned rows = p->operand[0] == 'a' ? 64 : 32 / p->bytes;
    const uint64_t descriptor = at->start >> 4 | (uint64_t)(at->leading >> 4) << 16 |
                                (uint64_t)(at->stride >> 4) << 32 | (uint64_t)at->base << 49 |
                                (uint64_t)at->swizzle << 62;
    ptx_memory_write(s->memory, s->in + AROUND + 2048, &descriptor, sizeof descriptor, &s->error);
    const ptx_status status = sim_run(s, "k", 1, THREADS, 0, got);
    check_report(status == PTX_OK, p->operand, 0, status == PTX_OK ? "" : s->error.message);
    uint64_t hash = 0;
    for (unsigned row = 0; row < rows; row++)
        for (unsigned column = 0; column < p->n; column++) {
            const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
            const uint32_t bits = got[thread * (p->n / 2) + column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
            float sum;
            memcpy(&sum, &bits, sizeof sum);
            hash = tc_hash(hash, (uint32_t)sum);
        }
    char name[100];
    snprintf(name, sizeof name, "%s at %u, %u, %u, %u, %u", p->operand, at->start, at->leading, at->stride,
             at->base, at->swizzle);
    CHECK_EQUAL_AS(hash, at->hash, name);
}

static void test_layouts(void) {
    static const char shared[] = ".extern .shared .align 1024 .b8 s[];\n";
    static uint8_t memory[AROUND + 2048 + 8];
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        const probe *p = &probes[i];
        char *statements = probe_kernel(p), *kernel = sim_kernel(statements);
        char *text = malloc(strlen(kernel) + sizeof shared);
        sprintf(text, SIM_HEADER "%s%s", shared, kernel + strlen(SIM_HEADER));
        sim s;
        fill(p, memory);
        sim_open(&s, text, memory, sizeof memory, THREADS * 4 * p->n / 2);
        s.config.dynamic_shared_bytes = AROUND;
        for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++)
            if (strcmp(layouts[k].operand, p->operand) == 0)
                test_layout(&s, p, &layouts[k]);
        sim_close(&s);
        free(text);
        free(kernel);
        free(statements);
    }
}

/* ---- waiting ---- */

/* 256 bytes of zeros in shared memory with the descriptor %rd4. */
#define SETUP                                                                                                \
    ".shared .align 1024 .b8 s[256];\nmov.u32 %r2, s; mad.lo.u32 %r7, %r31, 2, %r2; mov.b16 %h1, 0;\n"       \
    "st.shared.u16 [%r7], %h1; fence.proxy.async; bar.sync 0;\n"                                             \
    "shr.u32 %r9, %r2, 4; cvt.u64.u32 %rd4, %r9; or.b64 %rd4, %rd4, 0x800080000;\n"                          \
    "mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0;\n"                                      \
    "mov.b32 %r11, 0x40000000; mov.b32 %r12, %r11; mov.b32 %r13, %r11; mov.b32 %r14, %r11;\n"                \
    "mov.b32 %r19, 0; mov.b32 %r15, 0x40400000; mov.b32 %r16, %r15; mov.b32 %r17, %r15; mov.b32 %r18, "      \
    "%r15;\n"
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D_4 ", " A_4 ", %rd4, 1, 1, 1;\n"
#define OTHER                                                                                                \
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%r15, %r16, %r17, %r18}, {%r19, %r19, %r19, "       \
    "%r19}, %rd4, 1, 1, 1;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define STORE(r) "st.global.u32 [%rd28], " r ";\n"

typedef struct outcome {
    ptx_status status;
    ptx_error error;
    size_t races;
    unsigned hazards; /* one bit per kind */
    uint32_t out[THREADS];
} outcome;

static outcome launch(const char *statements, unsigned block, bool watched) {
    static uint32_t in[1];
    char *text = sim_kernel(statements);
    outcome o = {.races = 0};
    sim s;
    sim_open(&s, text, in, sizeof in, sizeof o.out);
    ptx_racecheck *racecheck;
    CHECK_EQUAL(ptx_racecheck_create(&racecheck, &s.error), PTX_OK);
    ptx_observer *observers[] = {&racecheck->base};
    s.config.observers = observers;
    s.config.observer_count = watched;
    o.status = sim_run(&s, "k", 1, block, 0, o.out);
    o.error = s.error;
    o.races = racecheck->table.count;
    for (size_t i = 0; i < o.races; i++)
        o.hazards |= 1u << racecheck->table.races[i].hazard;
    ptx_racecheck_free(racecheck);
    sim_close(&s);
    free(text);
    return o;
}

/* With and without observers, which use different variants of the executor. */
static void refuse(const char *statements, unsigned block, const char *part) {
    for (unsigned watched = 0; watched < 2; watched++) {
        const outcome o = launch(statements, block, watched);
        CHECK_EQUAL_AS(o.status, PTX_ERR_BARRIER, statements);
        CHECK_CONTAINS(o.error.message, part);
    }
}

static void accept(const char *statements, uint32_t want) {
    for (unsigned watched = 0; watched < 2; watched++) {
        const outcome o = launch(statements, THREADS, watched);
        check_report(o.status == PTX_OK, statements, 0, o.status == PTX_OK ? "" : o.error.message);
        CHECK_EQUAL_AS(o.races, 0, statements);
        CHECK_EQUAL_AS(o.out[77], want, statements);
    }
}

static void test_waits(void) {
    accept(SETUP BEGIN PRODUCT PRODUCT END STORE("%r11"), 0x40000000);
    /* one of two groups may be pending while the accumulators of the other one are read */
    accept(SETUP BEGIN PRODUCT COMMIT OTHER COMMIT
           "wgmma.wait_group.sync.aligned 1;\n" STORE("%r11") "wgmma.wait_group.sync.aligned 0;\n",
           0x40000000);
    refuse(SETUP BEGIN PRODUCT COMMIT OTHER COMMIT "wgmma.wait_group.sync.aligned 1;\n" STORE("%r15"),
           THREADS, "reads a register that the wgmma.mma_async");
    refuse(SETUP BEGIN PRODUCT COMMIT STORE("%r11"), THREADS,
           "sums into, and no wgmma.wait_group has waited for it");
    refuse(SETUP BEGIN PRODUCT "wgmma.wait_group.sync.aligned 0;\n" STORE("%r11"), THREADS,
           "no wgmma.wait_group");
    refuse(SETUP BEGIN PRODUCT COMMIT "mov.b32 %r12, 0;\n" END, THREADS,
           "writes a register that the wgmma.mma_async");
    refuse(SETUP BEGIN PRODUCT COMMIT "add.u32 %r3, %r4, 1;\n" END, THREADS, "takes A from");
    accept(SETUP BEGIN PRODUCT COMMIT "add.u32 %r8, %r3, 5;\n" END STORE("%r8"), 5);
    refuse(SETUP BEGIN PRODUCT COMMIT, THREADS, "the warp exits while this wgmma is in flight");
    accept(SETUP BEGIN PRODUCT END "add.u32 %r3, %r4, 7;\n" STORE("%r3"), 7);
    accept(SETUP BEGIN
           "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " D_4
           ", {0f00000000, 0f3F800000, 0f00000000, 0f40000000}, %rd4, 1, 1, 1;\n" END STORE("%r11"),
           0x40000000);
    /* a move because a variable is renamed */
    accept(SETUP BEGIN PRODUCT COMMIT "mov.b32 %r20, %r11;\n" END STORE("%r20"), 0x40000000);
}

static void test_fences(void) {
    refuse(SETUP PRODUCT END, THREADS, "a wgmma.fence must come before");
    accept(SETUP BEGIN PRODUCT END PRODUCT END STORE("%r11"), 0x40000000);
    refuse(SETUP BEGIN PRODUCT END STORE("%r11") PRODUCT END, THREADS, "there was no wgmma.fence since");
    accept(SETUP BEGIN PRODUCT END "mov.b32 %r11, 0x3f800000;\n" BEGIN PRODUCT END STORE("%r11"), 0x3f800000);
}

static void test_together(void) {
    refuse(SETUP BEGIN PRODUCT END, 96, "the block does not have all four warps");
    refuse(SETUP BEGIN "setp.lt.u32 %p1, %r31, 64;\n@!%p1 bra DONE;\n" PRODUCT END "DONE:", THREADS,
           "the warps of a warpgroup do not all execute this");
    refuse(SETUP BEGIN "setp.ne.u32 %p1, %r31, 5;\n@%p1 " PRODUCT END, THREADS, "all lanes of the warp");
}

static unsigned hazards_of(const char *statements) {
    const outcome o = launch(statements, THREADS, true);
    check_report(o.status == PTX_OK, statements, 0, o.status == PTX_OK ? "" : o.error.message);
    return o.hazards;
}

/* Each warp writes a quarter of B, and all read it. */
#define WRITTEN_B(fence, sync)                                                                               \
    ".shared .align 1024 .b8 s[256];\nmov.u32 %r2, s; mad.lo.u32 %r7, %r31, 2, %r2; mov.b16 %h1, 0;\n"       \
    "mov.b32 %r19, 0; mov.b32 %r15, 0; mov.b32 %r16, 0; mov.b32 %r17, 0; mov.b32 %r18, 0;\n"                 \
    "st.shared.u16 [%r7], %h1;\n" fence sync                                                                 \
    "shr.u32 %r9, %r2, 4; cvt.u64.u32 %rd4, %r9; or.b64 %rd4, %rd4, 0x800080000;\n"
#define PROXY "fence.proxy.async;\n"
#define BARRIER "bar.sync 0;\n"

static void test_races(void) {
    CHECK_EQUAL(hazards_of(WRITTEN_B(PROXY, BARRIER) BEGIN OTHER END), 0);
    CHECK(hazards_of(WRITTEN_B(PROXY, "") BEGIN OTHER END) & 1u << PTX_HAZARD_WRITE_READ);
    CHECK_EQUAL(hazards_of(WRITTEN_B("", BARRIER) BEGIN OTHER END), 1u << PTX_HAZARD_UNFENCED);
    /* B may change after all warps have waited for the group */
    CHECK(hazards_of(WRITTEN_B(PROXY, BARRIER) BEGIN OTHER COMMIT BARRIER
                     "st.shared.u16 [%r7], %h1;\n"
                     "wgmma.wait_group.sync.aligned 0;\n") &
          1u << PTX_HAZARD_READ_WRITE);
    CHECK_EQUAL(hazards_of(WRITTEN_B(PROXY, BARRIER) BEGIN OTHER END BARRIER "st.shared.u16 [%r7], %h1;\n"),
                0);
    CHECK(hazards_of(WRITTEN_B(PROXY, BARRIER) BEGIN OTHER END "st.shared.u16 [%r7], %h1;\n") &
          1u << PTX_HAZARD_READ_WRITE);
    /* after the wait, the previous reads of other lanes of the warp are ordered */
    static const char own[] =
        "and.b32 %r20, %r31, 96; setp.eq.u32 %p1, %r31, %r20; mad.lo.u32 %r21, %r31, 2, %r2;\n"
        "ld.shared.u16 %h2, [%r21+512];\n" BEGIN OTHER END "@%p1 st.shared.u16 [%r21+514], %h1;\n";
    char text[3000];
    snprintf(text, sizeof text, "%s%s", WRITTEN_B("st.shared.u16 [%r7+512], %h1;\n" PROXY, BARRIER), own);
    char *size = strstr(text, "s[256]");
    memcpy(size, "s[768]", 6);
    CHECK_EQUAL(hazards_of(text), 0);
}

int main(void) {
    test_sums();
    test_layouts();
    test_waits();
    test_fences();
    test_together();
    test_races();
    return finish_checks("test_wgmma");
}
