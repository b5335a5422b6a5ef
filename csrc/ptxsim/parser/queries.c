/* Queries of modules and kernels by users of the library. */
#include <string.h>

#include "ir.h"

size_t ptx_module_kernel_count(const ptx_module *module) {
    return module->kernel_count;
}

const ptx_kernel *ptx_module_kernel_at(const ptx_module *module, size_t index) {
    return index < module->kernel_count ? module->kernels[index] : NULL;
}

const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name) {
    for (size_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i]->name, name) == 0)
            return module->kernels[i];
    return NULL;
}

bool ptx_module_find_variable(const ptx_module *module, const char *name, uint64_t *address, size_t *bytes) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < module->name_count; i++) {
        const ptx_variable *v = &module->names[i];
        if (v->length != length || memcmp(v->name, name, length) != 0)
            continue;
        *address = v->address;
        *bytes = v->bytes;
        return true;
    }
    return false;
}

size_t ptx_module_variable_bytes(const ptx_module *module) {
    return module->variables.bytes;
}

const char *ptx_kernel_name(const ptx_kernel *kernel) {
    return kernel->name;
}

size_t ptx_kernel_param_bytes(const ptx_kernel *kernel) {
    return kernel->param_bytes;
}

size_t ptx_kernel_param_count(const ptx_kernel *kernel) {
    return kernel->param_count;
}

void ptx_kernel_param_at(const ptx_kernel *kernel, size_t index, size_t *offset, size_t *bytes) {
    *offset = kernel->params[index].offset;
    *bytes = kernel->params[index].bytes;
}

size_t ptx_kernel_shared_bytes(const ptx_kernel *kernel) {
    return kernel->shared_bytes;
}

size_t ptx_kernel_local_bytes(const ptx_kernel *kernel) {
    return kernel->local_bytes;
}

unsigned ptx_kernel_max_threads(const ptx_kernel *kernel) {
    return kernel->max_threads;
}

bool ptx_kernel_uses_heap(const ptx_kernel *kernel) {
    return kernel->uses_heap;
}

bool ptx_kernel_has_global_atomics(const ptx_kernel *kernel) {
    return kernel->global_atomics;
}
