/* wmma: fragments are loaded and stored in both layouts, products equal those of the tensor cores' arithmetic
   element by element, and observers see the accesses. */
#include <stdarg.h>
#include <stdlib.h>

#include "check.h"
#include "interpreter/tensor_core.h"
#include "sim.h"
#include "tensor_cases.h"

/* A and B of `type`, C and D of the types of `sums`; registers per lane of A, B, C and D. */
typedef struct form {
    const char *opcode;
    int m, n, k;
    const char *type, *type_c, *type_d;
    unsigned registers[4];
} form;

#define SHAPES(suffix, type, c, d, a16, b16, a32, b32, a8, b8, of_c, of_d)                                   \
    {"m16n16k16." suffix, 16, 16, 16, type, c, d, {a16, b16, of_c, of_d}},                                   \
        {"m32n8k16." suffix, 32, 8, 16, type, c, d, {a32, b32, of_c, of_d}}, {                               \
        "m8n32k16." suffix, 8, 32, 16, type, c, d, {                                                         \
            a8, b8, of_c, of_d                                                                               \
        }                                                                                                    \
    }

static const form forms[] = {
    SHAPES("f32.f32", "f16", "f32", "f32", 8, 8, 8, 8, 8, 8, 8, 8),
    SHAPES("f16.f16", "f16", "f16", "f16", 8, 8, 8, 8, 8, 8, 4, 4),
    SHAPES("f32.f16", "f16", "f16", "f32", 8, 8, 8, 8, 8, 8, 4, 8),
    SHAPES("f16.f32", "f16", "f32", "f16", 8, 8, 8, 8, 8, 8, 8, 4),
    SHAPES("f32.bf16.bf16.f32", "bf16", "f32", "f32", 4, 4, 8, 2, 2, 8, 8, 8),
    SHAPES("s32.u8.u8.s32", "u8", "s32", "s32", 2, 2, 4, 1, 1, 4, 8, 8),
    SHAPES("s32.s8.s8.s32", "s8", "s32", "s32", 2, 2, 4, 1, 1, 4, 8, 8),
    SHAPES("s32.s8.s8.s32.satfinite", "s8", "s32", "s32", 2, 2, 4, 1, 1, 4, 8, 8),
    {"m16n16k8.f32.tf32.tf32.f32", 16, 16, 8, "tf32", "f32", "f32", {4, 4, 8, 8}},
    {"m8n8k4.f64.f64.f64.f64.rn", 8, 8, 4, "f64", "f64", "f64", {1, 1, 2, 2}},
};
enum { FORMS = sizeof forms / sizeof forms[0], PART = 32 * 40 * 8, STRIDE = 40 };

static unsigned bytes_of(const char *type) {
    return strcmp(type, "tf32") == 0 ? 4 : strcmp(type, "bf16") == 0 ? 2 : (unsigned)atoi(type + 1) / 8;
}

/* ---- texts ---- */

static char text[8000];
static size_t length;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
}

static void add_vector(char name, unsigned count) {
    add("{");
    for (unsigned i = 0; i < count; i++)
        add("%s%%%c%u", i ? ", " : "", name, i);
    add("}");
}

static const char *register_type(const char *type) {
    return strcmp(type, "f32") == 0 || strcmp(type, "f64") == 0 ? type : "b32";
}

/* Loads A, B and C at `in`, `in` + PART and `in` + 2 PART; the layouts are row-major if false. */
static void add_loads(const form *f, const bool *column) {
    const char *types[] = {f->type, f->type, f->type_c, f->type_d};
    length = 0;
    for (int i = 0; i < 4; i++)
        add(".reg .%s %%%c<8>;\n", register_type(types[i]), "abcd"[i]);
    for (int i = 0; i < 3; i++) {
        add("wmma.load.%c.sync.aligned.%s.%.*s.global.%s ", "abc"[i], column[i] ? "col" : "row",
            (int)strcspn(f->opcode, "."), f->opcode, types[i]);
        add_vector("abc"[i], f -> registers[i]);
        add(", [%%rd30+%d], %d;\n", i * PART, STRIDE);
    }
}

static void add_product(const form *f, const bool *column) {
    add("wmma.mma.sync.aligned.%s.%s.%s ", column[0] ? "col" : "row", column[1] ? "col" : "row", f->opcode);
    for (int i = 0; i < 4; i++) {
        add_vector("dabc"[i], f -> registers[(i + 3) % 4]);
        add(i < 3 ? ", " : ";\n");
    }
    add("wmma.store.d.sync.aligned.%s.%.*s.global.%s [%%rd31], ", column[3] ? "col" : "row",
        (int)strcspn(f->opcode, "."), f->opcode, f->type_d);
    add_vector('d', f->registers[3]);
    add(", %d;\n", STRIDE);
}

/* ---- elements ---- */

