/* printf and __assertfail: the output, its order, and the return value of printf. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

#define DECLARED                                                                                             \
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"                                \
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 "   \
    "c);\n"

typedef struct text {
    char bytes[1 << 16];
    size_t length;
    unsigned calls;
    bool full;
} text;

static bool take(void *arg, const char *bytes, size_t length) {
    text *to = arg;
    to->calls++;
    if (to->full || to->length + length >= sizeof to->bytes)
        return false;
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    to->bytes[to->length] = '\0';
    return true;
}

/* A string variable of the module. */
static void add_string(char *to, size_t size, const char *name, const char *value) {
    size_t used = strlen(to);
    used +=
        (size_t)snprintf(to + used, size - used, ".global .align 1 .b8 %s[%zu] = {", name, strlen(value) + 1);
    for (const char *c = value; *c; c++)
        used += (size_t)snprintf(to + used, size - used, "%d, ", *c);
    snprintf(to + used, size - used, "0};\n");
}

/* A kernel with the format "f" and the strings "s" and "t". */
static char *with_strings(const char *format, const char *statements) {
    enum { SIZE = 1 << 16 };
    char *kernel = sim_kernel(statements), *all = calloc(1, SIZE);
    snprintf(all, SIZE, "%s", SIM_HEADER DECLARED);
    add_string(all, SIZE, "f", format);
    add_string(all, SIZE, "s", "word");
    add_string(all, SIZE, "t", "a < b");
    snprintf(all + strlen(all), SIZE - strlen(all), "%s", kernel + strlen(SIM_HEADER));
    free(kernel);
    return all;
}

static ptx_status run(const char *format, const char *statements, unsigned grid, unsigned block,
                      unsigned threads, text *printed, uint32_t *out, ptx_error *error) {
    char *ptx = with_strings(format, statements);
    const uint32_t in[1] = {0};
    sim s;
    sim_open(&s, ptx, in, sizeof in, 4 * 1024);
    s.config.threads = threads;
    s.config.print = printed ? take : NULL;
    s.config.print_arg = printed;
    const ptx_status status = sim_run(&s, "k", grid, block, 0, out);
    *error = s.error;
    sim_close(&s);
    free(ptx);
    return status;
}

/* `%rd1` is the format, `%rd2` the arguments; `%r1` receives the result. */
#define CALL                                                                                                 \
    "{ .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b32 q;\n"   \
    "call.uni (q), vprintf, (p0, p1);\n ld.param.b32 %r1, [q]; }\n"
#define ARGUMENTS                                                                                            \
    ".local .align 8 .b8 d[400];\n mov.u64 %rd3, d;\n cvta.local.u64 %rd2, %rd3;\n mov.u64 %rd1, f;\n"       \
    "st.local.u32 [%rd3], %r30;\n st.local.u32 [%rd3+4], -3;\n mov.u64 %rd4, s;\n st.local.u64 [%rd3+8], "   \
    "%rd4;\n"
#define STORE "st.global.u32 [%rd28], %r1;\n"

static void test_text_and_result(void) {
    text printed = {.length = 0};
    uint32_t out[1024];
    ptx_error error;
    CHECK_EQUAL(run("%d|%5d|%-6.2s|\n", ARGUMENTS CALL STORE, 1, 2, 1, &printed, out, &error), PTX_OK);
    CHECK(strcmp(printed.bytes, "0|   -3|wo    |\n1|   -3|wo    |\n") == 0);
    CHECK_EQUAL(out[0], 3);
    CHECK_EQUAL(out[1], 3);
    printed.length = 0; /* each `*` consumes an argument; a negative width means '-' */
    CHECK_EQUAL(run("%*d|%%|%k%", "mov.u32 %r30, 5;\n" ARGUMENTS CALL STORE, 1, 1, 1, &printed, out, &error),
                PTX_OK);
    CHECK(strcmp(printed.bytes, "   -3|%|%k%") == 0);
    CHECK_EQUAL(out[0], 2);
    printed.length = 0;
    CHECK_EQUAL(
        run("plain", "mov.u64 %rd2, 0;\n mov.u64 %rd1, f;\n" CALL STORE, 1, 1, 1, &printed, out, &error),
        PTX_OK);
    CHECK(strcmp(printed.bytes, "plain") == 0);
    CHECK_EQUAL(out[0], 0);
    CHECK_EQUAL(run("", "mov.u64 %rd2, 0;\n mov.u64 %rd1, 0;\n" CALL STORE, 1, 1, 1, &printed, out, &error),
                PTX_OK);
    CHECK_EQUAL(out[0], UINT32_MAX);
}

