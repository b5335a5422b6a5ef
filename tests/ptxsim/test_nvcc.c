/* nvcc's output for CUDA C++, in each PTX dialect, against plain C. Usage: test_nvcc <folder with
   warp.<arch>.ptx and sums.<arch>.ptx> <arch> ... */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { THREADS = 256 };

static uint64_t source[THREADS], result[THREADS];
static const char *dialect;

static void compare(const char *text, const char *kernel, const uint64_t *want) {
    sim s;
    sim_open(&s, text, source, sizeof source, sizeof result);
    ptx_status status = sim_run(&s, kernel, 1, THREADS, THREADS, result);
    check_report(status == PTX_OK, kernel, 0, status == PTX_OK ? "" : s.error.message);
    for (unsigned t = 0; t < THREADS && status == PTX_OK; t++) {
        char name[80];
        snprintf(name, sizeof name, "%s on %s, out[%u]", kernel, dialect, t);
        CHECK_EQUAL_AS(result[t], want[t], name);
    }
    sim_close(&s);
}

static void test_shuffles(const char *text) {
    uint64_t want[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        uint64_t fold = 0;
        unsigned lane = t % 32, warp = t - lane;
        for (unsigned width = 2; width <= 32; width *= 2)
            for (unsigned d = 0; d < 32; d += 3) {
                unsigned low = lane / width * width, own = lane - low;
                unsigned picked = (unsigned)source[t] >> d;
                fold = fold * 31 + (unsigned)source[warp + (own >= d ? lane - d : lane)];
                fold = fold * 31 + (unsigned)source[warp + (own + d < width ? lane + d : lane)];
                /* shfl.bfly may read below its segment, but not above */
                fold = fold * 31 + (unsigned)source[warp + ((lane ^ d) < low + width ? lane ^ d : lane)];
                fold = fold * 31 + (unsigned)source[warp + low + d % width];
                fold = fold * 31 + (unsigned)source[warp + low + picked % width];
            }
        want[t] = fold;
    }
    compare(text, "shuffles", want);
}

static unsigned ballot(unsigned t, unsigned first, unsigned lanes, unsigned bit, unsigned wide) {
    unsigned votes = 0;
    for (unsigned lane = first; lane < first + lanes; lane++)
        votes |= (unsigned)((source[t - t % 32 + lane] >> bit & wide) != 0) << lane;
    return votes;
}

static void test_votes(const char *text) {
    uint64_t want[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        uint64_t fold = 0;
        unsigned first = t % 32 / 16 * 16, half = 0xffffu << first;
        for (unsigned bit = 0; bit < 16; bit++) {
            unsigned yes = ballot(t, 0, 32, bit, 1), often = ballot(t, 0, 32, bit, 15);
            fold = fold * 31 + yes;
            fold = fold * 31 + (yes ? 3 : 1);
            fold = fold * 31 + (often == 0xffffffffu ? 5 : 7);
            fold = fold * 31 + (often & half);
            fold = fold * 31 + ((often & half) == half ? 5 : 7);
        }
        want[t] = fold;
    }
    compare(text, "votes", want);
}

static uint64_t diverged(unsigned t) {
    uint64_t x = source[t];
    for (unsigned i = 0; i < t % 13; i++) {
        x = x * 6364136223846793005u + i;
        if (x & 1) {
            x ^= x >> 7;
        } else if (x & 2) {
            for (uint64_t j = x & 7; j > 0; j--)
                x += j * i;
        } else {
            if (x % 5 == 0)
                continue;
            x = ~x;
        }
        if ((x & 0xff) == 3)
            break;
    }
    switch (t % 5) {
    case 0:
        return (x + 1) * 3;
    case 1:
        return x * 3;
    case 2:
        return x / (t + 1);
    default:
        return x - t;
    }
}

static void test_divergence(const char *text) {
    uint64_t want[THREADS];
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = diverged(t);
    compare(text, "diverge", want);
}

