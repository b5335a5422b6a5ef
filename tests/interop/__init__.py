"""Other libraries: PyTorch, CuPy, JAX, Dask, flox, and processes over MPI and gloo."""
