"""Reductions over all elements and along axes: variants, operators, layouts, user-defined operators."""
