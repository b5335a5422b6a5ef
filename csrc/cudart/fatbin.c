/* Unpacks the PTX of fat binaries as nvcc builds them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum { WRAPPER_MAGIC = 0x466243b1, KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, BEST = 90 };
#define BINARY_MAGIC 0xba55ed50u

typedef struct wrapper {
    int32_t magic, version;
    const void *data;
    const void *const *linked; /* version 2: the fat binaries of all objects, behind the linked one */
} wrapper;

typedef struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries */
} header;

typedef struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* with padding */
    uint32_t packed_bytes, options_offset, ptx_version, architecture, unknown[2];
    uint64_t flags, unknown2;
    uint64_t text_bytes; /* 0: the text is not packed */
} entry;

_Static_assert(sizeof(entry) == 64, "the part of an entry's header that is read");

typedef size_t zstd_function(void *to, size_t to_bytes, const void *from, size_t from_bytes);
typedef int lz4_function(const char *from, char *to, int from_bytes, int to_bytes);

static void *function_of(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : NULL;
}

/* The library stays open: there are few fat binaries, and all have the same packing. */
static cudaError_t unpack(const entry *e, char *text) {
    const char *from = (const char *)e + e->header_bytes;
    if (e->flags & FLAG_ZSTD) {
        zstd_function *decompress;
        *(void **)&decompress = function_of("libzstd.so.1", "ZSTD_decompress");
        if (!decompress)
            return cudart_refuse(
                cudaErrorInvalidKernelImage,
                "the program's PTX is packed by zstd and there is no libzstd.so.1; install it, or "
                "compile with nvcc -Xfatbin=-compress=false");
        if (decompress(text, e->text_bytes, from, e->packed_bytes) != e->text_bytes)
            return cudart_refuse(cudaErrorInvalidKernelImage, "the program's PTX is damaged");
        return cudaSuccess;
    }
    lz4_function *decompress;
    *(void **)&decompress = function_of("liblz4.so.1", "LZ4_decompress_safe");
    if (!decompress)
        return cudart_refuse(cudaErrorInvalidKernelImage,
                             "the program's PTX is packed by LZ4 and there is no liblz4.so.1; install it, or "
                             "compile with nvcc -Xfatbin=-compress=false");
    if (decompress(from, text, (int)e->packed_bytes, (int)e->text_bytes) != (int)e->text_bytes)
        return cudart_refuse(cudaErrorInvalidKernelImage, "the program's PTX is damaged");
    return cudaSuccess;
}

/* Whether an architecture suits better than another one: the highest up to BEST, else the lowest. */
static bool better(uint32_t one, uint32_t other) {
    if ((one <= BEST) != (other <= BEST))
        return one <= BEST;
    return one <= BEST ? one > other : one < other;
}

/* The entry with the PTX to run; NULL if there is none. */
static const entry *find_ptx(const header *binary) {
    const char *at = (const char *)binary + binary->header_bytes, *end = at + binary->bytes;
    const entry *best = NULL;
    while (at < end) {
        const entry *e = (const entry *)(const void *)at;
        if (e->kind == KIND_PTX && (!best || better(e->architecture, best->architecture)))
            best = e;
        at += e->header_bytes + e->bytes;
    }
    return best;
}

/* A part of names in NVIDIA's device runtime, which nvcc links to programs of several objects. */
#define DEVICE_RUNTIME "_cuda_device_runtime_cu_"

/* Appends the PTX of a fat binary to a text. */
static cudaError_t append(const header *binary, char **text, size_t *length) {
    if (binary->magic != BINARY_MAGIC)
        return cudart_refuse(cudaErrorInvalidKernelImage, "a fat binary of an unknown format");
    const entry *e = find_ptx(binary);
    if (!e)
        return cudaSuccess;
    const bool packed = e->flags & (FLAG_ZSTD | FLAG_LZ4);
    const size_t bytes = packed ? e->text_bytes : e->bytes;
    char *grown = realloc(*text, *length + bytes + 2);
    if (!grown)
        return cudart_refuse(cudaErrorMemoryAllocation, "out of memory for %zu bytes of PTX", bytes);
    *text = grown;
    char *to = grown + *length;
    cudaError_t error = cudaSuccess;
    if (packed)
        error = unpack(e, to);
    else
        memcpy(to, (const char *)e + e->header_bytes, bytes);
    to[bytes] = '\0';
    if (strstr(to, DEVICE_RUNTIME)) { /* the simulator has its functions */
        *to = '\0';
        return error;
    }
    *length += strlen(to);
    grown[(*length)++] = '\n';
    grown[*length] = '\0';
    return error;
}

cudaError_t cudart_unpack(const void *fatbin, char **text, size_t *length) {
    const wrapper *w = fatbin;
    *text = NULL;
    *length = 0;
    if (w->magic != WRAPPER_MAGIC)
        return cudart_refuse(cudaErrorInvalidKernelImage, "a fat binary of an unknown format");
    cudaError_t error = cudaSuccess;
    if (w->version == 2)
        for (const void *const *each = w->linked; *each && error == cudaSuccess; each++)
            error = append(*each, text, length);
    else
        error = append(w->data, text, length);
    if (error == cudaSuccess && !*length)
        error = cudart_refuse(
            cudaErrorNoKernelImageForDevice,
            "the program has machine code but no PTX; compile it with nvcc -arch=sm_90, or with a "
            "-gencode whose code= names compute_90");
    return error;
}
