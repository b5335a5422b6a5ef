"""Titles of variants and of the default in tables and charts."""

from __future__ import annotations

from gpureduce._device.variants import AUTO, variants

AUTO_LABEL = "The default: by length and dtype"
AUTO_PRODUCT_LABEL = "The default: by size and dtype"
AUTO_TECHNIQUE = "one launch, with a shape chosen by length and dtype; rounding errors are added separately"


def variant_labels() -> dict[str, str]:
    """Return the title of each variant, and of the default, by name, in the order of tables."""
    return {**{record.name: record.title for record in variants("reduction")}, AUTO: AUTO_LABEL}


def matmul_labels() -> dict[str, str]:
    """Return the titles for matrix products, and for cuBLAS."""
    own = {record.name: record.title for record in variants("matmul") if record.block_sizes}
    return {**own, AUTO: AUTO_PRODUCT_LABEL, "cublas": "NVIDIA's library"}


def conv_labels() -> dict[str, str]:
    """Return the titles for convolutions, and for cuDNN."""
    own = {record.name: record.title for record in variants("conv")}
    return {**own, AUTO: AUTO_PRODUCT_LABEL, "cudnn": "NVIDIA's library"}
