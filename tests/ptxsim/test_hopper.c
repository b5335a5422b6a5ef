/* nvcc's output for compute capability 9.0 against plain C. Usage: test_hopper <folder with
   hopper.<arch>.ptx> <arch> ... */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { WORDS = 6000 };

static uint64_t source[WORDS], result[WORDS];
static const char *dialect;

/* Launches with a zeroed output. */
static bool run(const char *text, const char *kernel, ptx_launch_config config, uint64_t n, uint64_t ticket) {
    sim s;
    sim_open(&s, text, source, sizeof source, sizeof result);
    memset(result, 0, sizeof result);
    result[1] = ticket;
    ptx_memory_write(s.memory, s.out, result, sizeof result, &s.error);
    s.config.cluster[0] = config.cluster[0];
    s.config.threads = config.threads;
    ptx_status status = sim_run(&s, kernel, config.grid[0], config.block[0], n, result);
    check_report(status == PTX_OK, kernel, (int)n, status == PTX_OK ? "" : s.error.message);
    sim_close(&s);
    return status == PTX_OK;
}

static void expect(const char *kernel, size_t index, uint64_t want) {
    char name[80];
    snprintf(name, sizeof name, "%s on %s, out[%zu]", kernel, dialect, index);
    CHECK_EQUAL_AS(result[index], want, name);
}

static void test_cluster_sums(const char *text) {
    const unsigned grid = 16, block = 96;
    for (unsigned cluster = 1; cluster <= 16; cluster *= 2) {
        const uint64_t n = 5000 + cluster;
        const ptx_launch_config config = {
            .grid = {grid}, .block = {block}, .cluster = {cluster}, .threads = 1 + cluster % 3};
        if (!run(text, "cluster_sums", config, n, 0))
            continue;
        uint64_t want[16] = {0};
        for (uint64_t i = 0; i < n; i++)
            want[i / block % grid / cluster] += source[i] * (i + 1);
        for (unsigned c = 0; c < grid / cluster; c++)
            expect("cluster_sums", c, want[c]);
    }
}

static void test_ring(const char *text) {
    static const unsigned counts[] = {0, 1, 3, 4, 5, 8, 23};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        const ptx_launch_config config = {.grid = {1}, .block = {256}, .threads = 1};
        if (!run(text, "ring", config, 256 * counts[k], 0))
            continue;
        for (unsigned t = 0; t < 256; t++) {
            uint64_t want = 0;
            for (unsigned stage = 0; stage < counts[k]; stage++)
                want = want * 3 + source[256 * stage + t];
            expect("ring", t, want);
        }
    }
}

/* Blocks that wait for other blocks, with any number of host threads. */
static void test_blocks(const char *text) {
    for (unsigned threads = 1; threads <= 3; threads += 2)
        for (unsigned grid = 1; grid < 200; grid = grid * 3 + 1) {
            const ptx_launch_config config = {.grid = {grid}, .block = {1}, .threads = threads};
            uint64_t raised = source[0] * 3, stored = raised;
            for (unsigned b = 1; b < grid; b++) {
                raised = raised * 5 + (source[b] * (b + 3) | 1);
                stored = stored * 5 + source[b] * (b + 3);
            }
            if (run(text, "flags", config, 100, 0))
                expect("flags", 0, raised);
            if (run(text, "tickets", config, 77, 77)) {
                expect("tickets", 0, stored);
                expect("tickets", 1, 77 + grid);
            }
        }
}

/* The sum of two positive numbers below 2 of a 16-bit type with `fraction` fraction bits, rounded once. */
static unsigned sum_of(unsigned a, unsigned b, int fraction, int bias) {
    double value[2];
    const unsigned bits[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        const int exponent = (int)(bits[i] >> fraction);
        const unsigned rest = bits[i] & ((1u << fraction) - 1);
        value[i] =
            ldexp(exponent ? rest + (1u << fraction) : rest, (exponent ? exponent : 1) - bias - fraction);
    }
    int exponent;
    frexp(value[0] + value[1], &exponent);
    if (exponent - 1 < 1 - bias)
        exponent = 2 - bias;
    const unsigned units = (unsigned)nearbyint(ldexp(value[0] + value[1], fraction + 1 - exponent));
    return units + ((unsigned)(exponent - 2 + bias) << fraction);
}

static unsigned on_pairs(unsigned (*f)(unsigned, unsigned), unsigned a, unsigned b) {
    return f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16;
}

static unsigned half_sum(unsigned a, unsigned b) {
    return sum_of(a, b, 10, 15);
}

static unsigned bfloat_sum(unsigned a, unsigned b) {
    return sum_of(a, b, 7, 127);
}

static unsigned most(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static void test_pairs(const char *text) {
    const ptx_launch_config config = {.grid = {1}, .block = {256}, .threads = 1};
    if (!run(text, "pairs", config, 256, 0))
        return;
    for (unsigned t = 0; t < 256; t++) {
        unsigned greatest = 0, mixed = 0;
        for (unsigned lane = 0; lane < 32; lane++) {
            const unsigned pair = (t / 32 * 32 + lane) / 2 * 2;
            greatest = most(greatest, (unsigned)source[pair] & 0x3fff3fffu);
            mixed ^= (unsigned)source[pair + 1] & 0x3fff3fffu;
        }
        const unsigned a = (unsigned)source[t / 2 * 2] & 0x3fff3fffu;
        const unsigned b = (unsigned)source[t / 2 * 2 + 1] & 0x3fff3fffu;
        uint64_t fold = t % 32 == 0;
        fold = fold * 31 + on_pairs(half_sum, a, b);
        fold = fold * 31 + on_pairs(most, a, b);
        fold = fold * 31 + on_pairs(bfloat_sum, a, b);
        fold = fold * 31 + on_pairs(least, a, b);
        expect("pairs", t, fold * 31 + greatest + mixed);
    }
}

int main(int count, char **arguments) {
    uint64_t state = 88172645463325252u;
    for (unsigned i = 0; i < WORDS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        source[i] = state;
    }
    for (int i = 2; i < count; i++) {
        dialect = arguments[i];
        char *text = sim_read(arguments[1], "hopper", dialect);
        test_cluster_sums(text);
        test_ring(text);
        test_blocks(text);
        test_pairs(text);
        free(text);
    }
    return finish_checks("test_hopper");
}
