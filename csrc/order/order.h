/* Order statistics of the lines of an array: elements of given ranks (quantiles), the k largest or smallest
   (topk), and numbers of elements that are not NaN. Radix select on the elements' bits; no line is sorted as
   a whole unless that is faster. */
#ifndef GR_ORDER_ORDER_H
#define GR_ORDER_ORDER_H

#include "order/request.h"
#include "program/program.h"

/* Whether there are kernels for the dtype. */
bool gr_order_takes(gr_dtype dtype);

/* Plans and runs order statistics of at least one element and one result. */
gr_status gr_order_run(gr_device *device, const gr_order_request *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error);

#endif
