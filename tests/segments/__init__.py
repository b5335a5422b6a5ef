"""Segmented and grouped reductions."""
