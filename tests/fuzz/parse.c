/* Any text: it parses or it is refused in words, and nothing leaks. Each of its kernels parses alone, too. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ptxsim.h"

static void check_alone(const char *text, size_t size, const ptx_kernel *kernel) {
    const char *name = ptx_kernel_name(kernel);
    const ptx_module_options options = {.kernel = name};
    ptx_module *module = NULL;
    ptx_error error = {0};
    const ptx_status status = ptx_module_open(text, size, &options, &module, &error);
    FUZZ_CHECK(status == PTX_OK || status == PTX_ERR_MEMORY);
    const ptx_kernel *alone = status == PTX_OK ? ptx_module_find(module, name) : NULL;
    FUZZ_CHECK(status != PTX_OK ||
               (alone && ptx_kernel_param_bytes(alone) == ptx_kernel_param_bytes(kernel) &&
                ptx_kernel_shared_bytes(alone) == ptx_kernel_shared_bytes(kernel)));
    ptx_module_free(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *text, size_t size) {
    ptx_module *module = NULL;
    ptx_error error = {0};
    ptx_status status = ptx_module_parse((const char *)text, size, &module, &error);
    FUZZ_CHECK((status == PTX_OK) == (module != NULL));
    if (status != PTX_OK)
        FUZZ_CHECK(error.status == status && memchr(error.message, 0, sizeof error.message) != error.message);
    char *copy = status == PTX_OK ? calloc(1, size + 1) : NULL;
    if (copy)
        memcpy(copy, text, size);
    for (size_t i = 0; status == PTX_OK && i < ptx_module_kernel_count(module); i++) {
        const ptx_kernel *kernel = ptx_module_find(module, ptx_kernel_name(ptx_module_kernel_at(module, i)));
        FUZZ_CHECK(kernel != NULL);
        if (copy && i < 4)
            check_alone(copy, size, kernel);
    }
    free(copy);
    ptx_module_free(module);
    return 0;
}
