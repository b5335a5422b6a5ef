// The definition of a kernel.
#pragma once

// The kernel `name` with one parameter, p: it calls what comes last with p. `bounds` are the arguments of
// __launch_bounds__ in parentheses. Params is the type of p; with __grid_constant__ before it, the kernel
// reads fields of p where they are, in constant memory, however it computes their addresses.
#define GR_ENTRY(bounds, name, Params, ...)                                                                  \
    extern "C" __global__ void __launch_bounds__ bounds name(const Params p) {                               \
        __VA_ARGS__(p);                                                                                      \
    }
