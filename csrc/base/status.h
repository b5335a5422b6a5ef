/* Status codes and the error record that every core function fills. Independent of Python, which maps each
   code to an exception. */
#ifndef GR_BASE_STATUS_H
#define GR_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>

typedef enum gr_status {
    GR_OK = 0,
    GR_ERR_VALUE,       /* ValueError: a well-typed argument outside its domain */
    GR_ERR_TYPE,        /* TypeError: a dtype or object that is not supported */
    GR_ERR_MEMORY,      /* MemoryError: host or device memory ran out */
    GR_ERR_DEVICE,      /* DeviceError: no such device, or the driver reported an error */
    GR_ERR_SIMULATION,  /* SimulationError: the simulator rejected or stopped a kernel */
    GR_ERR_SYSTEM,      /* OSError: a system call failed with errno `number` */
    GR_ERR_INTERRUPTED, /* a pending signal (Ctrl-C) stopped the work */
} gr_status;

typedef struct gr_error {
    gr_status status;
    char message[1536];
    int number; /* errno of GR_ERR_SYSTEM */
} gr_error;

/* Records a formatted message and returns `status`, so that `return gr_fail(...)` works. */
gr_status gr_fail(gr_error *error, gr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
gr_status gr_vfail(gr_error *error, gr_status status, const char *format, va_list arguments);

/* Whether a message of dlerror() or a similar function says that the process or the system is out of file
   descriptors or memory, so that the file may exist. Records the message, prefixed with `what`. */
bool gr_is_exhausted(gr_error *error, const char *what, const char *text);

#endif
