"""What NumPy's arguments mean: nothing here computes, and nothing here knows a device."""
