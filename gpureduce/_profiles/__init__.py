"""Profiles of kernels on the simulator: `profile`, `simulate`, and their display."""
