/* Python, NumPy and what the module keeps: included first by every file that touches CPython. */
#ifndef GR_PYTHON_STATE_H
#define GR_PYTHON_STATE_H

#include "python/numpy_api.h"

#include "base/dtypes.h"
#include "device/device.h"

#ifndef Py_BEGIN_CRITICAL_SECTION /* before Python 3.13 every interpreter has a GIL */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

typedef struct py_state {
    PyObject *device_error;
    PyObject *simulation_error;
    gr_registry registry;
    int type_numbers[GR_DTYPE_COUNT]; /* NumPy's type number of each row of dtypes.def */
} py_state;

#endif
