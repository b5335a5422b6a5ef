"""The reductions: NumPy's arguments in, a call of the core, a NumPy or device result out."""
