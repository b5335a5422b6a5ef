"""Documents, notebooks, exercises and docstrings."""
