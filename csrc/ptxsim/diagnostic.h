/* Fills in a ptx_error. Every function accepts error = NULL and returns the status that it was passed. */
#ifndef PTXSIM_DIAGNOSTIC_H
#define PTXSIM_DIAGNOSTIC_H

#include <stdarg.h>

#include "ptxsim.h"

ptx_status ptx_fail(ptx_error *error, ptx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports an error at a position of the PTX text: appends the line and a caret under `column` (1-based). */
ptx_status ptx_fail_at(ptx_error *error, ptx_status status, const char *line_start, unsigned line,
                       unsigned column, const char *format, va_list arguments);

/* Copies the line at `line_start` without surrounding blanks and with tabs as blanks; returns the number of
   leading characters that were dropped. */
size_t ptx_copy_line(char *to, size_t size, const char *line_start);

#endif
