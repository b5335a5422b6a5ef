"""Scans: running sums and products."""
