"""Reductions on the device beside CUB, PyTorch, CuPy and JAX: ``python -m gpureduce.bench.peers``."""
