"""Benchmarks of gpureduce and of other libraries: `python benchmarks/run.py --list`."""
