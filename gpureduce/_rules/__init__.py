"""NumPy's rules for arguments, without computation and without devices."""
