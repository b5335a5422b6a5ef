/* The functions of the runtime that are not there yet say so. */
#include "cudart/cudart.h"

static cudaError_t refuse(const char *name) {
    return cudart_refuse(cudaErrorNotSupported, "%s is not simulated yet", name);
}

#define MISSING(name)                                                                                        \
    CUDART_API name(void) {                                                                                  \
        CUDART_RUN(refuse(#name));                                                                           \
    }
#include "cudart/missing.def"
