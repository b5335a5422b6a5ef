/* Any text: it parses or it is refused in words, and nothing leaks. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ptxsim.h"

int LLVMFuzzerTestOneInput(const uint8_t *text, size_t size) {
    ptx_module *module = NULL;
    ptx_error error = {0};
    ptx_status status = ptx_module_parse((const char *)text, size, &module, &error);
    FUZZ_CHECK((status == PTX_OK) == (module != NULL));
    if (status != PTX_OK)
        FUZZ_CHECK(error.status == status && memchr(error.message, 0, sizeof error.message) != error.message);
    for (size_t i = 0; status == PTX_OK && i < ptx_module_kernel_count(module); i++) {
        const ptx_kernel *kernel = ptx_module_kernel_at(module, i);
        FUZZ_CHECK(ptx_module_find(module, ptx_kernel_name(kernel)) != NULL);
    }
    ptx_module_free(module);
    return 0;
}
