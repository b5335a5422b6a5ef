"""Reductions of segments and groups along an axis."""
