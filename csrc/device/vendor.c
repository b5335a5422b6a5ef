/* Opens vendor libraries and finds their functions. */
#include "device/vendor.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static gr_status find(const gr_vendor *self, void *library, const gr_vendor_symbol *symbol, gr_error *error) {
    void *address = dlsym(library, symbol->name);
    if (address == NULL)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s needs %s: %s", self->variant, self->needed,
                       dlerror());
    memcpy(symbol->out, &address,
           sizeof address); /* ISO C has no conversion from data to function pointers */
    return GR_OK;
}

gr_status gr_vendor_open(const gr_vendor *self, const gr_vendor_symbol *symbols, void **out,
                         gr_error *error) {
    const char *asked = getenv(self->environment);
    const bool named = asked != NULL && *asked != '\0';
    const char *first = named ? asked : self->names[0], *second = named ? NULL : self->names[1];
    *out = dlopen(first, RTLD_NOW | RTLD_LOCAL);
    if (*out == NULL && second != NULL)
        *out = dlopen(second, RTLD_NOW | RTLD_LOCAL);
    if (*out == NULL) {
        const char *reason = dlerror();
        if (gr_is_exhausted(error, self->variant, reason))
            return error->status;
        return gr_fail(error, GR_ERR_VALUE,
                       "variant: %s is NVIDIA's library, which was not found: looked for %s%s%s (%s)",
                       self->variant, first, second != NULL ? " and " : "", second != NULL ? second : "",
                       reason);
    }
    gr_status status = GR_OK;
    for (; status == GR_OK && symbols->name != NULL; ++symbols)
        status = find(self, *out, symbols, error);
    if (status != GR_OK) {
        dlclose(*out);
        *out = NULL;
    }
    return status;
}
