"""Exact sums, means and dot products."""
