"""Reductions that users write: `ReductionKernel` and its compiler."""
