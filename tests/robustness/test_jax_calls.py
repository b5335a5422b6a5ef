"""Calls for XLA with any operands, results and attributes: planned, or refused by an exception."""

import random

import numpy as np
import pytest

from gpureduce import _core

TARGETS = {
    name.split("_")[1]: counts
    for (name, _, _), counts in zip(
        _core.jax_targets(), ((1, 1), (2, 1), (1, 1), (1, 2), (1, 1)), strict=True
    )
}
DTYPES = ("float32", "float64", "int32", "int64", "bool", "uint64", "float16", "complex64", "none")
EXTENTS = (0, 1, 2, 7, 128, 129, 4097, 1 << 20, 1 << 31, 1 << 40, 1 << 62)
NAMES = (
    *("op", "exact", "parameter", "whole", "k", "largest", "ranks"),
    *("mean", "lower", "upper", "weight", "rest", "more"),
)
# Attributes of calls that are right.
RIGHT = {
    "reduce": {"op": "sum", "exact": np.array([0]), "parameter": np.array([0]), "whole": np.array([0])},
    "groups": {"op": "mean"},
    "scan": {"op": "prod"},
    "topk": {"k": np.array([2]), "largest": np.array([1])},
    "quantiles": {
        "ranks": np.array([0, 1]),
        "mean": np.array([1]),
        "lower": np.zeros(1, np.uint8),
        "upper": np.ones(1, np.uint8),
        "weight": np.zeros(1),
        "rest": np.ones(1),
    },
}


def value(rng):
    kinds = (np.int64, np.uint8, np.float64, np.float32)
    texts = ("sum", "mean", "var", "argmax", "logsumexp", "dot", "moments", "x" * 300, "")
    numbers = np.array([rng.choice((0, 1, 2, 300)) for _ in range(rng.choice((0, 1, 2, 8, 17)))])
    return rng.choice((rng.choice(texts), numbers.astype(rng.choice(kinds)), None, 1.5))


def array(rng):
    return rng.choice(DTYPES), tuple(rng.choice(EXTENTS) for _ in range(rng.choice((0, 1, 2, 3, 3, 4))))


def likely(target, operand, rng):
    """The result of a call that is right, if the shape is."""
    dtype, shape = operand
    shapes = {
        "reduce": (shape[0], shape[-1]),
        "groups": (shape[0], rng.choice(EXTENTS), shape[-1]),
        "scan": shape,
        "topk": (shape[0], 2),
        "quantiles": (1, shape[0]),
    }
    return rng.choice((dtype, "int64", "float64")), shapes[target]


@pytest.mark.parametrize("target", TARGETS)
def test_any_call(target):
    rng = random.Random(target)
    operands, results = TARGETS[target]
    planned = 0
    for _ in range(1500):
        attributes = RIGHT[target] | {
            name: value(rng) for name in rng.sample(NAMES, rng.choice((0, 0, 1, 3)))
        }
        given = tuple(array(rng) for _ in range(operands))
        outputs = tuple(array(rng) for _ in range(results))
        if given[0][1] and rng.random() < 0.8:
            outputs = (likely(target, given[0], rng), *outputs[1:])
        try:
            planned += _core.jax_workspace(target, _core.SIM, 0, given, outputs, attributes) >= 0
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            assert str(error)
    if target in ("reduce", "scan", "quantiles"):
        assert planned


def test_names_and_counts():
    with pytest.raises(ValueError, match="target: unknown target 'none'"):
        _core.jax_workspace("none", _core.SIM, 0, (), (), {})
    with pytest.raises(ValueError, match="operands: expected 1 arrays"):
        _core.jax_workspace("reduce", _core.SIM, 0, (), (), {})
    with pytest.raises(ValueError, match="attributes: expected a dict of up to 8"):
        wrong = {str(i): np.array([i]) for i in range(9)}
        shapes = (("float32", (1, 2, 1)),), (("float32", (1, 1)),)
        _core.jax_workspace("reduce", _core.SIM, 0, *shapes, wrong)
