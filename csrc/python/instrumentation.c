/* Implements instrumentation.h. Records with many rows (counters, rounds, accesses, traces) are returned as
   bytes, which Python reads with numpy.frombuffer. */
#include "python/instrumentation.h"

#include <stdlib.h>
#include <string.h>

#include "ptxsim/diagnostic.h"
#include "ptxsim/instrumentation/predication.h"
#include "ptxsim/location.h"
#include "python/args.h"

/* Python reads counters and rounds as rows of 64-bit integers. */
enum { COUNTER_FIELDS = 40, ROUND_FIELDS = 7 };
_Static_assert(sizeof(ptx_counter) == COUNTER_FIELDS * sizeof(uint64_t), "fields of a counter");
_Static_assert(sizeof(ptx_logged_access) == 32, "fields of an access, which Python reads");
_Static_assert(sizeof(ptx_step) == 20 && sizeof(ptx_step_access) == 280 && sizeof(ptx_register_write) == 272,
               "fields of a trace, which Python reads");
_Static_assert(sizeof(ptx_round) == ROUND_FIELDS * sizeof(uint64_t), "fields of a round");

/* Returns the source locations of an instruction, one (file, line) per inlined function, the innermost
   first. */
static PyObject *frames_of(const ptx_module *module, uint32_t location) {
    PyObject *list = PyList_New(0);
    for (uint32_t at = location; list != NULL && at != 0; at = module->locations[at - 1].caller) {
        const ptx_location *location_row = &module->locations[at - 1];
        py_append(&list,
                  Py_BuildValue("(sI)", ptx_file_name(module, location_row->file), location_row->line));
    }
    return py_as_tuple(list);
}

static PyObject *instruction_tuple(const ptx_kernel *kernel, size_t pc, uint32_t branch) {
    static const char *const effects[] = {"", "load", "store", "atomic", "warp_sync"};
    const ptx_source *source = &kernel->source[pc];
    const ptx_instr *in = &kernel->code[pc];
    const char *effect = in->kind == PTX_BRANCH    ? "branch"
                         : in->kind == PTX_BARRIER ? "barrier"
                                                   : effects[in->effect];
    char text[160];
    ptx_copy_line(text, sizeof text, kernel->module->text + source->text_offset);
    return Py_BuildValue("(IssNi)", source->line, text, effect, frames_of(kernel->module, source->location),
                         branch == PTX_NO_PC ? -1 : (int)branch);
}

static PyObject *instruction_list(const ptx_kernel *kernel) {
    uint32_t *branch_of = malloc(kernel->count * sizeof *branch_of);
    if (branch_of == NULL)
        return PyErr_NoMemory();
    ptx_find_predicated(kernel, branch_of);
    PyObject *list = PyList_New(0);
    for (size_t pc = 0; list != NULL && pc < kernel->count; ++pc)
        py_append(&list, instruction_tuple(kernel, pc, branch_of[pc]));
    free(branch_of);
    return list;
}

static int pc_or_none(uint32_t pc) {
    return pc == PTX_NO_PC ? -1 : (int)pc;
}

static PyObject *race_list(const ptx_racecheck *racecheck) {
    static const char *const hazards[] = {"write-read", "read-write", "write-write", "uninitialised",
                                          "barrier",    "unfenced",   "absent-lane"};
    if (racecheck == NULL)
        return Py_NewRef(Py_None);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < racecheck->table.count; ++i) {
        const ptx_race *race = &racecheck->table.races[i];
        py_append(&list,
                  Py_BuildValue("(siiIIKKKKKii)", hazards[race->hazard], pc_or_none(race->first_pc),
                                pc_or_none(race->second_pc), race->first_thread, race->second_thread,
                                (unsigned long long)race->first_block, (unsigned long long)race->second_block,
                                (unsigned long long)race->block, (unsigned long long)race->address,
                                (unsigned long long)race->count, (int)race->global, (int)race->collides));
    }
    return list;
}

static PyObject *bytes_of(const void *data, size_t size) {
    return PyBytes_FromStringAndSize(size > 0 ? data : "", (Py_ssize_t)size);
}

/* Returns (rounds, threads, one state byte per round and thread), or None. */
static PyObject *timeline_tuple(const ptx_counters *counters) {
    const size_t rounds = counters->timeline_rounds, threads = counters->timeline_threads;
    if (rounds == 0)
        return Py_NewRef(Py_None);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(rounds * threads));
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < rounds; ++i)
        memcpy(PyBytes_AS_STRING(bytes) + i * threads, counters->timeline + i * PTX_TIMELINE_STRIDE, threads);
    return Py_BuildValue("(nnN)", (Py_ssize_t)rounds, (Py_ssize_t)threads, bytes);
}

/* Returns (the logged accesses as bytes, number of accesses beyond the log's capacity), or None. */
static PyObject *access_log_tuple(const ptx_access_log *accesses) {
    if (accesses == NULL)
        return Py_NewRef(Py_None);
    return Py_BuildValue("(NK)", bytes_of(accesses->entries, accesses->count * sizeof *accesses->entries),
                         (unsigned long long)accesses->lost);
}

/* Returns the text of an instruction without its guard predicate. */
static PyObject *statement_of(const ptx_kernel *kernel, size_t pc) {
    const ptx_source *source = &kernel->source[pc];
    const char *text = kernel->module->text + source->text_offset + source->column - 1;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strcspn(text, ";"), "replace");
}

/* Returns (steps, accesses, register writes as bytes, number of steps beyond the capacity, text of each
   instruction), or None. */
static PyObject *trace_tuple(const ptx_kernel *kernel, const ptx_trace *trace) {
    if (trace == NULL)
        return Py_NewRef(Py_None);
    PyObject *statements = PyList_New(0);
    for (size_t pc = 0; statements != NULL && pc < kernel->count; ++pc)
        py_append(&statements, statement_of(kernel, pc));
    return Py_BuildValue(
        "(NNNKN)", bytes_of(trace->steps, trace->step_count * sizeof *trace->steps),
        bytes_of(trace->accesses, trace->access_count * sizeof *trace->accesses),
        bytes_of(trace->register_writes, trace->register_write_count * sizeof *trace->register_writes),
        (unsigned long long)trace->lost, statements);
}

static PyObject *launch_tuple(const gr_observed *observed) {
    const ptx_kernel *kernel = observed->kernel;
    const uint32_t *grid = observed->grid, *block = observed->block;
    const ptx_counters *counters = observed->counters;
    const uint64_t dropped = observed->races != NULL ? observed->races->table.dropped : 0;
    return Py_BuildValue(
        "(s(III)(III)nNNNNNKNNN)", ptx_kernel_name(kernel), grid[0], grid[1], grid[2], block[0], block[1],
        block[2], (Py_ssize_t)(ptx_kernel_shared_bytes(kernel) + observed->dynamic_shared_bytes),
        instruction_list(kernel), bytes_of(counters->instructions, kernel->count * sizeof(ptx_counter)),
        bytes_of(counters->rounds, counters->round_count * sizeof *counters->rounds),
        timeline_tuple(counters), race_list(observed->races), (unsigned long long)dropped,
        access_log_tuple(observed->accesses), trace_tuple(kernel, observed->trace),
        bytes_of(observed->printed, observed->printed_bytes));
}

PyObject *py_launch_list(const gr_profile *profile) {
    PyObject *list = PyList_New(0);
    for (const gr_observed *one = profile->launches; list != NULL && one != NULL; one = one->next)
        py_append(&list, launch_tuple(one));
    return list;
}
