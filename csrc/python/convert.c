/* `_core.convert`: copies the elements of an array into another dtype, in C order, on a device or into a
   NumPy array. Copies of device arrays, scans and states use it. */
#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "reduce/convert/convert.h"

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_conversion_run(device, arg, binding, interrupt, error);
}

/* Describes the conversion of the job's input to its dtype, and the shape of the result. */
static void describe(py_job *job, gr_conversion *conversion) {
    const py_operand *source = &job->inputs[0];
    conversion->from = source->dtype;
    conversion->to = job->dtype;
    conversion->ndim = job->ndim = source->ndim;
    memcpy(conversion->stride, source->stride, source->ndim * sizeof source->stride[0]);
    memcpy(conversion->extent, source->extent, source->ndim * sizeof source->extent[0]);
    memcpy(job->extent, source->extent, source->ndim * sizeof source->extent[0]);
}

PyObject *py_convert(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *a, *destination, *result = NULL;
    const char *name;
    gr_conversion conversion;
    if (!PyArg_ParseTuple(args, "OsO", &a, &name, &destination))
        return NULL;
    py_job job;
    py_job_init(&job, state);
    job.input_count = 1;
    job.as_array = true;
    py_operand *source = &job.inputs[0];
    if (py_find_dtype_name(name, "dtype", &job.dtype) < 0 ||
        py_operand_from_object(state, a, PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0)
        goto cleanup;
    describe(&job, &conversion);
    if (!py_job_set_c_strides(&job))
        PyErr_Format(PyExc_ValueError, "a: too many elements");
    else if (py_job_parse_destination(&job, destination) == 0)
        result = py_job_run(&job, work, &conversion);
cleanup:
    py_job_release(&job);
    return result;
}

PyObject *py_array_copied(PyObject *module, PyObject *args) {
    enum { MAX_NDIM = 5 }; /* of any array that one launch copies */
    py_state *state = PyModule_GetState(module);
    PyObject *a, *result = NULL;
    const char *name = NULL;
    gr_conversion conversion;
    if (!PyArg_ParseTuple(args, "O!|s", state->array_type, &a, &name))
        return NULL;
    py_job job;
    py_job_init(&job, state);
    job.as_array = job.on_device = true;
    const py_operand *source = &job.inputs[0];
    if (py_operand_from_object(state, a, PY_NO_COPY, GR_SCOPE_GENERAL, "a", &job.inputs[0]) > 0) {
        job.dtype = source->dtype;
        if (source->ndim > MAX_NDIM || py_operand_count(source, NULL) == 0)
            result = Py_NewRef(Py_NotImplemented);
        else if ((name == NULL || py_find_dtype_name(name, "dtype", &job.dtype) == 0) &&
                 py_job_parse_stream(&job, NULL) > 0 && py_job_parse_device(&job, NULL) > 0) {
            describe(&job, &conversion);
            result = py_job_run(&job, work, &conversion);
        }
    }
    py_job_release(&job);
    return result;
}
