/* The kernels of the package that are loaded on a device. A file of kernels is loaded when its first kernel
 * is needed. */
#ifndef GR_DEVICE_KERNELS_H
#define GR_DEVICE_KERNELS_H

#include <pthread.h>

#include "device/backend.h"
#include "device/xz.h"

enum { GR_KERNEL_NAME_BYTES = 64 };

#define GR_TEXT_SUFFIX ".ptx.xz"

typedef struct gr_kernel_id {
    const char *owner;               /* the rung or operator, for messages */
    char file[GR_KERNEL_NAME_BYTES]; /* file name without suffix */
    char entry[GR_KERNEL_NAME_BYTES];
} gr_kernel_id;

/* Concatenates texts up to NULL into a name, truncated at its capacity. */
void gr_kernel_name(char name[GR_KERNEL_NAME_BYTES], const char *const parts[]);
#define GR_KERNEL_NAME(name, ...) gr_kernel_name(name, (const char *const[]){__VA_ARGS__, NULL})

typedef struct gr_kernels {
    gr_backend *backend;
    const char *folder;              /* folder of the compiled files */
    struct gr_kernel_file *files;    /* loaded files, most recently used first */
    char last[GR_KERNEL_NAME_BYTES]; /* the entry found last: consecutive small calls usually need the same
                                        one */
    gr_kernel *found;
    pthread_mutex_t lock;
} gr_kernels;

void gr_kernels_init(gr_kernels *kernels, const char *folder);
void gr_kernels_unload(gr_kernels *kernels);

/* Reads a file of compiled kernels, which may be packed by xz, and appends a NUL. The caller frees
 *data, also after a failure. */
gr_status gr_read_image(const char *path, char **data, size_t *size, gr_error *error);

/* Reads a file of PTX as gr_read_image does, and leaves out all kernels but `entry`. */
gr_status gr_read_kernel(const char *path, const char *entry, char **text, size_t *size, gr_error *error);

/* Finds a kernel and loads its file at the first use. Thread-safe. */
gr_status gr_kernels_find(gr_kernels *kernels, const gr_kernel_id *id, gr_kernel **out, gr_error *error);

#endif
