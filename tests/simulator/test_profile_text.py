"""Profiles as texts, tables, pictures and timelines."""

import base64
import io
import re

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles.palette import DARK, LIGHT
from gpureduce._profiles.timeline import KINDS

VARIANTS = [variant.name for variant in gpureduce.variants("reduction") if "sim" in variant.backends]
N = 2**14


@pytest.mark.parametrize("variant", VARIANTS)
def test_annotations_hold_the_source_and_its_counters(variant):
    found = gpureduce.profile(3000, variant)
    text = found.annotate()
    for line in gpureduce.source(variant).splitlines():
        assert line in text
    assert f"{found.lines()[0].counts.warp_instructions:,}" in text
    ptx = found.annotate(ptx=True)
    assert ("ret;" in ptx and "st.global" in ptx) or variant == "atomic"
    for name in found.files():
        assert name in found.annotate(name)


def test_annotations_fit_a_terminal():
    found = gpureduce.profile(2**18, "v1")
    (wide,) = [line for line in found.annotate(width=180).splitlines() if "slots[left + stride]" in line]
    assert wide in found.annotate()
    line = found.lines()[-1]
    listing = found.annotate(width=100).splitlines()
    assert max(map(len, listing[4:40])) <= 100
    (brief,) = [each for each in listing if f"{line.number:4} | " in each]
    for counted in (line.counts.warp_instructions, line.counts.global_sectors):
        text = f"{counted:,}"
        assert text.count(",") == 1 and f"{text.replace(',', '.')[:4].rstrip('.')}k" in brief
    assert line.text.strip()[:10] in brief and any(each.endswith("…") for each in listing)


def test_instructions_as_predicated_are_asked_for():
    found = gpureduce.profile(3000, "v2")
    assert "predicated" not in found.annotate() and "predicated" not in found._repr_html_()
    text = found.annotate(predicated=True)
    head = next(line for line in text.splitlines() if "cuda_kernels/" in line)
    assert head.split("  ")[:2] == ["warp instr.", "predicated"] and "as in ptxas" in text
    assert f"{found.lines()[-1].counts.warp_instructions_predicated:,}" in text


def test_heat_is_of_each_column():
    """In v1 the line of the conflicts glows, and the `for` in the column of instructions alone."""
    found = gpureduce.profile(4096, "v1")
    rows = re.findall("<tr>(.*?)</tr>", found._repr_html_().replace("&nbsp;", " "))
    head = re.findall("<th[^>]*>(.*?)</th>", rows[0])

    def heats(words):
        (row,) = (row for row in rows if words in row)
        cells = re.findall(r'<td(?: align="right")?(?: style="([^"]*)")?(?: title="[^"]*")?>', row)
        shades = [re.search(r"rgba\(.*,([\d.]+)\)", style) for style in cells]
        return {name: float(shade[1]) if shade else 0 for name, shade in zip(head, shades, strict=True)}

    loop, conflicts = heats("for (unsigned stride"), heats("slots[left] = ")
    assert loop["warp instr."] == conflicts["conflicts"] == conflicts["shared / ideal"] == 0.7
    assert 0 < conflicts["warp instr."] < 0.7 and loop["conflicts"] == 0
    assert conflicts["CUDA C++"] == 0.7 and loop["CUDA C++"] == 0
    assert found.file in found._repr_html_()
    assert heats("x = Op::combine(x, in[i])")["sectors / ideal"] == 0.7
    naive = gpureduce.profile((64, 64, 32), "m0", races=False)._repr_html_()
    (row,) = (row for row in re.findall("<tr>(.*?)</tr>", naive) if "0.70" in "".join(row.split("<td")[2:3]))
    assert "a[row * k + i]" in row or "multiply_add" in row  # where sectors are fetched in vain


def test_what_is_inlined_counts_for_the_line_that_calls_it():
    """The tree of v6 stands in a header; its barriers belong to the one line that calls it."""
    found = gpureduce.profile(N, "v6")
    (line,) = (line for line in found.lines() if "unrolled_tree" in line.text)
    assert line.counts.barriers == found.totals.barriers > 0
    in_header = found.lines("unrolled_tree.cuh")
    assert sum(each.counts.barriers for each in in_header) == found.totals.barriers
    assert len([each for each in in_header if each.counts.barriers]) > 2


def test_html(tmp_path):
    found = gpureduce.profile(4096, "v4_published")
    page = found._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") == 1 + len(gpureduce.source("v4_published").splitlines())
    assert "&lt;cstdint&gt;" in page and "__syncwarp is missing" in page
    assert "v2" in found.compare(gpureduce.profile(4096, "v2"))._repr_html_()


