"""Functions that reduce rows and write a result for each element."""
