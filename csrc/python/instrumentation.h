/* Converts what the simulator's instrumentation recorded of each launch (counters, races, timeline, accesses,
   trace, printf output) to Python objects. gpureduce/_profiles/observed.py reads them. */
#ifndef GR_PYTHON_INSTRUMENTATION_H
#define GR_PYTHON_INSTRUMENTATION_H

#include "python/state.h"

#include "program/profile.h"

/* Returns a list of one tuple per launch; gpureduce/_profiles/observed.py names their fields. */
PyObject *py_launch_list(const gr_profile *profile);

#endif