/* Without a result, and with a guard. */
static void test_guarded(void) {
    text printed = {.length = 0};
    uint32_t out[1024];
    ptx_error error;
    CHECK_EQUAL(run("%d ",
                    ARGUMENTS "setp.lt.u32 %p1, %r31, 3;\n { .param .b64 p0; st.param.b64 [p0], %rd1;\n"
                              ".param .b64 p1; st.param.b64 [p1], %rd2;\n @!%p1 call vprintf, (p0, p1); }\n",
                    1, 6, 1, &printed, out, &error),
                PTX_OK);
    CHECK(strcmp(printed.bytes, "3 4 5 ") == 0);
}

static void test_most_arguments(void) {
    text printed = {.length = 0};
    uint32_t out[1024];
    ptx_error error;
    char format[80] = "";
    for (unsigned i = 0; i < 34; i++)
        strcat(format, i == 32 ? "%x" : "%u");
    CHECK_EQUAL(run(format,
                    ARGUMENTS "mov.u32 %r2, 0;\n mov.u64 %rd5, %rd3;\n fill: st.local.u32 [%rd5], 7;\n"
                              "add.u64 %rd5, %rd5, 4;\n add.u32 %r2, %r2, 1;\n setp.lt.u32 %p1, %r2, 40;\n"
                              "@%p1 bra fill;\n" CALL STORE,
                    1, 1, 1, &printed, out, &error),
                PTX_OK);
    CHECK(strcmp(printed.bytes, "77777777777777777777777777777777%x%u") == 0);
    CHECK_EQUAL(out[0], 32);
}

/* In block order, with any number of host threads. */
static void test_order(void) {
    uint32_t out[1024];
    ptx_error error;
    char want[4096] = "";
    for (unsigned b = 0; b < 40; b++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "<%u><%u>", 2 * b, 2 * b + 1);
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        text printed = {.length = 0};
        CHECK_EQUAL(run("<%d>", ARGUMENTS CALL, 40, 2, threads, &printed, out, &error), PTX_OK);
        CHECK(strcmp(printed.bytes, want) == 0);
        CHECK_EQUAL(printed.calls, 40);
    }
}

static void test_failures(void) {
    static text printed;
    uint32_t out[1024];
    ptx_error error;
    CHECK_EQUAL(run("x", ARGUMENTS CALL, 1, 1, 1, NULL, out, &error), PTX_ERR_UNSUPPORTED);
    CHECK_EQUAL(run("%d", "mov.u64 %rd2, 0;\n mov.u64 %rd1, f;\n" CALL, 1, 1, 1, &printed, out, &error),
                PTX_ERR_ADDRESS);
    CHECK_CONTAINS(error.message, "no argument is passed");
    CHECK_EQUAL(run("x", "mov.u64 %rd2, 0;\n mov.u64 %rd1, 12345;\n" CALL, 1, 1, 1, &printed, out, &error),
                PTX_ERR_ADDRESS);
    CHECK_EQUAL(run("%1000000d", ARGUMENTS "again:" CALL "bra again;", 1, 1, 1, &printed, out, &error),
                PTX_ERR_BUDGET);
    CHECK_CONTAINS(error.message, "more than 64 MiB");
    printed.full = true;
    CHECK_EQUAL(run("x", ARGUMENTS CALL, 1, 1, 1, &printed, out, &error), PTX_ERR_MEMORY);
}

/* The fault names the lowest failing lane; the output of earlier blocks is kept, the output of later ones is
   not. */
static void test_assert(void) {
    uint32_t out[1024];
    ptx_error error;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        text printed = {.length = 0};
        CHECK_EQUAL(run("<%d>",
                        ARGUMENTS CALL "setp.lt.u32 %p1, %r31, 1;\n @%p1 bra over;\n"
                                       "{ .param .b64 p0; mov.u64 %rd5, t; st.param.b64 [p0], %rd5;\n"
                                       ".param .b64 p1; st.param.b64 [p1], %rd4; .param .b32 p2;\n"
                                       "st.param.b32 [p2], 12; .param .b64 p3; st.param.b64 [p3], %rd4;\n"
                                       ".param .b64 p4; st.param.b64 [p4], 1;\n"
                                       "call.uni __assertfail, (p0, p1, p2, p3, p4); }\n over: ",
                        3, 4, threads, &printed, out, &error),
                    PTX_ERR_ASSERT);
        CHECK_CONTAINS(error.message, "word:12: word: assertion 'a < b' failed");
        CHECK_EQUAL(error.lane, 1);
        CHECK(strcmp(printed.bytes, "<8><9><10><11>") == 0); /* blocks start with the last one */
    }
}

int main(void) {
    test_text_and_result();
    test_guarded();
    test_most_arguments();
    test_order();
    test_failures();
    test_assert();
    return finish_checks("test_print");
}
