"""Functions of the package as PyTorch operators; importing it requires PyTorch."""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError("gpureduce.torch needs PyTorch: pip install 'gpureduce[torch]'") from error

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(f"gpureduce.torch needs PyTorch 2.4 or later, not {torch.__version__}")
