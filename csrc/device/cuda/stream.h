/* Streams, events, captures and pinned memory of the CUDA backend. */
#ifndef GR_DEVICE_CUDA_STREAM_H
#define GR_DEVICE_CUDA_STREAM_H

#include "device/backend.h"

extern const gr_stream_ops gr_cuda_stream_ops;

#endif
