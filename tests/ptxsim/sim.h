/* Helpers that parse and launch a kernel in a test. */
#ifndef PTXSIM_TEST_SIM_H
#define PTXSIM_TEST_SIM_H

#include "instrumentation/counters.h"
#include "instrumentation/racecheck.h"
#include "ptxsim.h"

/* A module with a memory; the parameters of its kernels are (u64 in, u64 out, u64 n). */
typedef struct sim {
    ptx_module *module;
    ptx_memory *memory;
    uint64_t in, out;
    size_t in_bytes, out_bytes;
    ptx_launch_config config;
    ptx_launch_stats stats;
    ptx_error error;
} sim;

#define SIM_HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"
#define SIM_ENTRY ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 n)\n"

/* Exits the test program if the text does not parse or memory runs out. */
void sim_open(sim *s, const char *ptx, const void *in, size_t in_bytes, size_t out_bytes);
void sim_close(sim *s);
/* Launches kernel `name` and copies the output to `out` on success. */
ptx_status sim_run(sim *s, const char *name, unsigned grid, unsigned block, uint64_t n, void *out);

/* Counts and searches for races in the launches of one kernel. */
typedef struct sim_observers {
    ptx_counters *counters;
    ptx_racecheck *racecheck;
    ptx_observer *list[2];
} sim_observers;

/* Sets the observers of the launches; `timeline_block` as in ptx_counters_create. Exits the test program if
   memory runs out. */
void sim_observe(sim *s, sim_observers *o, const ptx_kernel *kernel, uint64_t timeline_block);
/* Removes the observers, and frees them. */
void sim_unobserve(sim *s, sim_observers *o);

/* The counters are sums over ldmatrix and wmma instructions; `hazard` is that of the first race. */
typedef struct sim_outcome {
    ptx_status status;
    ptx_error error;
    uint64_t wavefronts, ideal, global_sectors;
    size_t races;
    ptx_hazard hazard;
} sim_outcome;

/* Launches a block of sim_kernel(statements) with observers, and copies the output to `out` on success. */
sim_outcome sim_run_observed(const char *statements, unsigned block, const void *in, size_t in_bytes,
                             void *out, size_t out_bytes);

/* The text of <folder>/<name>.<arch>.ptx; the caller frees it. Exits the test program if the file cannot be
   read. */
char *sim_read(const char *folder, const char *name, const char *arch);

/* Parses the text and frees the module. */
ptx_status sim_parse(const char *ptx, ptx_error *error);

/* Wraps statements in SIM_HEADER and SIM_ENTRY with these declarations: %r<32> b32, %h<16> b16, %rd<32> b64,
   %p<16>, %f<32> f32, %fd<16> f64; %rd30 = in, %rd31 = out, %rd29 = n, %r31 = tid.x, %rd28 = out + 4 * global
   thread index. The caller frees the result. */
char *sim_kernel(const char *statements);

#endif
