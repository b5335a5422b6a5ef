"""What kernels do on the simulator: `profile`, `simulate`, and how profiles are shown."""
