"""CUDA C++ of users: compilation, rungs, export."""
