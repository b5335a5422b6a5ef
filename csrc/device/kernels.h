/* The compiled kernels of the package that are loaded on a device. */
#ifndef GR_DEVICE_KERNELS_H
#define GR_DEVICE_KERNELS_H

#include <pthread.h>

#include "device/backend.h"

enum { GR_KERNEL_NAME_BYTES = 64 };

typedef struct gr_kernel_id {
    const char *owner;               /* whose it is, for messages: a rung or an operator */
    char file[GR_KERNEL_NAME_BYTES]; /* without ending */
    char entry[GR_KERNEL_NAME_BYTES];
} gr_kernel_id;

/* Writes up to five texts one behind the other, cut where the name is full; NULL ends them. */
void gr_kernel_name(char name[GR_KERNEL_NAME_BYTES], const char *const parts[]);
#define GR_KERNEL_NAME(name, ...) gr_kernel_name(name, (const char *const[]){__VA_ARGS__, NULL})

typedef struct gr_kernels {
    gr_backend *backend;
    const char *folder;              /* of the compiled files */
    struct gr_kernel_file *files;    /* those that are loaded, the one used last first */
    char last[GR_KERNEL_NAME_BYTES]; /* the entry found last, which small calls ask for again and again */
    gr_kernel *found;
    pthread_mutex_t lock;
} gr_kernels;

void gr_kernels_init(gr_kernels *kernels, const char *folder);
void gr_kernels_unload(gr_kernels *kernels);

/* The kernel, whose file is loaded if need be. Safe to call from many threads. */
gr_status gr_kernels_find(gr_kernels *kernels, const gr_kernel_id *id, gr_kernel **out, gr_error *error);

#endif
