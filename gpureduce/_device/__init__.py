"""Kernels, devices and variants."""
