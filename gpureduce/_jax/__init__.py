"""Functions of the package in JAX's compiled programs; importing it requires JAX."""

try:
    import jax
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ImportError("gpureduce.jax needs JAX: pip install 'gpureduce[jax]'") from error

if not hasattr(jax, "ffi"):
    raise ImportError(f"gpureduce.jax needs JAX 0.5 or later, not {jax.__version__}")
