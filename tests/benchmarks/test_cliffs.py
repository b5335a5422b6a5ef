"""The cases that the benchmark ``cliffs`` draws, and its table."""

import math

import pytest

from benchmarks.harness import command
from benchmarks.suite.cliffs import FAMILIES, Cliffs, worst


@pytest.mark.parametrize("name", FAMILIES)
def test_a_case_depends_on_family_seed_and_index_alone(name):
    family = FAMILIES[name]
    drawn = [family.case(7, index) for index in range(30)]
    assert drawn[13] == family.case(7, 13)
    assert len({family.text(case.parts) for case in drawn}) > 25
    assert family.text(drawn[0].parts) != family.text(family.case(8, 0).parts)


@pytest.mark.parametrize("name", ["axes", "positions", "whole"])
def test_arrays_of_a_case_lie_in_the_memory_of_the_pool(name):
    most = 1 << 16
    for index in range(300):
        parts = FAMILIES[name].case(1, index, most).parts
        pairs = zip(parts["shape"], parts["strides"], strict=True)
        assert 1 + sum((n - 1) * stride for n, stride in pairs) <= most
        assert len(parts["axes"]) == len(set(parts["axes"])) <= len(parts["shape"])


def test_extents_are_of_every_kind():
    shapes = [FAMILIES["axes"].case(2, index).parts for index in range(400)]
    extents = [n for parts in shapes for n in parts["shape"]]
    assert extents.count(1) > 20
    assert sum(n > 1 and n & (n - 1) == 0 for n in extents) > 100
    assert sum(n > 2 and n % 2 == 1 for n in extents) > 100
    assert max(math.prod(parts["shape"]) for parts in shapes) > 1 << 24
    assert sum(parts["offset"] > 0 for parts in shapes) > 40
    assert sum(min(parts["strides"]) > 1 or parts["strides"] != sorted(parts["strides"], reverse=True)
               for parts in shapes) > 80  # fmt: skip


def test_the_table_begins_with_the_worst_case_as_a_command():
    us = {"gpureduce": {"median": 3.0}, "torch": {"median": 2.0}}
    rows = [
        {"family": "axes", "number": number, "case": f"case {number}", "us": us, "of_torch": ratio}
        for number, ratio in enumerate((0.5, 1.5, 0.9))
    ]
    assert [row["number"] for row in worst(rows, 2)] == [1, 2]
    head = {"device": "a GPU", "toolkit": "13.0", "driver_cuda": "13.0", "torch": "2", "date": "2026-11-28"}
    text = Cliffs.table({**head, "method": "medians", "seed": 5, "count": 3, "rows": rows})
    assert "| axes | 3 | 0.88 | 1 | 1.50 |" in text
    first = next(line for line in text.splitlines() if "--only" in line)
    assert "--family axes --seed 5 --only 1`" in first
    options = command.parse("cliffs", ["--family", "axes", "--seed", "5", "--only", "1"])
    assert options.only == [1] and options.family == ["axes"]
