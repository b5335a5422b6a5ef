"""The CUDA backend against the fake driver of ``tests/fake_cuda``."""
