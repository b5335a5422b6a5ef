"""Norms, variances and moments, and reductions that skip NaN."""
