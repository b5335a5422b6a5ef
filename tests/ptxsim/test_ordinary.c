/* kernels/ordinary.cu in every PTX dialect against the hashes of ordinary.def. Usage: test_ordinary [--list]
   <folder> <dialect> ...; with --list it writes the rows. */
#include <stdlib.h>

#include "check.h"
#include "ordinary.h"
#include "sim.h"

typedef struct result {
    const char *dialect, *kernel;
    uint64_t fold;
} result;

static const result results[] = {
#define RESULT(dialect, kernel, fold) {dialect, #kernel, fold},
#include "ordinary.def"
#undef RESULT
};
enum { RESULTS = sizeof results / sizeof results[0] };

/* A dialect without its own row must give the result of 9.0. */
static const result *find(const char *dialect, const char *kernel) {
    const result *found = NULL;
    for (size_t i = 0; i < RESULTS; i++)
        if (strcmp(results[i].kernel, kernel) == 0 &&
            (strcmp(results[i].dialect, dialect) == 0 || (!found && strcmp(results[i].dialect, "90") == 0)))
            found = &results[i];
    return found;
}

static void run_kernel(sim *s, const char *dialect, const ptx_kernel *kernel, bool list) {
    const char *name = ptx_kernel_name(kernel);
    uint64_t out[ORDINARY_THREADS], watched[ORDINARY_THREADS], blank[ORDINARY_THREADS];
    memset(blank, 0xA5, sizeof blank);
    ptx_memory_write(s->memory, s->out, blank, sizeof blank, NULL);
    s->config.observer_count = 0;
    ptx_status status = sim_run(s, name, 1, ORDINARY_THREADS, ORDINARY_THREADS, out);
    check_report(status == PTX_OK, name, 0, status == PTX_OK ? "" : s->error.message);
    if (list)
        printf("RESULT(\"%s\", %s, 0x%016" PRIx64 ")\n", dialect, name, ordinary_fold(out));
    if (list || status != PTX_OK)
        return;
    const result *want = find(dialect, name);
    check_report(want != NULL, name, 0, "is not in ordinary.def");
    if (want)
        CHECK_EQUAL_AS(ordinary_fold(out), want->fold, name);
    /* the same with observers */
    sim_observers observers;
    sim_observe(s, &observers, kernel, 0);
    ptx_memory_write(s->memory, s->out, blank, sizeof blank, NULL);
    CHECK_EQUAL_AS(sim_run(s, name, 1, ORDINARY_THREADS, ORDINARY_THREADS, watched), PTX_OK, name);
    CHECK_EQUAL_AS(memcmp(out, watched, sizeof out), 0, name);
    sim_unobserve(s, &observers);
}

int main(int count, char **arguments) {
    const bool list = count > 1 && strcmp(arguments[1], "--list") == 0;
    static uint64_t source[ORDINARY_SOURCES];
    ordinary_source(source);
    for (int i = 2 + list; i < count; i++) {
        char *text = sim_read(arguments[1 + list], "ordinary", arguments[i]);
        sim s;
        sim_open(&s, text, source, sizeof source, ORDINARY_THREADS * sizeof(uint64_t));
        for (size_t k = 0; k < ptx_module_kernel_count(s.module); k++)
            run_kernel(&s, arguments[i], ptx_module_kernel_at(s.module, k), list);
        sim_close(&s);
        free(text);
    }
    return list ? 0 : finish_checks("test_ordinary");
}
