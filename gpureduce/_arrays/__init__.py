"""Arrays in device memory: our own and other libraries', and the operands of calls."""
