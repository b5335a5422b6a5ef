"""Hostile arguments, failing allocations, leaks, threads, signals and forks."""
