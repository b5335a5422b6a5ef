"""Measurements: the ladder on a GPU, the speed of the simulator, and the committed results."""
