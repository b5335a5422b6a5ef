/* The state of the library, and its messages on standard error. */
#include <stdarg.h>

#include "cudart/cudart.h"

cudart_state cudart;

void cudart_say(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    va_start(arguments, format);
    fputs("gpureduce: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
}

cudaError_t cudart_refuse(cudaError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cudart.refusal, sizeof cudart.refusal, format, arguments);
    va_end(arguments);
    cudart_say("%s", cudart.refusal);
    return error;
}

cudaError_t cudart_error_of(ptx_status status) {
    switch (status) {
    case PTX_OK:
        return cudaSuccess;
    case PTX_ERR_MEMORY:
        return cudaErrorMemoryAllocation;
    case PTX_ERR_SYNTAX:
        return cudaErrorInvalidPtx;
    case PTX_ERR_UNSUPPORTED:
        return cudaErrorNotSupported;
    case PTX_ERR_ADDRESS:
        return cudaErrorIllegalAddress;
    case PTX_ERR_ALIGNMENT:
        return cudaErrorMisalignedAddress;
    case PTX_ERR_BARRIER:
    case PTX_ERR_BUDGET:
    case PTX_ERR_INTERRUPTED:
        return cudaErrorLaunchTimeout;
    case PTX_ERR_ASSERT:
        return cudaErrorAssert;
    case PTX_ERR_TRAP:
        return cudaErrorLaunchFailure;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudart_refuse_as(const ptx_error *error) {
    const cudaError_t code = cudart_error_of(error->status);
    return cudart_refuse(code == cudaErrorIllegalAddress ? cudaErrorInvalidValue : code, "%s",
                         error->message);
}
