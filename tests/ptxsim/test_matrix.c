/* ldmatrix, stmatrix and mma: fragment layouts, and the arithmetic of tensor cores against an H200's
   results. */
#include <stdlib.h>

#include "check.h"
#include "double_cases.h"
#include "interpreter/tensor_core.h"
#include "sim.h"
#include "tensor_cases.h"

enum { WORDS = 32 * 4 };

static uint32_t out[WORDS];

/* Runs one block with observers. */
static sim_outcome launch(const char *statements, unsigned block) {
    static const uint32_t in[1];
    return sim_run_observed(statements, block, in, sizeof in, out, sizeof out);
}

static void refuse(const char *statements, unsigned block, ptx_status status, const char *part) {
    const sim_outcome o = launch(statements, block);
    CHECK_EQUAL_AS(o.status, status, statements);
    CHECK_CONTAINS(o.error.message, part);
}

/* ---- ldmatrix ---- */

/* Shared memory with 1024 16-bit numbers equal to their index, and in %r3 a row address per lane, `stride`
   bytes apart. */
#define NUMBERED(stride, sync)                                                                               \
    ".shared .align 16 .b8 s[2048];\nmov.u32 %r2, s; shl.b32 %r1, %r31, 6; add.u32 %r4, %r2, %r1;\n"         \
    "mad.lo.u32 %r10, %r31, 0x200020, 0x10000; mov.b32 %r12, 0;\n"                                           \
    "LOOP: add.u32 %r11, %r4, %r12; st.shared.u32 [%r11], %r10; add.u32 %r10, %r10, 0x20002;\n"              \
    "add.u32 %r12, %r12, 4; setp.lt.u32 %p1, %r12, 64; @%p1 bra LOOP;\n" sync                                \
    "mad.lo.u32 %r3, %r31, " stride ", %r2;\n"                                                               \
    "mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, 0;\n"
#define WARP "bar.warp.sync -1;\n"
#define LOAD_4 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r3];\n"
#define STORE "mad.wide.u32 %rd1, %r31, 12, %rd28; st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8};\n"

static void expect_matrices(const char *statements, unsigned count, bool transposed, unsigned stride) {
    const sim_outcome o = launch(statements, 32);
    check_report(o.status == PTX_OK, statements, 0, o.status == PTX_OK ? "" : o.error.message);
    CHECK_EQUAL_AS(o.races, 0, statements);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned k = 0; k < 4; k++) {
            const unsigned outer = lane / 4, inner = lane % 4 * 2, along = stride / 2;
            const unsigned low = k * 8 * along + (transposed ? inner * along + outer : outer * along + inner);
            const unsigned high = low + (transposed ? along : 1);
            CHECK_EQUAL_AS(out[4 * lane + k], k < count ? low | high << 16 : 0, statements);
        }
}

static void test_loads(void) {
    expect_matrices(NUMBERED("16", WARP) "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r3];\n" STORE, 1,
                    false, 16);
    expect_matrices(
        NUMBERED("16", WARP) "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r5, %r6}, [%r3];\n" STORE, 2,
        true, 16);
    expect_matrices(NUMBERED("48", WARP) LOAD_4 STORE, 4, false, 48);
    expect_matrices(
        NUMBERED(
            "64",
            WARP) "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%r5, %r6, %r7, %r8}, [%r3];\n" STORE,
        4, true, 64);
}

/* Eight rows take one wavefront unless they share banks. */
static void test_load_counters(void) {
    const sim_outcome adjacent = launch(NUMBERED("16", WARP) LOAD_4, 32),
                      apart = launch(NUMBERED("48", WARP) LOAD_4, 32);
    const sim_outcome fours = launch(NUMBERED("64", WARP) LOAD_4, 32),
                      pairs = launch(NUMBERED("32", WARP) LOAD_4, 32);
    CHECK_EQUAL(adjacent.wavefronts, 4);
    CHECK_EQUAL(apart.wavefronts, 4);
    CHECK_EQUAL(pairs.wavefronts, 8);
    CHECK_EQUAL(fours.wavefronts, 16);
    CHECK_EQUAL(fours.ideal, 4);
}

