/* The beginning and the end of each call: the lock, the settings, and the errors that calls return. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "cudart/cudart.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local cudaError_t last_error;

enum { HEAP_BYTES = 8 << 20, STACK_BYTES = 1024, PRINTF_BYTES = 1 << 20 };

void cudart_lock(bool locked) {
    if (locked)
        pthread_mutex_lock(&lock);
    else
        pthread_mutex_unlock(&lock);
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static cudaError_t prepare(void) {
    ptx_error error;
    const char *report = getenv("GPUREDUCE_RUN_REPORT");
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    cudart.memory_bytes = setting("GPUREDUCE_RUN_MEMORY", 8ull << 30);
    cudart.budget = setting("GPUREDUCE_RUN_BUDGET", 0);
    cudart.threads = (unsigned)setting("GPUREDUCE_SIM_THREADS", processors > 1 ? (uint64_t)processors : 1);
    cudart.races = (ptx_race_scope)setting("GPUREDUCE_RUN_RACES", PTX_RACES_NONE);
    cudart.counters = setting("GPUREDUCE_RUN_PROFILE", 0);
    cudart.traced_launch = setting("GPUREDUCE_RUN_TRACED_LAUNCH", UINT64_MAX);
    cudart.traced_block = setting("GPUREDUCE_RUN_TRACED_BLOCK", 0);
    cudart.every_launch = setting("GPUREDUCE_RUN_EVERY_LAUNCH", 0);
    cudart.wall = setting("GPUREDUCE_RUN_WALL_CLOCK", 0);
    cudart.limits[cudaLimitMallocHeapSize] = HEAP_BYTES;
    cudart.limits[cudaLimitStackSize] = STACK_BYTES;
    cudart.limits[cudaLimitPrintfFifoSize] = PRINTF_BYTES;
    if (ptx_memory_create(cudart.memory_bytes, &cudart.memory, &error) != PTX_OK)
        return cudart_refuse_as(&error);
    cudart.report = report ? fopen(report, "ae") : NULL;
    cudart.ready = true;
    cudart_install_handlers();
    return cudaSuccess;
}

cudaError_t cudart_enter(void) {
    cudart_lock(true);
    if (cudart.pending != cudaSuccess) {
        cudart.sticky = cudart.pending;
        cudart.pending = cudaSuccess;
    }
    if (cudart.sticky != cudaSuccess)
        return cudart.sticky;
    return cudart.ready ? cudaSuccess : prepare();
}

static void set_last_error(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
}

cudaError_t cudart_leave(cudaError_t error) {
    set_last_error(error);
    cudart_lock(false);
    return error;
}

void cudart_show_printed(void) {
    if (!cudart.printed.length)
        return;
    fwrite(cudart.printed.bytes, 1, cudart.printed.length, stdout);
    cudart.printed.length = 0;
}

/* ---- the functions about errors ---- */

CUDART_API cudaGetLastError(void) {
    const cudaError_t error = cudart.sticky != cudaSuccess ? cudart.sticky : last_error;
    last_error = cudaSuccess;
    return error;
}

CUDART_API cudaPeekAtLastError(void) {
    return cudart.sticky != cudaSuccess ? cudart.sticky : last_error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(name, number, text) {name, #name, text},
#include "cudart/errors.def"
};

__attribute__((visibility("default"))) const char *cudaGetErrorName(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "unrecognized error code";
}

__attribute__((visibility("default"))) const char *cudaGetErrorString(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error)
            return *errors[i].text ? errors[i].text : errors[i].name;
    return "unrecognized error code";
}
