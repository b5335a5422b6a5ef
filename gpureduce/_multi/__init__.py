"""Reductions of lists of arrays in one launch."""
