/* Status codes and the error record that every core function fills; knows no Python. */
#ifndef GR_BASE_STATUS_H
#define GR_BASE_STATUS_H

#include <stdbool.h>

typedef enum gr_status {
    GR_OK = 0,
    GR_ERR_VALUE,       /* ValueError: a well-typed argument outside its domain */
    GR_ERR_TYPE,        /* TypeError: a dtype or object that is not supported */
    GR_ERR_MEMORY,      /* MemoryError: host or device memory ran out */
    GR_ERR_DEVICE,      /* DeviceError: no such device, or the driver reported an error */
    GR_ERR_SIMULATION,  /* SimulationError: the simulator refused or stopped a kernel */
    GR_ERR_SYSTEM,      /* OSError: the operating system refused, with `number` its errno */
    GR_ERR_INTERRUPTED, /* a pending signal (Ctrl-C) stopped the work */
} gr_status;

typedef struct gr_error {
    gr_status status;
    char message[1536];
    int number; /* of GR_ERR_SYSTEM */
} gr_error;

/* Records a formatted message and returns `status`, so that `return gr_fail(...)` reads well. */
gr_status gr_fail(gr_error *error, gr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a text of dlerror() or the like says that the process, or the system, has no file descriptor or
   memory left: what was looked for may exist. Records that, with `what` in front. */
bool gr_is_exhausted(gr_error *error, const char *what, const char *text);

#endif
