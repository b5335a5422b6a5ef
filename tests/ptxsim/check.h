/* A minimal test harness: CHECK records a failure and continues; `finish_checks` is the result of main. */
#ifndef PTXSIM_CHECK_H
#define PTXSIM_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static unsigned checks_done, checks_failed;

static inline void check_report(int good, const char *file, int line, const char *what) {
    checks_done++;
    if (good)
        return;
    checks_failed++;
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

static inline void check_equal(uint64_t got, uint64_t want, const char *file, int line, const char *what) {
    char text[800];
    snprintf(text, sizeof text, "%s: got 0x%" PRIx64 ", want 0x%" PRIx64, what, got, want);
    check_report(got == want, file, line, text);
}

static inline void check_contains(const char *text, const char *part, const char *file, int line) {
    char message[2000];
    snprintf(message, sizeof message, "no \"%s\" in \"%s\"", part, text);
    check_report(strstr(text, part) != NULL, file, line, message);
}

#define CHECK(condition) check_report((condition) != 0, __FILE__, __LINE__, #condition)
#define CHECK_EQUAL(got, want) check_equal((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_EQUAL_AS(got, want, name)                                                                      \
    check_equal((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, name)
#define CHECK_CONTAINS(text, part) check_contains(text, part, __FILE__, __LINE__)

static inline int finish_checks(const char *name) {
    printf("%-16s %u checks, %u failed\n", name, checks_done, checks_failed);
    return checks_failed || !checks_done;
}

#endif
