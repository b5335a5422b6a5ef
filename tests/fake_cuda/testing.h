/* What the C tests on the fake driver share: checks, cases that run in a process of their own each, and the
 * driver. */
#ifndef FAKE_CUDA_TESTING_H
#define FAKE_CUDA_TESTING_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"
#include "fake_cuda.h"

/* A test file whose calls leave a message defines CHECK_MESSAGE before this file. */
#ifndef CHECK_MESSAGE
#define CHECK_MESSAGE ""
#endif
/* Ends the process if the condition is false. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, CHECK_MESSAGE);               \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

enum {
#define GR_CUDA_SYMBOL(field, symbol, parameters) INDEX_##symbol,
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
    SYMBOLS
};
/* The names of the driver's functions. */
extern const char *const symbols[SYMBOLS];

extern const fake_cuda_controls *fake;
/* Called in the process of each function that `passes` runs, unless they are null. */
extern void (*before_each)(void), (*after_each)(void);

/* Loads the fake driver of argv[1], and names it to the CUDA backend. Exits with a usage message if it is
 * none. */
void *open_fake_driver(int argc, char **argv);
/* Looks up every function that the backend calls. */
void find_driver_functions(void *library, gr_cuda_driver *cuda);
/* Whether the function ends in a child process without a failed check, within `seconds`. */
bool passes(void (*run)(void), unsigned seconds);
/* Runs the cases, or the one of a name if `only` is not null, and prints a line for each; returns how many
   failed, and 1 if there was none. */
int run_cases(const char *prefix, const test_case *cases, size_t count, const char *only);
void wait_for_success(int child);

/* Writes a file of a few bytes that the fake driver takes for machine code. */
void write_fatbin(const char *folder, const char *name);
void remove_fatbin(const char *folder, const char *name);

#endif
