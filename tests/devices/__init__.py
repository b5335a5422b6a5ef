"""Several devices, and streams."""