static uint8_t in[3 * PART], out[PART];

static size_t place(bool column, int row, int col) {
    return (size_t)(column ? col * STRIDE + row : row * STRIDE + col);
}

static uint64_t element(const uint8_t *part, const char *type, bool column, int row, int col) {
    const unsigned bytes = bytes_of(type);
    uint64_t value = 0;
    memcpy(&value, part + place(column, row, col) * bytes, bytes);
    return value;
}

static uint64_t random_element(uint64_t *state, const char *type, int kind) {
    const tc_type types[] = {TC_F32, TC_TF32, TC_F16, TC_BF16};
    const char *const names[] = {"f32", "tf32", "f16", "bf16"};
    for (int i = 0; i < 4; i++)
        if (strcmp(type, names[i]) == 0)
            return kind ? tc_any(state, types[i]) : tc_near(state, types[i], -4, 4);
    const uint64_t high = tc_next(state);
    if (strcmp(type, "f64") == 0)
        return ((high << 32 | tc_next(state)) & 0x800fffffffffffffu) | (uint64_t)(1020 + high % 8) << 52;
    return tc_next(state);
}

static void fill(uint64_t *state, uint8_t *part, const char *type, int kind) {
    for (size_t i = 0; i < 32 * STRIDE; i++) {
        const uint64_t value = random_element(state, type, kind);
        memcpy(part + i * bytes_of(type), &value, bytes_of(type));
    }
}

/* ---- products, element by element ---- */

