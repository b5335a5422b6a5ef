/* What was seen of launches, as Python objects. */
#ifndef GR_PYTHON_OBSERVED_H
#define GR_PYTHON_OBSERVED_H

#include "python/state.h"

#include "program/profile.h"

/* A list with a tuple for each launch; gpureduce/_profiles/observed.py knows their fields. */
PyObject *py_observed_list(const gr_profile *profile);

#endif
