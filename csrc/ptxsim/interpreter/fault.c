/* Composes the messages of run-time errors. */
#include "interpreter/fault.h"

#include <stdio.h>
#include <string.h>

#include "diagnostic.h"
#include "interpreter/hooks.h"
#include "location.h"

static ptx_status fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status,
                        const char *reason) {
    ptx_worker *worker = warp->worker;
    const ptx_kernel *kernel = worker->kernel;
    const ptx_source *source = &kernel->source[in - kernel->code];
    ptx_error *e = &worker->error;
    if (warp->block->observer_count)
        ptx_hooks_fault(warp, in, status);
    memset(e, 0, sizeof *e);
    e->status = status;
    e->line = source->line;
    e->column = source->column;
    snprintf(e->kernel, sizeof e->kernel, "%s", kernel->name);
    ptx_copy_line(e->text, sizeof e->text, kernel->module->text + source->text_offset);
    ptx_copy_location(e, kernel->module, source->location);
    memcpy(e->block, warp->block->index, sizeof e->block);
    e->warp = (int)warp->index;
    e->lane = lane;
    char where[24] = "";
    if (lane >= 0)
        snprintf(where, sizeof where, ", lane %d", lane);
    snprintf(e->message, sizeof e->message,
             "kernel %s, PTX line %u: %s [block (%u, %u, %u), warp %d%s]\n    %s", e->kernel, e->line, reason,
             e->block[0], e->block[1], e->block[2], e->warp, where, e->text);
    return status;
}

ptx_status ptx_fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status, const char *format,
                     ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fault(warp, in, lane, status, reason);
}

ptx_status ptx_fault_address(ptx_warp *warp, const ptx_instr *in, int lane, uint64_t address, uint64_t size) {
    char description[200];
    ptx_memory_describe(warp->worker->run->memory, warp->worker->view, address, description,
                        sizeof description);
    return ptx_fault(warp, in, lane, PTX_ERR_ADDRESS,
                     "%llu bytes at the global address 0x%llx are not allocated: %s",
                     (unsigned long long)size, (unsigned long long)address, description);
}
