/* Products and quotients of weighted group sums and means, as arrays on a device or on the host. */
#include "groups/weights/weights.h"

#include <string.h>

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

typedef struct products_call {
    py_job job;
    gr_products products;
} products_call;

static gr_status work_products(void *arg, gr_device *device, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error) {
    return gr_products_run(device, &((const products_call *)arg)->products, binding, interrupt, error);
}

/* Converts an array of three axes. -1 with an exception set. */
static int take_input(py_job *job, size_t i, PyObject *object, const char *name, int64_t strides[3]) {
    py_operand *operand = &job->inputs[i];
    if (py_operand_from_object(job->state, object, PY_NATIVE, GR_SCOPE_GENERAL, name, operand) < 0 ||
        py_operand_ensure_element_strides(operand) < 0)
        return -1;
    job->input_count = i + 1;
    if (operand->ndim != 3 || (operand->dtype != GR_DTYPE_f32 && operand->dtype != GR_DTYPE_f64))
        return PY_RAISE(PyExc_ValueError, "%s: expected float32 or float64 along three axes", name);
    for (size_t axis = 0; axis < 3; ++axis)
        strides[axis] = operand->stride[axis];
    return 0;
}

/* Infers the result: rows of products, and rows of their errors. -1 with an exception set. */
static int set_products(products_call *self) {
    py_job *job = &self->job;
    gr_products *products = &self->products;
    const py_operand *weights = &job->inputs[0], *elements = &job->inputs[1];
    products->dtype = weights->dtype;
    products->lines = weights->extent[0];
    products->length = weights->extent[1];
    products->inner = weights->extent[2];
    if (products->has_elements &&
        (elements->dtype != weights->dtype ||
         memcmp(elements->extent, weights->extent, 3 * sizeof weights->extent[0]) != 0))
        return PY_RAISE(PyExc_ValueError, "a: expected the dtype and the shape of weights");
    if (products->wide && weights->dtype != GR_DTYPE_f32)
        return PY_RAISE(PyExc_ValueError, "wide: only products of float32 are exact in float64");
    job->as_array = true;
    job->dtype = gr_products_dtype(products);
    job->ndim = 3;
    job->extent[0] = products->lines;
    job->extent[1] = products->length * gr_products_parts(products);
    job->extent[2] = products->inner;
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "weights: too many for any memory");
}

PyObject *py_group_products(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"weights", "a", "wide", "destination", NULL};
    PyObject *weights, *a, *destination, *result = NULL;
    int wide;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOpO", names, &weights, &a, &wide, &destination))
        return NULL;
    products_call self = {.products = {.has_elements = a != Py_None, .wide = wide != 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (take_input(&self.job, 0, weights, "weights", self.products.weight_strides) == 0 &&
        (a == Py_None || take_input(&self.job, 1, a, "a", self.products.in_strides) == 0) &&
        set_products(&self) == 0 && py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "weights") == 0)
        result = py_job_run(&self.job, work_products, &self);
    py_job_release(&self.job);
    return result;
}

typedef struct quotients_call {
    py_job job;
    gr_quotients quotients;
} quotients_call;

static gr_status work_quotients(void *arg, gr_device *device, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_error *error) {
    return gr_quotients_run(device, &((const quotients_call *)arg)->quotients, binding, interrupt, error);
}

/* Infers the result, of the shape of the dividends. -1 with an exception set. */
static int set_quotients(quotients_call *self, gr_dtype to) {
    py_job *job = &self->job;
    const py_operand *dividends = &job->inputs[0];
    for (size_t i = 0; i < 2; ++i)
        if (job->inputs[i].dtype != GR_DTYPE_f64 || !py_operand_is_contiguous(&job->inputs[i], true) ||
            py_operand_count(&job->inputs[i], NULL) != py_operand_count(dividends, NULL))
            return PY_RAISE(PyExc_ValueError, "divisors: expected as many float64 as dividends");
    self->quotients = (gr_quotients){.to = to, .count = py_operand_count(dividends, NULL)};
    job->as_array = true;
    job->dtype = to;
    job->ndim = dividends->ndim;
    memcpy(job->extent, dividends->extent, dividends->ndim * sizeof dividends->extent[0]);
    return py_job_set_c_strides(job) ? 0 : PY_RAISE(PyExc_ValueError, "dividends: too many for any memory");
}

PyObject *py_group_quotients(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"dividends", "divisors", "narrow", "destination", NULL};
    static const char *const inputs[] = {"dividends", "divisors"};
    PyObject *objects[2], *destination, *result = NULL;
    int narrow;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOpO", names, &objects[0], &objects[1], &narrow,
                                     &destination))
        return NULL;
    quotients_call self = {.quotients = {.count = 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (py_job_parse_inputs(&self.job, objects, inputs, PY_NATIVE) > 0 &&
        set_quotients(&self, narrow ? GR_DTYPE_f32 : GR_DTYPE_f64) == 0 &&
        py_job_parse_destination(&self.job, destination) == 0 &&
        py_job_check_overlap(&self.job, "dividends") == 0)
        result = py_job_run(&self.job, work_quotients, &self);
    py_job_release(&self.job);
    return result;
}
