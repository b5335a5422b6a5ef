"""The reductions: from NumPy's arguments to a call of the core and its result."""
