"""Products of matrices: the second ladder."""
