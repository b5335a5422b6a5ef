/* Implements testing.h. */
#include "testing.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const symbols[SYMBOLS] = {
#define GR_CUDA_SYMBOL(field, symbol, parameters) #symbol,
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
};
const fake_cuda_controls *fake;
void (*before_each)(void), (*after_each)(void);

static void *symbol(void *library, const char *name) {
    void *address = library ? dlsym(library, name) : NULL;
    if (!address) {
        fprintf(stderr, "usage: <test> <fake library>: no %s\n", name);
        exit(2);
    }
    return address;
}

void *open_fake_driver(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *address = symbol(library, "fake_cuda");
    const fake_cuda_controls *(*get_controls)(void);
    memcpy(&get_controls, &address, sizeof address);
    fake = get_controls();
    setenv("GPUREDUCE_LIBCUDA", argv[1], 1);
    return library;
}

void find_driver_functions(void *library, gr_cuda_driver *cuda) {
    void *address;
#define GR_CUDA_SYMBOL(field, name, parameters)                                                              \
    address = symbol(library, #name);                                                                        \
    memcpy(&cuda->field, &address, sizeof address);
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
}

static bool succeeds(int child) {
    int how = 0;
    return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

bool passes(void (*run)(void), unsigned seconds) {
    fflush(stdout);
    const int child = fork();
    if (child == 0) {
        alarm(seconds);
        if (before_each)
            before_each();
        run();
        if (after_each)
            after_each();
        exit(0);
    }
    return succeeds(child);
}

void wait_for_success(int child) {
    CHECK(succeeds(child));
}

int run_cases(const char *prefix, const test_case *cases, size_t count, const char *only) {
    int failed = 0, ran = 0;
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(only, cases[i].name) != 0)
            continue;
        const bool ok = passes(cases[i].run, 300);
        printf("%s %s%s\n", ok ? "ok  " : "FAIL", prefix, cases[i].name);
        failed += !ok;
        ran++;
    }
    return failed + !ran;
}

void write_fatbin(const char *folder, const char *name) {
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 2, 3, 4};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(fatbin, 1, sizeof fatbin, file) == sizeof fatbin && fclose(file) == 0);
}

void remove_fatbin(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
}
