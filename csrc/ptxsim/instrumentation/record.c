/* Counters, races and steps of a kernel as JSON: the fields are those that csrc/python/instrumentation.c
   passes to Python. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "instrumentation/counters.h"
#include "instrumentation/global_races.h"
#include "instrumentation/predication.h"
#include "instrumentation/racecheck.h"
#include "instrumentation/trace.h"
#include "location.h"

struct ptx_record {
    const ptx_kernel *kernel;
    ptx_counters *counters;
    ptx_racecheck *races;
    ptx_global_races *global_races;
    ptx_trace *trace;
    ptx_observer *observers[4];
    size_t observer_count;
};

typedef struct writing {
    bool (*write)(void *arg, const char *text, size_t length);
    void *arg;
    bool good;
} writing;

ptx_status ptx_record_create(const ptx_kernel *kernel, bool counters, ptx_race_scope races, ptx_record **out,
                             ptx_error *error) {
    ptx_record *record = calloc(1, sizeof *record);
    *out = NULL;
    if (!record)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory");
    record->kernel = kernel;
    ptx_status status = PTX_OK;
    if (counters)
        status = ptx_counters_create(kernel, UINT64_MAX, &record->counters, error);
    if (status == PTX_OK && races)
        status = ptx_racecheck_create(&record->races, error);
    if (status == PTX_OK && races == PTX_RACES_GLOBAL)
        status = ptx_global_races_create(&record->races->table, &record->global_races, error);
    if (status != PTX_OK) {
        ptx_record_free(record);
        return status;
    }
    if (counters)
        record->observers[record->observer_count++] = &record->counters->base;
    if (races)
        record->observers[record->observer_count++] = &record->races->base;
    if (record->global_races)
        record->observers[record->observer_count++] = &record->global_races->base;
    *out = record;
    return PTX_OK;
}

void ptx_record_free(ptx_record *record) {
    if (!record)
        return;
    ptx_counters_free(record->counters);
    ptx_global_races_free(record->global_races);
    ptx_racecheck_free(record->races);
    ptx_trace_free(record->trace);
    free(record);
}

ptx_status ptx_record_trace(ptx_record *record, uint64_t block, ptx_error *error) {
    const ptx_status status = ptx_trace_create(block, &record->trace, error);
    if (status == PTX_OK)
        record->observers[record->observer_count++] = &record->trace->base;
    return status;
}

size_t ptx_record_observers(const ptx_record *record, ptx_observer *const **observers) {
    *observers = record->observers;
    return record->observer_count;
}

size_t ptx_record_race_count(const ptx_record *record) {
    return record->races ? record->races->table.count : 0;
}

static void put(writing *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(writing *to, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    to->good = to->good && to->write(to->arg, text, (size_t)length);
}

static void put_string(writing *to, const char *text) {
    put(to, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            put(to, "\\%c", c);
        else if (c < ' ' || c > '~')
            put(to, "\\u%04x", c);
        else
            put(to, "%c", c);
    }
    put(to, "\"");
}

static void put_instruction(writing *to, const ptx_kernel *kernel, size_t pc, uint32_t branch) {
    static const char *const effects[] = {"", "load", "store", "atomic", "warp_sync"};
    const ptx_module *module = kernel->module;
    const ptx_source *source = &kernel->source[pc];
    const ptx_instr *in = &kernel->code[pc];
    char text[160];
    ptx_copy_line(text, sizeof text, module->text + source->text_offset);
    put(to, "%s[%u,", pc ? "," : "", source->line);
    put_string(to, text);
    put(to, ",\"%s\",[",
        in->kind == PTX_BRANCH    ? "branch"
        : in->kind == PTX_BARRIER ? "barrier"
                                  : effects[in->effect]);
    for (uint32_t at = source->location; at; at = module->locations[at - 1].caller) {
        put(to, "%s[", at == source->location ? "" : ",");
        put_string(to, ptx_file_name(module, module->locations[at - 1].file));
        put(to, ",%u]", module->locations[at - 1].line);
    }
    put(to, "],%d]", branch == PTX_NO_PC ? -1 : (int)branch);
}

static void put_instructions(writing *to, const ptx_kernel *kernel) {
    uint32_t *branch_of = malloc(kernel->count * sizeof *branch_of);
    to->good = to->good && branch_of;
    if (!branch_of)
        return;
    ptx_find_predicated(kernel, branch_of);
    put(to, "\"instructions\":[");
    for (size_t pc = 0; pc < kernel->count && to->good; pc++)
        put_instruction(to, kernel, pc, branch_of[pc]);
    put(to, "]");
    free(branch_of);
}

static void put_numbers(writing *to, const char *name, const void *from, size_t count) {
    const uint64_t *numbers = from;
    put(to, ",\"%s\":[", name);
    for (size_t i = 0; i < count && to->good; i++)
        put(to, "%s%" PRIu64, i ? "," : "", numbers[i]);
    put(to, "]");
}

static int pc_or_none(uint32_t pc) {
    return pc == PTX_NO_PC ? -1 : (int)pc;
}

static void put_races(writing *to, const ptx_race_table *table) {
    static const char *const hazards[] = {"write-read", "read-write", "write-write", "uninitialised",
                                          "barrier",    "unfenced",   "absent-lane"};
    put(to, ",\"races\":[");
    for (size_t i = 0; i < table->count && to->good; i++) {
        const ptx_race *race = &table->races[i];
        put(to, "%s[\"%s\",%d,%d,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d]",
            i ? "," : "", hazards[race->hazard], pc_or_none(race->first_pc), pc_or_none(race->second_pc),
            race->first_thread, race->second_thread, race->first_block, race->second_block, race->block,
            race->address, race->count, race->global, race->collides);
    }
    put(to, "]");
}

/* Bytes as hexadecimal digits. */
static void put_bytes(writing *to, const char *name, const void *from, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = from;
    char text[129];
    put(to, "\"%s\":\"", name);
    for (size_t done = 0; done < bytes && to->good;) {
        size_t used = 0;
        for (; used < sizeof text - 1 && done < bytes; done++) {
            text[used++] = digits[at[done] >> 4];
            text[used++] = digits[at[done] & 15];
        }
        to->good = to->write(to->arg, text, used);
    }
    put(to, "\",");
}

