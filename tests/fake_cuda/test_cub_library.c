/* How device/library.c finds the library, and what it says when it cannot. Usage: test_cub_library <fake
 * library>
 */
#include <unistd.h>

#define CHECK_MESSAGE error.message
#include "device/library.h"
#include "testing.h"

static gr_error error;
static gr_cub_call call;

static gr_status find(const char *from, const char *entry) {
    memset(&error, 0, sizeof error);
    memset(&call, 0, sizeof call);
    return gr_library_find(from, entry, &call, &error);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/gpureduce-cub-XXXXXX", path[64], endless[5000];
    CHECK(argc == 2 && mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libgpureduce_cub.so", folder);

    CHECK(find(folder, "cub_sum_f32") == GR_ERR_VALUE);
    CHECK(strstr(error.message, "variant: cub is not part of this installation"));
    CHECK(strstr(error.message, "GPUREDUCE_CUB=1") && !call.reduce);

    FILE *broken = fopen(path, "w");
    CHECK(broken && fputs("not a library\n", broken) >= 0 && fclose(broken) == 0);
    CHECK(find(folder, "cub_sum_f32") == GR_ERR_DEVICE);
    CHECK(strstr(error.message, "cannot load the CUB library: ") && strstr(error.message, path));
    CHECK(unlink(path) == 0);

    CHECK(symlink(argv[1], path) == 0); /* no failure is for good */
    CHECK(find(folder, "cub_sum_f32") == GR_OK && strcmp(call.call.name, "cub_sum_f32") == 0);
    call.n = 4;
    CHECK(gr_library_query_temp_bytes(&call, &error) == GR_OK && call.temp_bytes == 4000);
    call.temp = 1;
    call.in = 2;
    call.out = 3;
    CHECK(call.call.run(&call.call, NULL, &error) == GR_OK && call.temp_bytes == 4000);
    size_t told = 0;
    CHECK(call.call.run(&call.call, &told, &error) == GR_ERR_DEVICE && told == 4321);
    CHECK(strcmp(error.message, "running cub_sum_f32: seven") == 0);
    CHECK(find(folder, "cub_sum_f64") == GR_ERR_DEVICE);
    CHECK(strstr(error.message, "the CUB library has no cub_sum_f64"));

    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    CHECK(find(endless, "cub_sum_f32") == GR_ERR_DEVICE && strstr(error.message, "too long"));

    unlink(path);
    rmdir(folder);
    printf("ok   cub_library\n");
    return 0;
}
