"""Kernels cost whoever builds and whoever installs: their number and bytes have ceilings."""

import json

import pytest

from tests.tools import kernel_sizes


@pytest.mark.core
def test_kernels_are_not_more_and_not_larger_than_agreed():
    """Whoever needs more runs tests/tools/kernel_sizes.py --write, and says why in the commit."""
    now, ceilings = kernel_sizes.sizes(), json.loads(kernel_sizes.CEILINGS.read_text())
    assert now.keys() == ceilings.keys()
    over = [
        f"{family}: {name} {row[name]}, at most {ceilings[family][name]}"
        for family, row in now.items()
        for name in kernel_sizes.COLUMNS
        if row[name] > ceilings[family][name]
    ]
    assert over == []


@pytest.mark.core
def test_ceilings_come_down_with_the_kernels():
    now, ceilings = kernel_sizes.sizes()["all"], json.loads(kernel_sizes.CEILINGS.read_text())["all"]
    assert now["kernels"] == ceilings["kernels"]
    assert now["ptx_bytes"] > 0.85 * ceilings["ptx_bytes"]
