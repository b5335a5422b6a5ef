/* Implements the helpers of sim.h. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(ptx_status status, const ptx_error *error) {
    if (status == PTX_OK)
        return;
    fprintf(stderr, "%s\n", error->message);
    exit(2);
}

void sim_open(sim *s, const char *ptx, const void *in, size_t in_bytes, size_t out_bytes) {
    memset(s, 0, sizeof *s);
    need(ptx_module_parse(ptx, strlen(ptx), &s->module, &s->error), &s->error);
    need(ptx_memory_create(0, &s->memory, &s->error), &s->error);
    need(ptx_memory_alloc(s->memory, in_bytes, &s->in, &s->error), &s->error);
    need(ptx_memory_alloc(s->memory, out_bytes, &s->out, &s->error), &s->error);
    need(ptx_memory_write(s->memory, s->in, in, in_bytes, &s->error), &s->error);
    s->in_bytes = in_bytes;
    s->out_bytes = out_bytes;
    s->config.threads = 1;
}

void sim_close(sim *s) {
    ptx_memory_destroy(s->memory);
    ptx_module_free(s->module);
}

ptx_status sim_run(sim *s, const char *name, unsigned grid, unsigned block, uint64_t n, void *out) {
    const ptx_kernel *kernel = ptx_module_find(s->module, name);
    if (!kernel) {
        fprintf(stderr, "no kernel %s\n", name);
        exit(2);
    }
    uint64_t params[3] = {s->in, s->out, n};
    ptx_launch_config config = s->config;
    config.grid[0] = grid;
    config.block[0] = block;
    config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
    config.params = params;
    config.param_bytes = sizeof params;
    ptx_status status = ptx_launch(kernel, s->memory, &config, &s->stats, &s->error);
    if (status == PTX_OK && out)
        need(ptx_memory_read(s->memory, out, s->out, s->out_bytes, &s->error), &s->error);
    return status;
}

void sim_observe(sim *s, sim_observers *o, const ptx_kernel *kernel, uint64_t timeline_block) {
    need(ptx_counters_create(kernel, timeline_block, &o->counters, &s->error), &s->error);
    need(ptx_racecheck_create(&o->racecheck, &s->error), &s->error);
    o->list[0] = &o->counters->base;
    o->list[1] = &o->racecheck->base;
    s->config.observers = o->list;
    s->config.observer_count = 2;
}

void sim_unobserve(sim *s, sim_observers *o) {
    s->config.observer_count = 0;
    ptx_counters_free(o->counters);
    ptx_racecheck_free(o->racecheck);
}

sim_outcome sim_run_observed(const char *statements, unsigned block, const void *in, size_t in_bytes,
                             void *out, size_t out_bytes) {
    char *text = sim_kernel(statements);
    sim_outcome o = {.hazard = PTX_HAZARD_BARRIER};
    sim_observers observers;
    sim s;
    sim_open(&s, text, in, in_bytes, out_bytes);
    const ptx_kernel *kernel = ptx_module_find(s.module, "k");
    sim_observe(&s, &observers, kernel, UINT64_MAX);
    o.status = sim_run(&s, "k", 1, block, 0, out);
    o.error = s.error;
    for (size_t pc = 0; pc < kernel->count; pc++)
        if (kernel->code[pc].shape || kernel->code[pc].opcode == PTX_OP_ldmatrix) {
            o.wavefronts += observers.counters->instructions[pc].shared_wavefronts;
            o.ideal += observers.counters->instructions[pc].shared_ideal;
            o.global_sectors += observers.counters->instructions[pc].global_sectors;
        }
    o.races = observers.racecheck->table.count;
    if (o.races)
        o.hazard = observers.racecheck->table.races[0].hazard;
    sim_unobserve(&s, &observers);
    sim_close(&s);
    free(text);
    return o;
}

char *sim_read(const char *folder, const char *name, const char *arch) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%s.%s.ptx", folder, name, arch);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    if (!text || fread(text, 1, size, file) != size)
        exit(2);
    fclose(file);
    return text;
}

ptx_status sim_parse(const char *ptx, ptx_error *error) {
    ptx_module *module;
    ptx_status status = ptx_module_parse(ptx, strlen(ptx), &module, error);
    ptx_module_free(module);
    return status;
}

char *sim_kernel(const char *statements) {
    static const char before[] =
        SIM_HEADER SIM_ENTRY "{\n"
                             ".reg .b32 %r<32>;\n.reg .b16 %h<16>;\n.reg .b64 %rd<32>;\n"
                             ".reg .pred %p<16>;\n.reg .f32 %f<32>;\n.reg .f64 %fd<16>;\n"
                             "ld.param.u64 %rd30, [in];\nld.param.u64 %rd31, [out];\n"
                             "ld.param.u64 %rd29, [n];\nmov.u32 %r31, %tid.x;\n"
                             "mad.lo.u32 %r30, %ctaid.x, %ntid.x, %r31;\n"
                             "mad.wide.u32 %rd28, %r30, 4, %rd31;\n";
    size_t size = sizeof before + strlen(statements) + 16;
    char *text = malloc(size);
    if (!text)
        exit(2);
    snprintf(text, size, "%s%s\n}\n", before, statements);
    return text;
}
