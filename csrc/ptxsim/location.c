/* Implements location.h. */
#include "location.h"

#include <stdio.h>

const char *ptx_file_name(const ptx_module *module, uint32_t index) {
    for (size_t i = 0; i < module->file_count; i++)
        if (module->files[i].index == index)
            return module->files[i].name;
    return "";
}

void ptx_copy_location(ptx_error *error, const ptx_module *module, uint32_t location) {
    const ptx_location *outermost = NULL, *found = NULL;
    for (uint32_t at = location; at; at = outermost->caller)
        outermost = &module->locations[at - 1];
    for (uint32_t at = location; at && !found; at = module->locations[at - 1].caller)
        if (module->locations[at - 1].file == outermost->file)
            found = &module->locations[at - 1];
    if (!found)
        return;
    snprintf(error->file, sizeof error->file, "%s", ptx_file_name(module, found->file));
    error->file_line = found->line;
}
