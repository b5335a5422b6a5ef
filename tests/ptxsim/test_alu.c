/* Every arithmetic instruction against expectations computed independently of the simulator
   (alu_cases.def). */
#include <stdlib.h>

#include "alu_ptx.h"
#include "check.h"
#include "ptxsim.h"

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
enum { CASES = sizeof cases / sizeof cases[0], LANES = 32 };

static bool alike(const alu_case *a, const alu_case *b) {
    return strcmp(a->op, b->op) == 0 && strcmp(a->shape, b->shape) == 0 && strcmp(a->extra, b->extra) == 0;
}

/* Valgrind ignores rounding modes: such rows run under it, but their results are not checked. */
static bool known(const char *op) {
#ifdef UNDER_VALGRIND
    return strncmp(op, "cvt", 3) == 0 || !(strstr(op, ".rm.") || strstr(op, ".rp.") || strstr(op, ".rz."));
#else
    return op != NULL;
#endif
}

/* Lane i computes row i % count, once with all lanes active and once without the last one. */
static void run_rows(const alu_case *rows, unsigned count) {
    char text[4000];
    ptx_error error;
    ptx_module *module = NULL;
    ptx_memory *memory = NULL;
    uint64_t source[LANES * ALU_SOURCES], result[LANES], params[2];
    for (unsigned i = 0; i < LANES; i++)
        memcpy(source + i * ALU_SOURCES, rows[i % count].source, sizeof rows->source);
    alu_ptx(text, sizeof text, rows->op, rows->shape, rows->extra);
    if (ptx_module_parse(text, strlen(text), &module, &error) != PTX_OK ||
        ptx_memory_create(0, &memory, &error) != PTX_OK ||
        ptx_memory_alloc(memory, sizeof source, &params[0], &error) != PTX_OK ||
        ptx_memory_alloc(memory, sizeof result, &params[1], &error) != PTX_OK) {
        check_report(false, rows->op, 0, error.message);
        exit(1);
    }
    ptx_memory_write(memory, params[0], source, sizeof source, &error);
    for (unsigned threads = LANES - 1; threads <= LANES; threads++) {
        ptx_launch_config config = {.grid = {1, 1, 1},
                                    .block = {threads, 1, 1},
                                    .params = params,
                                    .param_bytes = sizeof params,
                                    .threads = 1};
        ptx_status status = ptx_launch(ptx_module_kernel_at(module, 0), memory, &config, NULL, &error);
        check_report(status == PTX_OK, rows->op, 0, status == PTX_OK ? "" : error.message);
        ptx_memory_read(memory, result, params[1], sizeof result, &error);
        for (unsigned i = 0; i < threads && known(rows->op); i++) {
            char name[120];
            const alu_case *row = &rows[i % count];
            snprintf(name, sizeof name, "%s%s(0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ")", row->op,
                     row->extra, row->source[0], row->source[1], row->source[2]);
            CHECK_EQUAL_AS(result[i], row->want, name);
        }
    }
    ptx_memory_destroy(memory);
    ptx_module_free(module);
}

int main(void) {
    for (unsigned i = 0, n; i < CASES; i += n) {
        for (n = 1; i + n < CASES && n < LANES && alike(&cases[i], &cases[i + n]); n++)
            ;
        run_rows(&cases[i], n);
    }
    return finish_checks("test_alu");
}
