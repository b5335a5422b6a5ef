"""PyTorch's operators made of this package's functions."""
