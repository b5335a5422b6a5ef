"""Whole CUDA programs on the simulator."""