static double value_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t product_f64(const form *f, const bool *column, int row, int col) {
    double sum = value_f64(element(in + 2 * PART, "f64", column[2], row, col));
    for (int k = 0; k < f->k; k++)
        sum = __builtin_fma(value_f64(element(in, "f64", column[0], row, k)),
                            value_f64(element(in + PART, "f64", column[1], k, col)), sum);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

static uint64_t product_bytes(const form *f, const bool *column, int row, int col) {
    const bool is_signed = f->type[0] == 's';
    int64_t sum = (int32_t)element(in + 2 * PART, "s32", column[2], row, col);
    for (int k = 0; k < f->k; k++) {
        const int64_t a = (int64_t)element(in, f->type, column[0], row, k),
                      b = (int64_t)element(in + PART, f->type, column[1], k, col);
        sum += is_signed ? (int8_t)a * (int8_t)b : a * b;
    }
    if (strstr(f->opcode, "satfinite"))
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static float f32_of_f16(uint32_t bits) {
    _Float16 narrow;
    const uint16_t low = (uint16_t)bits;
    memcpy(&narrow, &low, sizeof narrow);
    return narrow;
}

static uint32_t f16_of_f32(uint32_t bits) {
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    const _Float16 narrow = (_Float16)wide;
    uint16_t low;
    memcpy(&low, &narrow, sizeof low);
    return wide != wide ? 0x7fff : low;
}

/* The element is in column 0 of steps with one row. */
static uint64_t product_core(const form *f, const bool *column, int row, int col) {
    static ptx_core_parts a, b;
    const bool half_c = strcmp(f->type_c, "f16") == 0, half_d = strcmp(f->type_d, "f16") == 0;
    const int step = f->type[0] == 't' ? 4 : f->k;
    const ptx_core_type type = f->type[0] == 't'   ? PTX_CORE_TF32
                               : f->type[0] == 'b' ? PTX_CORE_BF16
                                                   : PTX_CORE_F16;
    uint32_t d[8] = {(uint32_t)element(in + 2 * PART, f->type_c, column[2], row, col)};
    if (half_c && !half_d) {
        const float wide = f32_of_f16(d[0]);
        memcpy(d, &wide, sizeof wide);
        if (wide != wide)
            d[0] = 0x7fffffff;
    }
    for (int k = 0; k < f->k; k += step) {
        uint32_t bits_a[16] = {0}, bits_b[16 * 8] = {0};
        for (int i = 0; i < step; i++) {
            bits_a[i] = (uint32_t)element(in, f->type, column[0], row, k + i);
            bits_b[i * 8] = (uint32_t)element(in + PART, f->type, column[1], k + i, col);
        }
        ptx_core_split(type, bits_a, 16, false, &a);
        ptx_core_split(type, bits_b, (unsigned)step * 8, false, &b);
        ptx_core_multiply((ptx_core_step){type, half_c && half_d, (unsigned)step}, 1, &a, &b, d);
    }
    return half_d && !half_c ? f16_of_f32(d[0]) : d[0];
}

static void expect_product(const form *f, int layouts, int kind) {
    const bool column[] = {layouts & 1, layouts & 2, layouts & 4, layouts & 8};
    uint64_t state = (uint64_t)(layouts * 2 + kind) * 977 + (uint64_t)(f - forms);
    fill(&state, in, f->type, kind);
    fill(&state, in + PART, f->type, kind);
    fill(&state, in + 2 * PART, f->type_c, kind);
    memset(out, 0, sizeof out);
    add_loads(f, column);
    add_product(f, column);
    char *kernel = sim_kernel(text);
    sim s;
    sim_open(&s, kernel, in, sizeof in, sizeof out);
    const ptx_status status = sim_run(&s, "k", 1, 32, 0, out);
    check_report(status == PTX_OK, f->opcode, layouts, status == PTX_OK ? "" : s.error.message);
    for (int row = 0; row < f->m; row++)
        for (int col = 0; col < f->n; col++)
            CHECK_EQUAL_AS(element(out, f->type_d, column[3], row, col),
                           f->type[0] == 'f' && f->type[1] == '6' ? product_f64(f, column, row, col)
                           : f->type[1] == '8'                    ? product_bytes(f, column, row, col)
                                                                  : product_core(f, column, row, col),
                           f->opcode);
    sim_close(&s);
    free(kernel);
}

static void test_products(void) {
    for (int i = 0; i < FORMS; i++)
        for (int layouts = 0; layouts < 16; layouts += 5 - i % 3)
            expect_product(&forms[i], layouts, layouts % 2 && forms[i].type[1] != '6');
}

/* ---- observers and mistakes ---- */

#define LOAD_A "wmma.load.a.sync.aligned.row.m16n16k16"
#define A_8 " {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}"
#define SHARED                                                                                               \
    ".shared .align 32 .b8 s[1024];\nmov.u32 %r20, s; cvt.u64.u32 %rd1, %r20; cvta.shared.u64 %rd1, %rd1;\n"

/* The lanes store, and load what others have stored. */
#define EXCHANGE(sync)                                                                                       \
    SHARED "shl.b32 %r21, %r31, 4; add.u32 %r21, %r21, %r20; mov.b32 %r22, 0;\n"                             \
           "st.shared.v4.u32 [%r21], {%r22, %r22, %r22, %r22};\n" sync LOAD_A ".shared.f16" A_8              \
           ", [%r20], 16;"

static sim_outcome launch(const char *statements, unsigned block) {
    return sim_run_observed(statements, block, in, 512, out, sizeof out);
}

static void refuse(const char *statements, unsigned block, ptx_status status, const char *part) {
    const sim_outcome o = launch(statements, block);
    CHECK_EQUAL_AS(o.status, status, statements);
    CHECK_CONTAINS(o.error.message, part);
}

static void test_observers(void) {
    /* four accesses of 4 bytes per lane, each of which has 16 bytes in 8 rows of 32 bytes */
    const sim_outcome global = launch(LOAD_A ".global.f16" A_8 ", [%rd30], 16;", 32);
    CHECK_EQUAL(global.global_sectors, 32);
    const char *const spaces[] = {SHARED LOAD_A ".shared.f16" A_8 ", [%r20], 16;",
                                  SHARED LOAD_A ".f16" A_8 ", [%rd1], 16;"};
    for (int i = 0; i < 2; i++) {
        const sim_outcome shared = launch(spaces[i], 32);
        CHECK_EQUAL_AS(shared.wavefronts, 8, spaces[i]);
        CHECK_EQUAL_AS(shared.global_sectors, 0, spaces[i]);
    }
    CHECK(launch(EXCHANGE(""), 32).races > 0);
    CHECK_EQUAL(launch(EXCHANGE("bar.warp.sync -1;\n"), 32).races, 0);
}

static void test_mistakes(void) {
    refuse(LOAD_A ".global.f16" A_8 ", [%rd30], 17;", 32, PTX_ERR_ALIGNMENT, "is not aligned");
    refuse(LOAD_A ".global.f16" A_8 ", [%rd30], 18;", 32, PTX_ERR_ADDRESS, "are not allocated");
    refuse(LOAD_A ".global.f16" A_8 ", [%rd30], %r31;", 32, PTX_ERR_ADDRESS,
           "the address or the stride of the matrix differs from that of lane 0");
    refuse(SHARED LOAD_A ".shared.f16" A_8 ", [%r20], 66;", 32, PTX_ERR_ADDRESS, "are outside the block's");
    refuse(LOAD_A ".global.f16" A_8 ", [%rd30];", 16, PTX_ERR_BARRIER, "lanes 0x0000ffff are here");
    ptx_error error;
    char *sub_byte = sim_kernel("wmma.load.a.sync.aligned.row.m8n8k32.global.u4 {%r1}, [%rd30];");
    CHECK_EQUAL(sim_parse(sub_byte, &error), PTX_ERR_UNSUPPORTED);
    CHECK_CONTAINS(error.message, "fragments of less than a byte");
    free(sub_byte);
}

int main(void) {
    test_products();
    test_observers();
    test_mistakes();
    return finish_checks("test_wmma");
}
