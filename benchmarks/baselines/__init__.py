"""Reductions by other libraries, which benchmarks compare gpureduce with."""
