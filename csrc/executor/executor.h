/* Ways to feed a program: elements side by side where they are, few of them through memory that the device
   reaches, or many in chunks that are reduced while others are on their way; any others all at once. */
#ifndef GR_EXECUTOR_EXECUTOR_H
#define GR_EXECUTOR_EXECUTOR_H

#include "executor/chunked.h"

/* Copies bytes of the host to the device, in the order of a stream; returns when they are there. */
gr_status gr_upload(gr_device *device, const gr_source *source, gr_devptr to, gr_stream stream,
                    const gr_interrupt *interrupt, gr_error *error);

/* Runs a program of any elements. Large arrays of the host that are not pinned come through the ring. */
gr_status gr_execute_program(gr_device *device, const gr_program *program, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error);

/* Reduces what `binding` says, in the way that is best. The result depends on nothing but the elements. */
gr_status gr_execute_reduction(gr_device *device, const gr_chunked_reduction *reduction,
                               const gr_binding *binding, const gr_progress *progress,
                               const gr_interrupt *interrupt, gr_error *error);

/* The same of a program of all elements at once, `flow` having no plan. */
gr_status gr_execute_whole(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error);

/* The same as gr_execute_program; a few results for the host, of items of so many bytes, are left where it
   looks for them: a copy would take longer than the kernel. Kernels write each of them once. */
gr_status gr_execute_small_results(gr_device *device, const gr_program *program, const gr_binding *binding,
                                   size_t item_bytes, const gr_interrupt *interrupt, gr_error *error);

#endif
