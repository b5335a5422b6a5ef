/* Converts what the simulator's instrumentation recorded of each launch (counters, races, timeline, accesses,
   trace, printf output) to Python objects. gpureduce/_profiles/observed.py reads them. */
#ifndef GR_PYTHON_INSTRUMENTATION_H
#define GR_PYTHON_INSTRUMENTATION_H

#include "python/job.h"

#include "program/profile.h"

/* Returns (result, launches, None), or (None, launches, message) if the simulator stopped a kernel. Steals
   the reference to the result. NULL with an exception set. */
PyObject *py_profile_outcome(const py_state *state, const gr_profile *profile, gr_status status,
                             const gr_error *error, PyObject *result);

/* Runs a job on a new simulator with the race detector and returns the same tuple. */
PyObject *py_profile_job(const py_state *state, py_job *job, py_job_work work, void *arg);

#endif
