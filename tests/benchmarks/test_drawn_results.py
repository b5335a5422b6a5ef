"""The committed times of drawn cases hold what the page on them says."""

import statistics

import pytest

from benchmarks.report import documents, drawn, drawn_reasons
from benchmarks.suite.cliffs import BOUND, FAMILIES, worst

# Geometric means of PyTorch's time, at most.
MEANS = {
    "axes": 0.49,
    "positions": 0.60,
    "whole": 0.47,
    "scans": 0.13,
    "order": 0.13,
    "segments": 0.62,
    "groups": 0.37,
    "exact": 0.94,
    "products, float32": 0.63,
    "products, TF32": 0.63,
    "products, float16": 0.79,
    "products, bfloat16": 0.65,
    "products, float64": 0.73,
    "convolutions, float32": 0.57,
    "convolutions, TF32": 0.54,
    "convolutions, float16": 0.55,
}
MISSED = ()  # targets
ABOVE = {BOUND: 105, drawn.HIGH: 32}  # cases above a ratio, at most
SLOWER = 136  # cases that take longer than before, at most
LARGEST = 2.87  # ratio, at most


@pytest.fixture(scope="module")
def cases():
    return drawn.cases(*documents.drawn_records())


def test_every_family_has_as_many_cases(cases):
    now, before = documents.drawn_records()
    for record in (*now, *before):
        assert [(row["family"], row["number"]) for row in record["rows"]] == [
            (family, number) for family in FAMILIES for number in range(40)
        ]
        assert record["device"] == "NVIDIA H200"
    assert sum(len(drawn.of_kind(kind, cases)) for kind in drawn.KINDS) == len(cases) == 1200


def test_texts_are_those_of_the_cases_that_are_drawn(cases):
    """So that the options in the tables measure the same cases again."""
    for each in cases:
        text = FAMILIES[each.now["family"]].text(each.parts)
        assert text == each.now["case"] == each.before["case"]


@pytest.mark.parametrize("kind", drawn.KINDS, ids=lambda kind: kind.name)
def test_geometric_means(kind, cases):
    mean = statistics.geometric_mean(each.now["of_torch"] for each in drawn.of_kind(kind, cases))
    assert mean <= MEANS[kind.name]
    if kind.target is not None:
        assert (MEANS[kind.name] > kind.target) == (kind.name in MISSED)


def test_few_cases_are_slow(cases):
    for bound, most in ABOVE.items():
        assert sum(each.now["of_torch"] > bound for each in cases) <= most
    assert sum(each.is_slower for each in cases) <= SLOWER
    assert max(each.now["of_torch"] for each in cases) <= LARGEST


def test_the_slowest_cases_have_reasons():
    """Rules apply in their order; the last one of a family applies to all of its cases."""
    last = {reason.family: reason for reason in drawn_reasons.REASONS}
    assert last.keys() == FAMILIES.keys() and all(reason.applies({}, 0.0) for reason in last.values())
    now, before = documents.drawn_records()
    for record, old in zip(now, before, strict=True):
        lines = drawn.worst_table(record, old).splitlines()[2:]
        assert len(lines) == len(worst(record["rows"])) == 20
        assert not any("cause not found" in line for line in lines)
