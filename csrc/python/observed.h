/* What was seen of launches, as Python objects. */
#ifndef GR_PYTHON_OBSERVED_H
#define GR_PYTHON_OBSERVED_H

#include "python/job.h"

#include "program/profile.h"

/* A list with a tuple for each launch; gpureduce/_profiles/observed.py knows their fields. */
PyObject *py_observed_list(const gr_profile *profile);

/* (result, launches, None), which takes the reference to the result; (None, launches, message) when the
   simulator stopped a kernel. */
PyObject *py_observed_outcome(const py_state *state, const gr_profile *profile, gr_status status,
                              const gr_error *error, PyObject *result);

/* Does the work of a job on a simulator of its own that looks for races; the same. */
PyObject *py_observed_job(const py_state *state, py_job *job, py_job_work work, void *arg);

#endif
