#include "feed/feed.h"

#include "feed/direct.h"
#include "feed/later.h"
#include "feed/ring.h"

gr_status gr_feed_whole(gr_device *device, const gr_flow *flow, const gr_program *program,
                        const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    return gr_direct_takes(device, flow, binding)
               ? gr_direct_run(device, flow, program, binding, error)
               : gr_program_run(device, program, binding, interrupt, error);
}

gr_status gr_feed(gr_device *device, const gr_flow *flow, const gr_binding *binding,
                  const gr_progress *progress, const gr_interrupt *interrupt, gr_error *error) {
    if (gr_ring_takes(device, flow, binding))
        return gr_ring_run(device, flow, binding, progress, interrupt, error);
    const gr_part all = {.count = flow->count, .total = flow->count};
    gr_program program;
    flow->plan(flow->request, &device->backend->info.can, &all, &program);
    return gr_feed_whole(device, flow, &program, binding, interrupt, error);
}

/* Words of a result in mapped memory tell each that they have come, so that they must come whole. */
static bool is_looked_for(const gr_device *device, const gr_binding *binding, size_t item_bytes) {
    for (size_t i = 0; i < GR_MOST_INPUTS; ++i)
        if (binding->inputs[i].host != NULL)
            return false;
    return binding->host_out != NULL && device->backend->streams->maps &&
           binding->out_bytes <= GR_LATER_MANY &&
           (binding->out_bytes == item_bytes || item_bytes % sizeof(uint32_t) == 0);
}

gr_status gr_feed_results(gr_device *device, const gr_program *program, const gr_binding *binding,
                          size_t item_bytes, const gr_interrupt *interrupt, gr_error *error) {
    gr_later later;
    if (!is_looked_for(device, binding, item_bytes))
        return gr_program_run(device, program, binding, interrupt, error);
    const gr_status status = gr_later_begin(device, program, binding, interrupt, &later, error);
    return status == GR_OK ? gr_later_collect(&later, binding->host_out, error) : status;
}
