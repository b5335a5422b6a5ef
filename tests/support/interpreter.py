"""What the tests have to know of the interpreter."""

import sys
import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# Such builds start without, and take it back for a module that needs it.
HAS_GIL = not FREE_THREADED or sys._is_gil_enabled()
