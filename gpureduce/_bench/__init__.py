"""Measurements and charts of variants, for `gpureduce.bench` and `gpureduce plot`."""