/* The text of an instruction without its guard predicate. */
static void put_statement(writing *to, const ptx_kernel *kernel, size_t pc) {
    const ptx_source *source = &kernel->source[pc];
    const char *from = kernel->module->text + source->text_offset + source->column - 1;
    const size_t length = strcspn(from, ";");
    char *text = malloc(length + 1);
    to->good = to->good && text;
    if (!text)
        return;
    memcpy(text, from, length);
    text[length] = '\0';
    put(to, pc ? "," : "");
    put_string(to, text);
    free(text);
}

static void put_trace(writing *to, const ptx_kernel *kernel, const ptx_trace *trace) {
    put(to, ",\"trace\":{");
    put_bytes(to, "steps", trace->steps, trace->step_count * sizeof *trace->steps);
    put_bytes(to, "accesses", trace->accesses, trace->access_count * sizeof *trace->accesses);
    put_bytes(to, "written", trace->register_writes,
              trace->register_write_count * sizeof *trace->register_writes);
    put(to, "\"lost\":%" PRIu64 ",\"statements\":[", trace->lost);
    for (size_t pc = 0; pc < kernel->count && to->good; pc++)
        put_statement(to, kernel, pc);
    put(to, "]}");
}

bool ptx_record_write(const ptx_record *record, bool (*write)(void *arg, const char *text, size_t length),
                      void *arg) {
    writing to = {.write = write, .arg = arg, .good = true};
    const ptx_counters *counters = record->counters;
    put_instructions(&to, record->kernel);
    if (counters) {
        put_numbers(&to, "counters", counters->instructions,
                    record->kernel->count * sizeof(ptx_counter) / sizeof(uint64_t));
        put_numbers(&to, "rounds", counters->rounds,
                    counters->round_count * sizeof(ptx_round) / sizeof(uint64_t));
    }
    if (record->races)
        put_races(&to, &record->races->table);
    if (record->trace)
        put_trace(&to, record->kernel, record->trace);
    return to.good;
}
