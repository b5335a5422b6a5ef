/* Registration of fat binaries, functions and variables, which nvcc's code calls before main. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

#define CUDART_HIDDEN_API __attribute__((visibility("default")))

enum { VARIABLES_ALIGNMENT = 1 << 20 };

/* ---- registration ---- */

/* Registrations return no error: the next call of the program does, and all after it. */
static void fail_registration(void) {
    cudart_lock(true);
    cudart.pending = cudaErrorMemoryAllocation;
    cudart_lock(false);
}

/* Returns NULL without host memory. */
CUDART_HIDDEN_API void **__cudaRegisterFatBinary(void *fatbin) {
    cudart_module *module = calloc(1, sizeof *module);
    if (!module) {
        fail_registration();
        return NULL;
    }
    cudart_lock(true);
    module->fatbin = fatbin;
    module->index = ++cudart.module_count;
    module->next = cudart.modules;
    cudart.modules = module;
    cudart_lock(false);
    return (void **)module;
}

static bool has_managed(const cudart_module *module) {
    for (const cudart_variable *v = module->variables; v; v = v->next)
        if (v->managed)
            return true;
    return false;
}

static cudaError_t open_module(cudart_module *module);

/* The host reads managed variables by their addresses without a call. */
static cudaError_t place_managed(cudart_module *module) {
    return has_managed(module) ? open_module(module) : cudaSuccess;
}

CUDART_HIDDEN_API void __cudaRegisterFatBinaryEnd(void **handle) {
    cudaError_t error = cudart_enter();
    if (error == cudaSuccess && handle)
        error = place_managed((cudart_module *)handle);
    (void)cudart_leave(error);
}

CUDART_HIDDEN_API char __cudaInitModule(void **handle) {
    (void)handle;
    return 1;
}

CUDART_HIDDEN_API void __cudaUnregisterFatBinary(void **handle) {
    (void)handle; /* the report at exit still names its kernels */
}

CUDART_HIDDEN_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                              int thread_limit, void *tid, void *bid, void *block, void *grid,
                                              int *warp_size) {
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    cudart_module *module = (cudart_module *)handle;
    cudart_function *function = module ? calloc(1, sizeof *function) : NULL;
    if (!function) {
        fail_registration();
        return;
    }
    *function = (cudart_function){.next = module->functions, .module = module, .host = host, .name = name};
    module->functions = function;
}

static void add_variable(void **handle, const void *host, void **managed, const char *name, size_t bytes) {
    cudart_module *module = (cudart_module *)handle;
    cudart_variable *variable = module ? calloc(1, sizeof *variable) : NULL;
    if (!variable) {
        fail_registration();
        return;
    }
    *variable = (cudart_variable){
        .next = module->variables, .host = host, .managed = managed, .name = name, .bytes = bytes};
    module->variables = variable;
}

CUDART_HIDDEN_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                                         size_t bytes, int constant, int global) {
    (void)device, (void)ext, (void)constant, (void)global;
    add_variable(handle, host, NULL, name, bytes);
}

CUDART_HIDDEN_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                                int ext, size_t bytes, int constant, int global) {
    (void)device, (void)ext, (void)constant, (void)global;
    add_variable(handle, host, host, name, bytes);
}

/* ---- first use ---- */

static void set_managed(const cudart_module *module) {
    for (const cudart_variable *v = module->variables; v; v = v->next) {
        uint64_t address;
        size_t bytes;
        if (v->managed && ptx_module_find_variable(module->ptx, v->name, &address, &bytes))
            *v->managed = (void *)(uintptr_t)address;
    }
}

