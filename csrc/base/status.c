/* Formats error records, and recognises messages of exhausted file descriptors or memory. */
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

gr_status gr_vfail(gr_error *error, gr_status status, const char *format, va_list arguments) {
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return status;
}

gr_status gr_fail(gr_error *error, gr_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    gr_vfail(error, status, format, arguments);
    va_end(arguments);
    return status;
}

bool gr_is_exhausted(gr_error *error, const char *what, const char *text) {
    /* ENFILE first: the text of EMFILE is the beginning of the text of ENFILE. */
    static const int numbers[] = {ENFILE, EMFILE, ENOMEM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (text != NULL && strstr(text, strerror(numbers[i])) != NULL) {
            gr_fail(error, GR_ERR_SYSTEM, "%s: %s", what, text);
            error->number = numbers[i];
            return true;
        }
    return false;
}
