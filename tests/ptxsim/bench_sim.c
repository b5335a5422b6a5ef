/* Benchmark: elements per second and nanoseconds per warp instruction of a kernel. Usage: bench_sim
   <file.ptx> <kernel> <log2 of n> <grid, 0: one thread per element> <block> <shared bytes> <threads>,
   repeated for each kernel. A grid p<blocks> is for a multiplication of two n x n matrices. */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "sim.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 22);
    if (!file || !text || !fread(text, 1, (1 << 22) - 1, file)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

/* The best of five runs, in seconds. */
static double best_of_five(sim *s, const char *kernel, unsigned grid, unsigned block, size_t n, float *out) {
    double best = 1e9;
    for (int repeat = 0; repeat < 5; repeat++) {
        double start = now();
        ptx_status status = sim_run(s, kernel, grid, block, n, out);
        double taken = now() - start;
        check_report(status == PTX_OK, kernel, 0, status == PTX_OK ? "" : s->error.message);
        best = taken < best ? taken : best;
    }
    return best;
}

/* The same with counters and the race detector. */
static double best_observed(sim *s, const char *name, unsigned grid, unsigned block, size_t n, float *out) {
    const ptx_kernel *kernel = ptx_module_find(s->module, name);
    sim_observers observers;
    sim_observe(s, &observers, kernel, UINT64_MAX);
    double best = best_of_five(s, name, grid, block, n, out);
    CHECK_EQUAL(observers.racecheck->table.count, 0);
    sim_unobserve(s, &observers);
    return best;
}

/* Half of the elements are 1, the others 2, so that the sum is known and exact, also for elements of a matrix
   product. */
static void bench(char **arguments) {
    size_t n = (size_t)1 << atoi(arguments[2]);
    bool product = arguments[3][0] == 'p';
    unsigned block = (unsigned)atoi(arguments[4]), grid = (unsigned)atoi(arguments[3] + product);
    if (grid == 0)
        grid = (unsigned)(n / block);
    size_t elements = product ? 2 * n * n : n, results = product ? n * n : grid;
    float *in = malloc(elements * sizeof *in), *out = malloc(results * sizeof *out);
    char *text = read_text(arguments[0]);
    if (!in || !out)
        exit(2);
    for (size_t i = 0; i < elements; i++)
        in[i] = i % 2 ? 2 : 1;
    sim s;
    sim_open(&s, text, in, elements * sizeof *in, results * sizeof *out);
    s.config.dynamic_shared_bytes = (size_t)atol(arguments[5]);
    s.config.threads = (unsigned)atoi(arguments[6]);
    double sum = 0, best = best_of_five(&s, arguments[1], grid, block, n, out);
    uint64_t instructions = s.stats.warp_instructions;
    double observed = best_observed(&s, arguments[1], grid, block, n, out);
    for (size_t i = 0; i < results; i++)
        sum += out[i];
    CHECK(sum == (product ? 1.5 * 1.5 * (double)n * (double)results : 1.5 * (double)n));
    printf("%-24s threads %s: %8.1f M elements/s, %5.2f ns a warp instruction, observed %.2fx\n",
           arguments[1], arguments[6], (double)elements / best / 1e6, best * 1e9 / (double)instructions,
           observed / best);
    sim_close(&s);
    free(text);
    free(in);
    free(out);
}

int main(int count, char **arguments) {
    for (int i = 1; i + 6 < count; i += 7)
        bench(arguments + i);
    return finish_checks("bench_sim");
}
