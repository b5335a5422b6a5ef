#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

gr_status gr_fail(gr_error *error, gr_status status, const char *format, ...) {
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}
