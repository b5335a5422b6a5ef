"""Operators of DTensors with shards in two processes have the results of tensors without shards."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.tensor.experimental", reason="PyTorch 2.5 has register_sharding")
if not torch.distributed.is_available():
    pytest.skip("needs torch.distributed", allow_module_level=True)

from torch import distributed  # noqa: E402
from torch.distributed import tensor  # noqa: E402

import gpureduce  # noqa: E402
import gpureduce.torch as ops  # noqa: E402
from gpureduce._torch import sharding  # noqa: E402
from tests.interop import shards_of_rank  # noqa: E402
from tests.support.children import outputs  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


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


def test_a_compiled_function(tmp_path):
    def function(x):
        return ops.softmax(x - ops.max(x, 1, True)) * ops.sum(x, 1, keepdims=True)

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        mesh = tensor.init_device_mesh("cpu", (1,))
        with gpureduce.device("sim"):
            x = torch.arange(24.0).reshape(4, 6).sin()
            sharded = tensor.distribute_tensor(x, mesh, [tensor.Shard(0)]).requires_grad_()
            result = torch.compile(function, fullgraph=True, backend="aot_eager")(sharded)
            result.sum().backward()
            assert result.placements == (tensor.Shard(0),)
            assert torch.equal(result.to_local(), function(x))
            assert sharded.grad.placements == (tensor.Shard(0),)
    finally:
        distributed.destroy_process_group()


def test_every_operator_has_a_rule():
    """Operators that are not in the table reduce axes, whose parameters their rule reads."""
    for name, operator in sharding._operators.items():
        names = {parameter.name for parameter in operator._schema.arguments}
        if sharding.rule_of(name) is not None and name not in sharding._OTHERS:
            assert {"a", "axis", "keepdims"} <= names, name
    assert set(sharding._OTHERS) <= set(sharding._operators)