static void test_load_mistakes(void) {
    refuse(NUMBERED("8", WARP) LOAD_4, 32, PTX_ERR_ALIGNMENT, "lane 1");
    refuse(NUMBERED("80", WARP) LOAD_4, 32, PTX_ERR_ADDRESS, "lane 26");
    refuse(NUMBERED("16", "") LOAD_4, 16, PTX_ERR_BARRIER, "lanes 0x0000ffff are here, 0xffff0000 are not");
    refuse(NUMBERED("16", "") "setp.lt.u32 %p2, %r31, 8;\n@%p2 bra.uni END;\n" LOAD_4 "END:", 32,
           PTX_ERR_BARRIER, "lanes 0xffffff00 are here");
    refuse(NUMBERED("16", "") "setp.lt.u32 %p2, %r31, 8;\n@%p2 " LOAD_4, 32, PTX_ERR_BARRIER,
           "lanes 0x000000ff are here");
    const sim_outcome o = launch(NUMBERED("16", "") LOAD_4, 32);
    CHECK(o.races > 0);
    CHECK_EQUAL(o.hazard, PTX_HAZARD_WRITE_READ);
}

/* ---- mma, against an H200's results ---- */

typedef struct form_results {
    const char *name;
    uint64_t hash[40];
} form_results;

static const form_results results[] = {
#define FORM(name, ...) {name, {__VA_ARGS__}},
#include "tensor_results.def"
#undef FORM
};

static const ptx_core_type types[] = {[TC_TF32] = PTX_CORE_TF32,
                                      [TC_F16] = PTX_CORE_F16,
                                      [TC_BF16] = PTX_CORE_BF16,
                                      [TC_E4M3] = PTX_CORE_E4M3,
                                      [TC_E5M2] = PTX_CORE_E5M2};

static const uint64_t *results_of(const char *name) {
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (strcmp(results[i].name, name) == 0)
            return results[i].hash;
    CHECK(!"the form has no results");
    return NULL;
}

/* The arithmetic without fragments, all forms. */
static void test_arithmetic(void) {
    static tc_inputs in;
    static ptx_core_parts a, b;
    for (int form = 0; form < TC_FORMS; form++) {
        const tc_form *f = &tc_forms[form];
        const ptx_core_step step = {types[f->in], f->out == TC_F16, (unsigned)f->k};
        const uint64_t *want = results_of(f->name);
        const uint32_t chunks = f->rows == 64 ? 4 : 16;
        uint64_t hash = 0;
        for (uint32_t i = 0; want && i < chunks * TC_CHUNK; i++) {
            tc_case(form, i, &in);
            if (!f->keeps)
                memset(in.c, 0, sizeof in.c);
            ptx_core_split(step.type, in.b, step.k * 8, f->minus_b, &b);
            for (int first = 0; first < f->rows; first += 16) {
                ptx_core_split(step.type, in.a + first * f->k, 16 * step.k, f->minus_a, &a);
                ptx_core_multiply(step, 16, &a, &b, in.c + first * 8);
            }
            for (int j = 0; j < f->rows * 8; j++)
                hash = tc_hash(hash, in.c[j]);
            if (i % TC_CHUNK == TC_CHUNK - 1) {
                CHECK_EQUAL_AS(hash, want[i / TC_CHUNK], f->name);
                hash = 0;
            }
        }
    }
}

/* Fragment layouts as in the PTX manual: register r of A has row lane / 4 + 8 (r % 2), and so on. */
enum { A_AT, B_AT = 4, C_AT = 8, LANE_WORDS = 12 };

static void spread(const tc_form *f, const tc_inputs *in, unsigned lane, uint32_t *words) {
    const unsigned packed = f->in == TC_TF32 ? 1 : 2, width = 32 / packed, group = lane / 4,
                   member = lane % 4;
    memset(words, 0, LANE_WORDS * sizeof *words);
    for (unsigned r = 0; r < (unsigned)f->k / packed / 2; r++)
        for (unsigned e = 0; e < packed; e++)
            words[A_AT + r] |= in->a[(group + 8 * (r % 2)) * f->k + (member + r / 2 * 4) * packed + e]
                               << e * width;
    for (unsigned r = 0; r < (unsigned)f->k / packed / 4; r++)
        for (unsigned e = 0; e < packed; e++)
            words[B_AT + r] |= in->b[((member + 4 * r) * packed + e) * 8 + group] << e * width;
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t c = in->c[(group + i / 2 * 8) * 8 + member * 2 + i % 2];
        if (f->out == TC_F16)
            words[C_AT + i / 2] |= c << i % 2 * 16;
        else
            words[C_AT + i] = c;
    }
}

static uint32_t collected(const tc_form *f, const uint32_t *lanes, unsigned row, unsigned column) {
    const uint32_t *lane = lanes + 4 * (row % 8 * 4 + column / 2);
    return f->out == TC_F16 ? lane[row / 8] >> column % 2 * 16 & 0xffff : lane[row / 8 * 2 + column % 2];
}

