"""Reductions of lists of arrays: gpureduce.multi."""
