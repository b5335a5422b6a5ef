/* Filling a ptx_error. Every function takes a NULL error and returns the status it was given. */
#ifndef PTXSIM_DIAGNOSTIC_H
#define PTXSIM_DIAGNOSTIC_H

#include <stdarg.h>

#include "ptxsim.h"

ptx_status ptx_fail(ptx_error *error, ptx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An error at one place of the text: adds the line and a caret under `column` (1-based). */
ptx_status ptx_fail_at(ptx_error *error, ptx_status status, const char *line_start, unsigned line,
                       unsigned column, const char *format, va_list arguments);

/* Copies the line that starts at `line_start`, trimmed and with tabs as blanks; returns how many leading
   characters were dropped. */
size_t ptx_copy_line(char *to, size_t size, const char *line_start);

#endif