static void expect_products(int form, const char *instruction) {
    enum { CHUNKS = 2 };
    static uint32_t in[TC_CHUNK * 32 * LANE_WORDS], got[TC_CHUNK * 32 * 4];
    static tc_inputs inputs;
    const tc_form *f = &tc_forms[form];
    const uint64_t *want = results_of(f->name);
    char text[800];
    snprintf(
        text, sizeof text,
        "mov.u32 %%r1, %%ctaid.x; mad.lo.u32 %%r2, %%r1, 32, %%r31; mad.wide.u32 %%rd1, %%r2, 48, %%rd30;\n"
        "ld.global.v4.u32 {%%r3, %%r4, %%r5, %%r6}, [%%rd1];\nld.global.v2.u32 {%%r7, %%r8}, [%%rd1+16];\n"
        "ld.global.v4.u32 {%%r11, %%r12, %%r13, %%r14}, [%%rd1+32];\n"
        "mma.sync.aligned.%s;\n"
        "mad.wide.u32 %%rd2, %%r2, 16, %%rd31; st.global.v4.u32 [%%rd2], {%%r11, %%r12, %%r13, %%r14};",
        instruction);
    char *kernel = sim_kernel(text);
    for (uint32_t chunk = 0; want && chunk < CHUNKS; chunk++) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < TC_CHUNK; i++) {
            tc_case(form, chunk * TC_CHUNK + i, &inputs);
            for (unsigned lane = 0; lane < 32; lane++)
                spread(f, &inputs, lane, in + (i * 32 + lane) * LANE_WORDS);
        }
        sim s;
        sim_open(&s, kernel, in, sizeof in, sizeof got);
        const ptx_status status = sim_run(&s, "k", TC_CHUNK, 32, 0, got);
        check_report(status == PTX_OK, instruction, 0, status == PTX_OK ? "" : s.error.message);
        for (uint32_t i = 0; i < TC_CHUNK; i++)
            for (unsigned j = 0; j < 128; j++)
                hash = tc_hash(hash, collected(f, got + i * 128, j / 8, j % 8));
        CHECK_EQUAL_AS(hash, want[chunk], instruction);
        sim_close(&s);
    }
    free(kernel);
}

#define A_4 "{%r3, %r4, %r5, %r6}"
#define C_4 "{%r11, %r12, %r13, %r14}"

static void test_products(void) {
    static const char *const instructions[] = {
        "m16n8k4.row.col.f32.tf32.tf32.f32 " C_4 ", {%r3, %r4}, {%r7}, " C_4,
        "m16n8k8.row.col.f32.tf32.tf32.f32 " C_4 ", " A_4 ", {%r7, %r8}, " C_4,
        "m16n8k8.row.col.f32.bf16.bf16.f32 " C_4 ", {%r3, %r4}, {%r7}, " C_4,
        "m16n8k16.row.col.f32.bf16.bf16.f32 " C_4 ", " A_4 ", {%r7, %r8}, " C_4,
        "m16n8k8.row.col.f32.f16.f16.f32 " C_4 ", {%r3, %r4}, {%r7}, " C_4,
        "m16n8k16.row.col.f32.f16.f16.f32 " C_4 ", " A_4 ", {%r7, %r8}, " C_4,
        "m16n8k8.row.col.f16.f16.f16.f16 {%r11, %r12}, {%r3, %r4}, {%r7}, {%r11, %r12}",
        "m16n8k16.row.col.f16.f16.f16.f16 {%r11, %r12}, " A_4 ", {%r7, %r8}, {%r11, %r12}",
    };
    for (int form = 0; form < 8; form++)
        expect_products(form, instructions[form]);
}

/* A lane's registers of A, B and C, in this order. */
enum { DOUBLES_OF_A = 8, DOUBLES_OF_B = 4, DOUBLES_OF_C = 4, LANE_DOUBLES = 16 };

static void spread_doubles(const dc_form *f, const dc_inputs *in, unsigned lane, uint64_t *words) {
    const unsigned group = lane / 4, member = lane % 4, halves = (unsigned)f->rows / 8, k = (unsigned)f->k;
    memset(words, 0, LANE_DOUBLES * sizeof *words);
    for (unsigned r = 0; r < k / 4 * halves; r++)
        words[r] = in->a[(group + r % halves * 8) * k + member + r / halves * 4];
    for (unsigned r = 0; r < k / 4; r++)
        words[DOUBLES_OF_A + r] = in->b[(member + r * 4) * 8 + group];
    for (unsigned r = 0; r < 2 * halves; r++)
        words[DOUBLES_OF_A + DOUBLES_OF_B + r] = in->c[(group + r / 2 * 8) * 8 + member * 2 + r % 2];
}

