"""What the tests have to know of the interpreter."""

import sys

# Free-threaded builds start without, and take it back for a module that needs it.
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
