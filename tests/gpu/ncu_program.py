"""Sums with every rung, for ncu to watch: ``python tests/gpu/ncu_program.py LOG2_N``."""

import sys

import numpy as np
from ncu_compare import DTYPES, RUNGS

import gpureduce

n = 1 << int(sys.argv[1])
data = np.random.default_rng(1).random(n)
for dtype in DTYPES:
    for variant in RUNGS:
        gpureduce.sum(data.astype(dtype), variant=variant, device="cuda")
