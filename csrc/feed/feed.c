#include "feed/feed.h"

#include "feed/direct.h"
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