static cudaError_t load(cudart_module *module, const char *text, size_t length) {
    ptx_error error;
    ptx_module_options options = {.lazy = true,
                                  .constants = PTX_MODULE_CONSTANTS(module->index),
                                  .variables = PTX_MODULE_VARIABLES(module->index)};
    if (has_managed(module)) {
        module->host = cudart_map(PTX_MODULE_WINDOW / 16, VARIABLES_ALIGNMENT);
        if (!module->host)
            return cudart_refuse(cudaErrorMemoryAllocation, "out of memory for managed variables");
        options.variables = (uintptr_t)module->host;
    }
    if (ptx_module_open(text, length, &options, &module->ptx, &error) != PTX_OK ||
        ptx_module_load(module->ptx, cudart.memory, module->host, &error) != PTX_OK)
        return cudart_refuse_as(&error);
    set_managed(module);
    return cudaSuccess;
}

static cudaError_t open_module(cudart_module *module) {
    if (module->ptx || module->failed != cudaSuccess)
        return module->failed;
    char *text = NULL;
    size_t length;
    module->failed = cudart_unpack(module->fatbin, &text, &length);
    if (module->failed == cudaSuccess)
        module->failed = load(module, text, length);
    free(text);
    return module->failed;
}

static cudart_function *find_host(const void *host) {
    for (cudart_module *m = cudart.modules; m; m = m->next)
        for (cudart_function *f = m->functions; f; f = f->next)
            if (f->host == host || f == host)
                return f;
    return NULL;
}

/* The name as in the source, if the program has loaded the C++ run-time library. */
static const char *readable(const char *name) {
    char *(*demangle)(const char *name, char *to, size_t *length, int *status);
    int status;
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    const char *title = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return title ? title : name;
}

cudaError_t cudart_find_function(const void *host, cudart_function **out) {
    cudart_function *function = find_host(host);
    *out = function;
    if (!function)
        return cudart_refuse(cudaErrorInvalidResourceHandle, "%p is not a __global__ function", host);
    if (!function->title)
        function->title = readable(function->name);
    cudaError_t error = open_module(function->module);
    if (error == cudaSuccess && !function->kernel)
        function->kernel = ptx_module_find(function->module->ptx, function->name);
    if (error == cudaSuccess && !function->kernel)
        return cudart_refuse(cudaErrorInvalidDeviceFunction, "kernel %s: the program's PTX does not have it",
                             function->title);
    return error;
}

cudaError_t cudart_find_symbol(const void *host, uint64_t *address, size_t *bytes) {
    for (cudart_module *m = cudart.modules; m; m = m->next)
        for (cudart_variable *v = m->variables; v; v = v->next) {
            if (v->host != host && !(v->managed && *v->managed == host))
                continue;
            const cudaError_t error = open_module(m);
            if (error != cudaSuccess)
                return error;
            return ptx_module_find_variable(m->ptx, v->name, address, bytes) ? cudaSuccess
                                                                             : cudaErrorInvalidSymbol;
        }
    return cudart_refuse(cudaErrorInvalidSymbol,
                         "%p is not the address of a __device__ or __constant__ variable", host);
}

/* ---- kernel handles ---- */

CUDART_API __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    cudart_lock(true);
    *kernel = find_host(host);
    return cudart_leave(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

CUDART_API cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    return __cudaGetKernel(kernel, host);
}

CUDART_API cudaGetFuncBySymbol(cudaKernel_t *kernel, const void *host) {
    return __cudaGetKernel(kernel, host);
}

static cudaError_t symbol_address(void **address, const void *symbol) {
    uint64_t at;
    size_t bytes;
    const cudaError_t error = cudart_find_symbol(symbol, &at, &bytes);
    if (error == cudaSuccess)
        *address = (void *)(uintptr_t)at;
    return error;
}

static cudaError_t symbol_size(size_t *size, const void *symbol) {
    uint64_t at;
    return cudart_find_symbol(symbol, &at, size);
}

CUDART_API cudaGetSymbolAddress(void **address, const void *symbol) {
    CUDART_RUN(symbol_address(address, symbol));
}

CUDART_API cudaGetSymbolSize(size_t *size, const void *symbol) {
    CUDART_RUN(symbol_size(size, symbol));
}
