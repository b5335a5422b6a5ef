"""Two kernels' sources side by side."""

import re

import pytest

import gpureduce
from gpureduce._profiles import diff
from gpureduce._profiles.text import Row


@pytest.fixture(scope="module")
def compared():
    return gpureduce.profile(4096, "v1").compare(gpureduce.profile(4096, "v2"))


def rows(text):
    return [Row(None, number, line, False) for number, line in enumerate(text.split("\n"), 1)]


def numbers(pairs):
    return [(pair.left and pair.left.number, pair.right and pair.right.number) for pair in pairs]


def test_lines_are_aligned():
    left = rows("int a;\nfor (i = 0; i < n; i++)\n    sum += x[i];\nreturn sum;")
    right = rows(
        "int a;\nfor (i = n / 2; i > 0; i /= 2)\n__syncthreads();\n  sum += x[i];\nreturn sum;\n// end"
    )
    pairs = diff.align(left, right)
    assert numbers(pairs) == [(1, 1), (2, 2), (None, 3), (3, 4), (4, 5), (None, 6)]
    assert [pair.same for pair in pairs] == [True, False, False, True, True, False]
    assert numbers(diff.align(right, left)) == [pair[::-1] for pair in numbers(pairs)]


def test_lines_that_have_nothing_in_common_are_no_pair():
    pairs = diff.align(rows("int a;\nx += 1;\nend"), rows("int a;\n__syncthreads();\nend"))
    assert numbers(pairs) == [(1, 1), (2, None), (None, 2), (3, 3)]
    assert numbers(diff.align([], rows("a"))) == [(None, 1)]


def test_what_changed_in_a_line():
    left, right = diff.changes("slots[left] = slots[left + s];", "slots[t] = slots[t + s];")
    assert [text for text, alone in left if alone] == ["left", "left"]
    assert [text for text, alone in right if alone] == ["t", "t"]
    assert "".join(text for text, _ in left) == "slots[left] = slots[left + s];"


def test_both_sources_are_there_with_their_counters(compared):
    text = str(compared.sources())
    lines = text.splitlines()
    for name, mark, side in (("v1", "+", compared.left), ("v2", "-", compared.right)):
        # Without what the other one has alone each source is there line by line, but for the comment above.
        shown = [line[66:] for line in lines[5:-2] if line[65:66] != mark]
        source = gpureduce.source(name).splitlines()
        assert [line.strip() for line in shown] == [line.strip() for line in source[-len(shown) :]]
        assert source[-len(shown) - 1].startswith("//")
        for line in side.lines():
            assert f"{line.counts.warp_instructions:,}" in text
    head = next(line for line in lines if "warp instr." in line)
    assert (
        head.split(" | ")[0].split()
        == head.split(" | ")[1].split()
        == ["warp", "instr.", "shared", "conflicts"]
    )
    (worst,) = (line for line in lines if "1,785" in line)
    assert "slots[left]" in worst and worst[65] == "-"
    (same,) = (line for line in lines if "x = Op::combine(x, in[i])" in line)
    assert same[65] == " " and same.count("516") == 2


def test_lines_fit_a_terminal(compared):
    shown = compared.sources()
    lines = shown.text(80).splitlines()
    assert max(map(len, lines)) == 80 and any(line.endswith("…") for line in lines)
    assert len(lines) == len(str(shown).splitlines())


def test_html_marks_what_changed(compared):
    page = compared.sources()._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") == 1 + len(compared.sources().pairs)
    assert page.count("1,785") == 1 and "conflicts" in page
    assert re.search(r"slots\[<span[^>]*>left</span>\]", page) and re.search(
        r"slots\[<span[^>]*>t</span>\]", page
    )
    assert (
        "Op::identity" in page
        and "<span" not in re.search(r"<td[^>]*>[^<]*Op::identity\(\).*?</td>", page)[0]
    )


def test_kernels_of_ones_own_are_compared_as_ptx():
    head = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<3>;\n"
    found = [
        gpureduce.simulate(f"{head}mov.u32 %r1, %tid.x;\n{more}ret;\n}}\n", "k", 1, 32)
        for more in ("", "add.u32 %r2, %r1, 1;\n")
    ]
    text = str(found[0].compare(found[1]).sources())
    assert re.search(r"^\s+\|\s+1\s+\+ add\.u32", text, re.MULTILINE) and "left" in text and "right" in text
