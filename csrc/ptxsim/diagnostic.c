/* Builds the messages of ptx_error, with the offending line and a caret for errors in the PTX text. */
#include "diagnostic.h"

#include <stdio.h>
#include <string.h>

static void clear(ptx_error *error, ptx_status status) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->warp = -1;
    error->lane = -1;
}

ptx_status ptx_fail(ptx_error *error, ptx_status status, const char *format, ...) {
    if (error) {
        clear(error, status);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

size_t ptx_copy_line(char *to, size_t size, const char *line_start) {
    size_t skip = 0;
    while (line_start[skip] == ' ' || line_start[skip] == '\t')
        skip++;
    const char *from = line_start + skip;
    size_t length = strcspn(from, "\r\n");
    if (length >= size)
        length = size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : ' ';
    while (length && to[length - 1] == ' ')
        length--;
    to[length] = '\0';
    return skip;
}

ptx_status ptx_fail_at(ptx_error *error, ptx_status status, const char *line_start, unsigned line,
                       unsigned column, const char *format, va_list arguments) {
    if (!error)
        return status;
    clear(error, status);
    error->line = line;
    error->column = column;
    size_t skip = ptx_copy_line(error->text, sizeof error->text, line_start);
    char reason[512];
    vsnprintf(reason, sizeof reason, format, arguments);
    size_t caret = column > skip ? column - 1 - skip : 0;
    if (caret < sizeof error->text)
        snprintf(error->message, sizeof error->message, "PTX line %u, column %u: %s\n    %s\n    %*s^", line,
                 column, reason, error->text, (int)caret, "");
    else
        snprintf(error->message, sizeof error->message, "PTX line %u, column %u: %s", line, column, reason);
    return status;
}
