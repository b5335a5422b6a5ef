"""The page of published lessons: commands parse, figures stand in results or follow from each other."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce.__main__ import _parser

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorials/published.md"
RESULTS = ROOT / "benchmarks/results"
TEXTS = "HABCDE"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs next to the tests")


def text():
    return PAGE.read_text(encoding="utf-8")


def rows(heading):
    """Return the cells of the first table behind a heading, without its head."""
    table = re.search(r"(?:^\|.*\n)+", text().split(f"{heading}\n", 1)[1], re.MULTILINE)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [cells[0], *cells[2:]]


def results(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def test_every_text_has_rows_whose_commands_and_names_are_there():
    found = rows("## Where to find what")[1:]
    assert [len(row) for row in found] == [4] * len(found)
    assert {row[0] for row in found} == set(TEXTS) and len(found) >= 35
    commands = [code for row in found for code in re.findall(r"`(gpureduce [^`]*)`", row[3])]
    assert len(commands) > 25
    for command in commands:
        words = shlex.split(command)[1:]
        if words != ["run", "--races=global"]:  # of a program of the reader's
            _parser().parse_args(words)
    ladders = {
        variant.name for ladder in ("reduction", "matmul", "conv") for variant in gpureduce.variants(ladder)
    }
    named = {code for row in found for code in re.findall(r"`([vmc]\d+(?:_\w+)?)`", row[2])}
    assert named and named <= ladders


def test_the_sections_that_rows_link_to_are_there():
    headings = re.findall(r"^#+ (.*)$", text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]*)\)", text()))
    assert len(links) >= 8 and links <= anchors


def test_the_rates_of_the_slides_follow_from_their_times():
    _, times, rates = rows("### Harris's column")
    for ms, gb in zip(map(float, times[1:]), map(float, rates[1:]), strict=True):
        assert 4 * 2**22 / ms / 1e6 == pytest.approx(gb, rel=0.002)


def test_shares_and_times_stand_in_the_results():
    _, theirs, names, shares, times = rows("### Bandwidth, step by step")
    assert [int(share) for share in theirs[1:]] == [4, 8, 16, 25, 40, 60]
    record = results("techniques_h200.json")
    us = {row["variant"]: row["all_passes_us"]["median"] for row in record["rows"]}
    for name, share, time in zip(names[1:], shares[1:], times[1:], strict=True):
        here = us[name.strip("`")]
        assert f"{here:.1f}" == time
        assert f"{100 * 4 * 2**24 / here / 1e3 / record['read_gb_per_s']:.1f}" == share
    assert "166.7, 81.3 and 21.8 us on an H200, 7.6 times as fast" in text()
    assert [f"{us[name]:.1f}" for name in ("v0", "v2", "v7")] == ["166.7", "81.3", "21.8"]
    assert f"{us['v0'] / us['v7']:.1f}" == "7.6"


def test_published_times_stand_in_their_files():
    found = "\n".join(" ".join(row) for row in rows("## Where to find what"))
    products = results("published_matmul.json")
    assert (products["rows"][0]["ms"], products["rows"][-1]["ms"]) == (5.2, 0.62)
    assert "5.2 to 0.62 ms" in found and "640 ms" in found and "640 ms" in products["method"]
    assert [row["ms"] for row in results("published_conv.json")["rows"]] == [1.2, 0.6]
    assert "1.2 and 0.6 ms" in found
    m9 = next(
        row for row in results("matmul_h200.json")["rows"]
        if (row["variant"], row["m"], row["n"], row["k"]) == ("m9", 2048, 2048, 1024)
    )  # fmt: skip
    assert f"{m9['us']['median']:.1f} us" in found
    times = [row["first_pass_us"] for row in results("published_a100.json")["rows"]]
    assert (times[0], times[-1]) == (990.66, 99.71) and "990.66 us to 99.71 us" in found


def test_identities_are_those_of_the_operators():
    """Functions with an identity have it as their result for no elements."""
    for row in rows("### Operators and identities")[1:]:
        for name in row[0].split(", "):
            assert callable(getattr(gpureduce, name))
    none = np.array([], np.int32)
    identities = {"sum": 0, "count_nonzero": 0, "prod": 1, "all": True, "any": False}
    identities |= {"bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0}
    for name, identity in identities.items():
        assert getattr(gpureduce, name)(none, device="sim") == identity
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match="has no identity"):
            getattr(gpureduce, name)(none, device="sim")


def test_latencies_and_rates_stand_in_the_results():
    record = results("memory_levels_h200.json")
    cycles, rates = record["latency_cycles"], record["gb_per_s"]
    for name, latency, rate in rows("### Shared memory")[1:]:
        assert float(latency) == cycles[name.lower()]
        assert rate == (f"{rates[name]:,}" if name in rates else "")
    lower, higher = cycles["device"] / cycles["shared"], rates["shared"] / rates["device"]
    said = " ".join(text().split())
    assert f"{lower:.1f} times lower latency and {higher:.1f} times the bandwidth" in said
    *times, last = (f"{row['time']:.2f}" for row in record["rows"][1:])
    assert f"{', '.join(times)} or {last} times as long" in said
