"""Operators of DTensors with shards in two processes have the results of tensors without shards."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.tensor.experimental", reason="PyTorch 2.5 has register_sharding")
if not torch.distributed.is_available():
    pytest.skip("needs torch.distributed", allow_module_level=True)

from gpureduce._torch import sharding  # noqa: E402
from tests.interop import shards_of_rank  # noqa: E402
from tests.support.children import outputs  # noqa: E402


def test_two_processes(tmp_path):
    commands = [
        [sys.executable, shards_of_rank.__file__, str(rank), str(tmp_path / "meet")]
        for rank in range(shards_of_rank.SIZE)
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        for command in commands
    ]
    lines = [line for output in outputs(running) for line in output.splitlines()]
    assert [line for line in lines if line == "done"] == ["done"] * shards_of_rank.SIZE, "\n".join(lines)
    assert not [line for line in lines if line[:1].isdigit() or line.startswith("gradient")], "\n".join(lines)


def test_every_operator_has_a_rule():
    """Operators that are not in the table reduce axes, whose parameters their rule reads."""
    for name, operator in sharding._operators.items():
        names = {parameter.name for parameter in operator._schema.arguments}
        if sharding.rule_of(name) is not None and name not in sharding._OTHERS:
            assert {"a", "axis", "keepdims"} <= names, name
    assert set(sharding._OTHERS) <= set(sharding._operators)