def test_both_sides_of_a_comparison_have_names():
    small, large = (gpureduce.profile(n, "v1") for n in (100, 4096))
    mine = gpureduce.simulate("__global__ void mine() {}", "mine", 1, 32, [])
    assert small.compare(large).names == ("v1, left", "v1, right")
    assert small.compare(mine).names == ("v1", "mine")
    named = small.compare(large, names=("100 elements", "4,096 elements"))
    for shown in (str(named), str(named.sources()), named._repr_html_(), named.sources()._repr_html_()):
        assert "100 elements" in shown and "4,096 elements" in shown
    with pytest.raises(TypeError, match="names: expected two strings"):
        small.compare(large, names="ab")
    with pytest.raises(ValueError, match="names: expected two strings, got 3"):
        small.compare(large, names=("a", "b", "c"))


def test_a_timeline_is_a_picture_that_any_notebook_shows():
    image = pytest.importorskip("PIL.Image")
    timeline = gpureduce.profile(4096, "v1").timeline()
    page = timeline._repr_html_()
    encoded = re.search(r'<img [^>]*src="data:image/png;base64,([^"]+)"', page)[1]
    picture = image.open(io.BytesIO(base64.b64decode(encoded)))
    rounds, threads = timeline.states.shape
    assert picture.size == (4 * threads, 14 * rounds)
    pixels = np.asarray(picture.convert("RGBA"))[6::14, 2::4, :3]
    assert set(timeline.kinds.ravel()) == {0, 1, 2, 3, 4}  # idle, at work, conflicts of 2, 4 and 8 ways
    for kind, colour in enumerate(LIGHT.lanes[1:], 1):
        seen = (pixels == list(bytes.fromhex(colour[1:]))).all(axis=2)
        assert np.array_equal(seen, timeline.kinds == kind)
    assert "8-way bank conflict" in page and "16-way" not in page


def test_comparison():
    left, right = gpureduce.profile(N, "v1"), gpureduce.profile(N, "v2")
    rows = {name: (a, b) for name, a, b in left.compare(right).rows()}
    assert rows["bank conflicts"] == (left.totals.bank_conflicts, 0)
    assert rows["barriers"] == (left.totals.barriers, right.totals.barriers)
    assert "0x" in str(left.compare(right))
    with pytest.raises(TypeError, match="other: expected Profile"):
        left.compare(3)


def test_timeline():
    found = gpureduce.profile(N, "v1")
    first, last = found.timeline(), found.timeline(block=N // 256 - 1)
    assert first.block == 0 and last.block == N // 256 - 1
    assert (first.states == last.states).all()
    assert first.active.sum(axis=1).tolist() == [256, 128, 64, 32, 16, 8, 4, 2, 1, 1]
    assert first.conflict.sum(axis=1).tolist() == [0, 128, 64, 32, 16, 8, 4, 2, 0, 0]
    assert first.ways.max(axis=1).tolist() == [0, 2, 4, 8, 8, 8, 4, 2, 0, 0]
    assert first.kinds.max(axis=1).tolist() == [1, 2, 3, 4, 4, 4, 3, 2, 1, 1]
    assert "round    1 |" + "2" * 32 + "." * 32 + "|" in str(first)
    assert "round    3 |" + "8" * 8 + "." * 56 + "|" in str(first)
    assert first.text(width=256).splitlines()[-1].count(".") == 255
    assert found.timeline(kernel=1).states.shape == (10, 256)
    with pytest.raises(ValueError, match=r"block: expected 0 to 63, got 64"):
        found.timeline(64)
    with pytest.raises(ValueError, match=r"kernel: expected 0 to 1, got 2"):
        found.timeline(kernel=2)
    with pytest.raises(ValueError, match="width"):
        first.text(0)


def test_who_begins_a_copy_is_at_work():
    """In v12 the first thread alone asks for pieces of the array before the first barrier."""
    first = gpureduce.profile(2**13, "v12", block_size=64, grid_size=2, races=False).timeline().active[0]
    assert first.sum() == 1


def test_timeline_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    timeline = gpureduce.profile(4096, "v1").timeline()
    for dark, palette in ((False, LIGHT), (True, DARK)):
        mesh = timeline.plot(dark=dark).collections[0]
        colours = mesh.cmap(mesh.norm(np.arange(len(KINDS))))
        assert [matplotlib.colors.to_hex(each) for each in colours] == list(palette.lanes)
        assert np.array_equal(mesh.get_array().reshape(timeline.kinds.shape), timeline.kinds)
