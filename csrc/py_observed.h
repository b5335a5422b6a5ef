/* What was seen of launches, as Python objects. */
#ifndef PY_OBSERVED_H
#define PY_OBSERVED_H

#include "py_state.h"

#include "profile.h"

/* A list with a tuple for each launch; _profile.py knows their fields. */
PyObject *py_observed_list(const gr_profile *profile);

#endif
