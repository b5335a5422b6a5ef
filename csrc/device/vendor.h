/* NVIDIA's libraries that some variants call (cuBLAS, cuDNN): opened by dlopen at their first use, never
 * linked. */
#ifndef GR_DEVICE_VENDOR_H
#define GR_DEVICE_VENDOR_H

#include "base/status.h"

typedef struct gr_vendor_symbol {
    const char *name;
    void *out; /* address of a function pointer */
} gr_vendor_symbol;

typedef struct gr_vendor {
    const char *variant, *needed; /* the variant and the required library, for messages */
    const char *environment;      /* environment variable that names another file */
    const char *names[2];         /* file names for dlopen; the second may be NULL */
} gr_vendor;

/* Opens the library and finds all functions, up to a symbol without a name; *out is NULL after an error.
 * GR_ERR_VALUE with the names that were tried. */
gr_status gr_vendor_open(const gr_vendor *self, const gr_vendor_symbol *symbols, void **out, gr_error *error);

#endif
