"""Custom reductions: `ReductionKernel` and its compiler."""
