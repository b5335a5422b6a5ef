"""Medians, quantiles and top-k."""
