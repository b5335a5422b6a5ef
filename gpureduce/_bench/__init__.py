"""Measurements of variants: what `gpureduce.bench` and `gpureduce plot` run."""
