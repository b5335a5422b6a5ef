/* Text that parses is run: a tiny grid with a small budget, once by itself and once with counters and the
   race check. Both runs must end alike and leave the same memory. The first line may be a comment that gives
   the launch: "// <grid> <block> <cluster> <dynamic shared bytes>". Parameters are filled with the words in,
   out, 100 over and over, `in` and `out` being arrays. */
#include <string.h>

#include "fuzz.h"
#include "instrumentation/counters.h"
#include "instrumentation/racecheck.h"

enum { IN_BYTES = 4096, OUT_BYTES = 2048, MAX_PARAMS = 512, BUDGET = 1 << 14, LARGEST = 1 << 16 };

typedef struct outcome {
    ptx_status status;
    ptx_error error;
    uint64_t steps;
    uint8_t in[IN_BYTES], out[OUT_BYTES];
} outcome;

static uint32_t clamp(unsigned value, uint32_t least, uint32_t most) {
    return value < least ? least : value > most ? most : value;
}

static ptx_launch_config read_config(const char *text) {
    unsigned grid = 2, block = 64, cluster = 1, shared = 512;
    char line[64] = "";
    memcpy(line, text, strcspn(text, "\n") < sizeof line - 1 ? strcspn(text, "\n") : sizeof line - 1);
    (void)sscanf(line, "// %7u %7u %7u %7u", &grid, &block, &cluster, &shared);
    ptx_launch_config config = {.grid = {clamp(grid, 1, 4), 1, 1},
                                .block = {clamp(block, 1, 256), 1, 1},
                                .cluster = {clamp(cluster, 0, 4), 1, 1},
                                .dynamic_shared_bytes = clamp(shared, 0, LARGEST),
                                .threads = 1,
                                .step_budget = BUDGET};
    return config;
}

static void launch(const ptx_kernel *kernel, ptx_launch_config config, outcome *result) {
    ptx_memory *memory = NULL;
    uint64_t words[MAX_PARAMS / 8], in, out;
    ptx_error *error = &result->error;
    ptx_launch_stats stats = {0};
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < IN_BYTES; i++)
        result->in[i] = (uint8_t)(i * i / 7 + i);
    FUZZ_CHECK(ptx_memory_create(0, &memory, error) == PTX_OK);
    FUZZ_CHECK(ptx_memory_alloc(memory, IN_BYTES, &in, error) == PTX_OK);
    FUZZ_CHECK(ptx_memory_alloc(memory, OUT_BYTES, &out, error) == PTX_OK);
    FUZZ_CHECK(ptx_memory_write(memory, in, result->in, IN_BYTES, error) == PTX_OK);
    FUZZ_CHECK(ptx_memory_write(memory, out, result->out, OUT_BYTES, error) == PTX_OK);
    for (unsigned i = 0; i < MAX_PARAMS / 8; i++)
        words[i] = i % 3 == 0 ? in : i % 3 == 1 ? out : 100;
    config.params = words;
    config.param_bytes = ptx_kernel_param_bytes(kernel);
    result->status = ptx_launch(kernel, memory, &config, &stats, error);
    result->steps = stats.warp_instructions;
    FUZZ_CHECK(ptx_memory_read(memory, result->in, in, IN_BYTES, error) == PTX_OK);
    FUZZ_CHECK(ptx_memory_read(memory, result->out, out, OUT_BYTES, error) == PTX_OK);
    ptx_memory_destroy(memory);
}

static void check_races(const ptx_kernel *kernel, const ptx_racecheck *races) {
    const ptx_race *race = races->table.races;
    for (const ptx_race *end = race + races->table.count; race < end; race++) {
        FUZZ_CHECK(race->first_pc == PTX_NO_PC || race->first_pc < kernel->count);
        FUZZ_CHECK(race->second_pc == PTX_NO_PC || race->second_pc < kernel->count);
        FUZZ_CHECK(race->count > 0 && race->block < 4);
    }
}

static void launch_observed(const ptx_kernel *kernel, ptx_launch_config config, outcome *result) {
    ptx_counters *counters = NULL;
    ptx_racecheck *races = NULL;
    FUZZ_CHECK(ptx_counters_create(kernel, config.grid[0] - 1, &counters, &result->error) == PTX_OK);
    FUZZ_CHECK(ptx_racecheck_create(&races, &result->error) == PTX_OK);
    ptx_observer *observers[] = {&counters->base, &races->base};
    config.observers = observers;
    config.observer_count = 2;
    launch(kernel, config, result);
    check_races(kernel, races);
    ptx_counters_free(counters);
    ptx_racecheck_free(races);
}

static void run(const ptx_kernel *kernel, const ptx_launch_config *config) {
    static outcome plain, observed; /* too large for the stack under ASan */
    if (ptx_kernel_param_bytes(kernel) > MAX_PARAMS || ptx_kernel_shared_bytes(kernel) > LARGEST)
        return;
    launch(kernel, *config, &plain);
    launch_observed(kernel, *config, &observed);
    FUZZ_CHECK(plain.status == observed.status && plain.steps == observed.steps);
    FUZZ_CHECK(plain.status == PTX_OK || plain.error.message[0]);
    FUZZ_CHECK(strcmp(plain.error.message, observed.error.message) == 0);
    FUZZ_CHECK(memcmp(plain.in, observed.in, IN_BYTES) == 0);
    FUZZ_CHECK(memcmp(plain.out, observed.out, OUT_BYTES) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ptx_module *module = NULL;
    ptx_error error = {0};
    if (ptx_module_parse((const char *)data, size, &module, &error) == PTX_OK && module->kernel_count) {
        ptx_launch_config config = read_config(module->text);
        run(ptx_module_kernel_at(module, 0), &config);
    }
    ptx_module_free(module);
    return 0;
}