static void expect_doubles(int form, const char *instruction) {
    enum { CHUNKS = 16 };
    static uint64_t in[DC_CHUNK * 32 * LANE_DOUBLES], got[DC_CHUNK * 32 * DOUBLES_OF_C];
    static dc_inputs inputs;
    const dc_form *f = &dc_forms[form];
    const uint64_t *want = results_of(f->name);
    char text[1200];
    int length = snprintf(text, sizeof text,
                          "mov.u32 %%r1, %%ctaid.x; mad.lo.u32 %%r2, %%r1, 32, %%r31; mad.wide.u32 %%rd20, "
                          "%%r2, 128, %%rd30;\n");
    for (int i = 0; i < LANE_DOUBLES; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "ld.global.u64 %%rd%d, [%%rd20+%d];\n", i + 1, 8 * i);
    snprintf(text + length, sizeof text - (size_t)length,
             "mma.sync.aligned.%s;\nmad.wide.u32 %%rd21, %%r2, 32, %%rd31;\n"
             "st.global.v2.u64 [%%rd21], {%%rd13, %%rd14}; st.global.v2.u64 [%%rd21+16], {%%rd15, %%rd16};",
             instruction);
    char *kernel = sim_kernel(text);
    for (uint32_t chunk = 0; want && chunk < CHUNKS; chunk++) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < DC_CHUNK; i++) {
            dc_case(form, chunk * DC_CHUNK + i, &inputs);
            for (unsigned lane = 0; lane < 32; lane++)
                spread_doubles(f, &inputs, lane, in + (i * 32 + lane) * LANE_DOUBLES);
        }
        sim s;
        sim_open(&s, kernel, in, sizeof in, sizeof got);
        const ptx_status status = sim_run(&s, "k", DC_CHUNK, 32, 0, got);
        check_report(status == PTX_OK, instruction, 0, status == PTX_OK ? "" : s.error.message);
        for (uint32_t i = 0; i < DC_CHUNK; i++)
            for (int m = 0; m < f->rows; m++)
                for (int n = 0; n < 8; n++)
                    hash = dc_hash(hash, got[(i * 32 + (uint32_t)(m % 8 * 4 + n / 2)) * DOUBLES_OF_C +
                                             (uint32_t)(m / 8 * 2 + n % 2)]);
        CHECK_EQUAL_AS(hash, want[chunk], instruction);
        sim_close(&s);
    }
    free(kernel);
}

#define SUMS_4 "{%rd13, %rd14, %rd15, %rd16}"

static void test_doubles(void) {
    static const char *const instructions[DC_FORMS] = {
        "m8n8k4.row.col.f64.f64.f64.f64 {%rd13, %rd14}, {%rd1}, {%rd9}, {%rd13, %rd14}",
        "m16n8k4.row.col.f64.f64.f64.f64 " SUMS_4 ", {%rd1, %rd2}, {%rd9}, " SUMS_4,
        "m16n8k8.row.col.rn.f64.f64.f64.f64 " SUMS_4 ", {%rd1, %rd2, %rd3, %rd4}, {%rd9, %rd10}, " SUMS_4,
        "m16n8k16.row.col.f64.f64.f64.f64 " SUMS_4
        ", {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, {%rd9, %rd10, %rd11, %rd12}, " SUMS_4,
    };
    for (int form = 0; form < DC_FORMS; form++)
        expect_doubles(form, instructions[form]);
}

static void test_product_mistakes(void) {
    static const char product[] =
        "mov.b32 %f1, 0f3F800000; mov.b32 %r1, 0;\n"
        "setp.lt.u32 %p1, %r31, 31;\n@!%p1 bra END;\n"
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f1, %f1, %f1}, {%r1, %r1}, "
        "{%r1}, {%f1, %f1, %f1, %f1};\nEND:";
    refuse(product, 32, PTX_ERR_BARRIER, "lanes 0x7fffffff are here, 0x80000000 are not");
}

int main(void) {
    test_loads();
    test_load_counters();
    test_load_mistakes();
    test_arithmetic();
    test_products();
    test_doubles();
    test_product_mistakes();
    return finish_checks("test_matrix");
}
