"""What there is to run, and what to run it on: kernels, devices, variants."""
