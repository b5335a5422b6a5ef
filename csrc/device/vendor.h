/* NVIDIA's libraries beside the ladders, where they are installed: opened at first use, never linked. */
#ifndef GR_DEVICE_VENDOR_H
#define GR_DEVICE_VENDOR_H

#include "base/status.h"

typedef struct gr_vendor_symbol {
    const char *name;
    void *out; /* a pointer to a function pointer */
} gr_vendor_symbol;

typedef struct gr_vendor {
    const char *variant, *needed; /* the variant, and what it needs, for messages */
    const char *environment;      /* the variable that names another file */
    const char *names[2];         /* what the dynamic linker is asked for; the second may be NULL */
} gr_vendor;

/* Opens it and finds all of its functions, up to a symbol without a name; *out is NULL where that fails.
   GR_ERR_VALUE says what was looked for. */
gr_status gr_vendor_open(const gr_vendor *self, const gr_vendor_symbol *symbols, void **out, gr_error *error);

#endif
