"""Partial results: made, merged, stored, on the host and on devices."""
