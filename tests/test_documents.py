"""The README and docs/ as a reader meets them: short, without dead ends, and their examples run."""

import re
from pathlib import Path

import pytest

import gpureduce
from gpureduce._device import devices
from gpureduce.bench import chart, front, tables

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("docs/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
SUMS = ("sum", "float32", 0)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not README.exists(), reason="no README beside the tests")


def links(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [match[1] or match[2] for match in LINK.finditer(text)]


def anchors(page):
    """Return the places in a page, as code hosts and the site name them."""
    heads = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_readme_is_short():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    first = "\n".join(lines[:30])
    assert "docs/lanes-dark.svg" in first and "docs/peers-dark.svg" in first
    assert "git clone" in first and "pip install" in first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in links(page):
        name, _, place = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not place or place in anchors(target), link


def test_every_guide_is_found_from_the_readme():
    found, new = set(), {README}
    while new:
        found |= new
        near = {(page.parent / link.partition("#")[0]).resolve() for page in new for link in links(page)}
        new = {page for page in near if page.suffix == ".md" and page.exists()} - found
    assert set(PAGES) <= found
    seen = {(page.parent / link).resolve() for page in found for link in links(page)}
    assert set(ROOT.glob("docs/*.svg")) <= seen


@pytest.mark.parametrize("name", ["README.md", "docs/use.md"])
def test_the_first_example_runs(name, device, monkeypatch, capsys):
    monkeypatch.setattr(devices, "default", devices.resolve(device))
    example = re.search(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)[1]
    names = {}
    exec(example, names)
    assert names["a"].shape == (200, 1000) and names["gpureduce"] is gpureduce
    assert "// v7: warp shuffle." in capsys.readouterr().out


@pytest.mark.parametrize("palette", [chart.LIGHT, chart.DARK], ids=["light", "dark"])
def test_the_chart_has_every_figure(palette):
    record = tables.load("peers_h200.json")
    drawn = front.peers_svg(record, palette)
    for (peer, name), colour in zip(front.PEERS.items(), palette.series, strict=False):
        rows = [row for row in record["rows"] if (row["op"], row["dtype"], row["offset"]) == SUMS]
        times = [
            row["us"][peer]["median"] / row["us"]["gpureduce"]["median"] for row in rows if peer in row["us"]
        ]
        points = re.findall(rf'<circle cx="[\d.]+" cy="([\d.]+)" r="3" fill="{colour}"/>', drawn)
        heights = {label: float(y) for y, label in re.findall(r'y="([\d.]+)"[^>]*>(\d)x<', drawn)}
        doubling = heights["1"] - heights["2"]
        seen = [2 ** ((heights["1"] - 4 - float(y)) / doubling) for y in points]
        assert f">{name}<" in drawn and seen == pytest.approx(times, rel=0.01) and len(seen) >= 5


@pytest.mark.parametrize("palette", [chart.LIGHT, chart.DARK], ids=["light", "dark"])
def test_the_picture_of_the_threads(palette):
    """Threads that work, and those in conflict, are as many as the simulator saw."""
    seen = {name: gpureduce.profile(256, name, block_size=64).timeline() for name in front.SHOWN}
    drawn = front.lanes_svg(seen, palette)
    assert drawn == front.lanes(palette)
    step = (front.WIDTH - 24 * 3) / 4 / 64
    for kind, colour in enumerate(palette.lanes[:3]):
        widths = re.findall(rf'width="([\d.]+)" height="11.0" fill="{colour}"', drawn)
        wanted = sum((each.kinds == kind).sum() for each in seen.values())
        assert sum(map(float, widths)) / step == pytest.approx(wanted, rel=0.01) and wanted > 0