static void test_atomics(const char *text) {
    uint64_t want[THREADS], sum = 0;
    unsigned bins[32] = {0};
    int least = INT32_MAX, most = INT32_MIN;
    for (unsigned t = 0; t < THREADS; t++) {
        int value = (int)(uint32_t)source[t];
        bins[source[t] % 32]++;
        least = value < least ? value : least;
        most = value > most ? value : most;
        sum += source[t];
    }
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = sum + bins[t % 32] + ((uint64_t)(uint32_t)least << 32) + (uint32_t)most;
    compare(text, "shared_atomics", want);
}

static void test_doubles(const char *text) {
    double tree[THREADS];
    uint64_t want[THREADS];
    for (unsigned t = 0; t < THREADS; t++)
        tree[t] = (double)(int64_t)source[t] * 1e-3;
    for (unsigned s = THREADS / 2; s > 0; s /= 2)
        for (unsigned t = 0; t < s; t++)
            tree[t] += tree[t + s];
    for (unsigned t = 0; t < THREADS; t++) {
        double value = t == 0 ? tree[0] : sqrt(fabs(tree[t])) / (t + 0.5);
        memcpy(&want[t], &value, sizeof value);
    }
    compare(text, "doubles", want);
}

/* Integers, so that any order of additions has the same result; every element counts. */
static void test_sums(const char *text, const char *kernel, unsigned grid, unsigned block, size_t n) {
    float *in = calloc(n + 1, sizeof *in), *out = calloc(grid, sizeof *out);
    double want = 0, got = 0;
    if (!in || !out)
        exit(2);
    for (size_t i = 0; i < n; i++) {
        in[i] = (float)((int)(i * 2654435761u >> 16) % 501 - 200);
        want += in[i];
    }
    sim s;
    sim_open(&s, text, in, n * sizeof *in, grid * sizeof *out);
    s.config.threads = 2;
    ptx_status status = sim_run(&s, kernel, grid, block, n, out);
    check_report(status == PTX_OK, kernel, 0, status == PTX_OK ? "" : s.error.message);
    for (unsigned b = 0; b < grid; b++)
        got += out[b];
    check_report(got == want, kernel, (int)n, dialect);
    sim_close(&s);
    free(in);
    free(out);
}

static void test_integers(const char *text) {
    uint64_t want[THREADS];
    const int32_t *in = (const int32_t *)(const void *)source;
    const int8_t *bytes = (const int8_t *)(const void *)source;
    for (unsigned t = 0; t < THREADS; t++) {
        int64_t sum = 0;
        int32_t most = INT32_MIN;
        for (unsigned i = t; i < THREADS; i += THREADS) {
            sum += in[i];
            most = in[i] > most ? in[i] : most;
            sum -= bytes[4 * i + 1];
            sum += in[i] / (int32_t)(t + 2) + (uint32_t)in[i] % (t + 3) - (sum / 3) % (int64_t)(t + 5);
        }
        want[t] = (uint64_t)(sum + most);
    }
    compare(text, "integers", want);
}

int main(int count, char **arguments) {
    uint64_t state = 88172645463325252u;
    for (unsigned t = 0; t < THREADS; t++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        source[t] = state;
    }
    for (int i = 2; i < count; i++) {
        dialect = arguments[i];
        char *warp = sim_read(arguments[1], "warp", dialect), *sums = sim_read(arguments[1], "sums", dialect);
        test_shuffles(warp);
        test_votes(warp);
        test_divergence(warp);
        test_atomics(warp);
        test_doubles(warp);
        test_integers(sums);
        for (size_t n = 1; n < 6000; n = n * 2 + n / 3 + 1) {
            test_sums(sums, "tree", (unsigned)(n + 255) / 256, 256, n);
            for (unsigned block = 32; block <= 1024; block = block * 3 / 32 * 32)
                test_sums(sums, "vectors", 3, block, n);
        }
        free(warp);
        free(sums);
    }
    return finish_checks("test_nvcc");
}
