/* Gives the files named on the command line to a target, one after the other: what CI does with the corpus.
 */
#include "fuzz.h"

enum { LARGEST = 1 << 20 };

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *text = malloc(LARGEST);
    size_t size = file && text ? fread(text, 1, LARGEST, file) : 0;
    /* Exactly as many bytes, so that a sanitizer sees a read behind the last one. */
    uint8_t *exact = realloc(text, size ? size : 1);
    if (file && exact) {
        fclose(file);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    return file && exact ? 0 : -1;
}

int main(int count, char **paths) {
    for (int i = 1; i < count; i++)
        if (replay(paths[i]) < 0) {
            fprintf(stderr, "cannot read %s\n", paths[i]);
            return 2;
        }
    printf("%s: %d files\n", paths[0], count - 1);
    return 0;
}
