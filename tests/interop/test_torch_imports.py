"""What gpureduce.torch registers when a program imports modules of PyTorch, in a fresh interpreter."""

import pytest

pytest.importorskip("torch", minversion="2.5")

from tests.support.children import python

CODE = """
import importlib.util, sys
import gpureduce.torch
from gpureduce._torch import sharding
assert importlib.util.find_spec("torch.utils.flop_counter") is not None
from torch.utils.flop_counter import flop_registry
import torch, inspect, torch.distributed.tensor
assert torch.ops.gpureduce.matmul in flop_registry and torch.ops.gpureduce.conv2d in flop_registry
assert sharding.registered == torch.distributed.is_available()
for name in ("torch.utils.flop_counter", "torch.distributed.tensor"):
    assert inspect.getsource(sys.modules[name])
    assert "when_imported" not in repr(sys.modules[name].__spec__)
assert not [finder for finder in sys.meta_path if "when_imported" in type(finder).__module__]
"""


def test_modules_that_are_imported_later():
    done = python(CODE)
    assert done.returncode == 0, done.stderr
