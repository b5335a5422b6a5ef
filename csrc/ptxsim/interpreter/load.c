/* Variables of a module that outlive a launch. */
#include <string.h>

#include "interpreter/memory.h"
#include "ir.h"

static ptx_status load(ptx_memory *memory, uint64_t address, const ptx_area *area, void *host,
                       ptx_error *error) {
    if (!area->bytes)
        return PTX_OK;
    if (!host)
        return ptx_memory_alloc_at(memory, address, area->bytes, area->image, area->filled, error);
    if (area->filled)
        memcpy(host, area->image, area->filled);
    memset((uint8_t *)host + area->filled, 0, area->bytes - area->filled);
    return ptx_memory_map(memory, address, host, area->bytes, error);
}

ptx_status ptx_module_load(const ptx_module *module, ptx_memory *memory, void *host, ptx_error *error) {
    ptx_status status = load(memory, module->constants_address, &module->constants, NULL, error);
    if (status == PTX_OK)
        status = load(memory, module->variables_address, &module->variables, host, error);
    return status;
}
