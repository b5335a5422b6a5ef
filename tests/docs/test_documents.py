"""The README and docs/ as a reader meets them: short, without dead ends, and their examples run."""

import os
import re
from pathlib import Path

import pytest

import gpureduce
from benchmarks.harness.libraries import LABELS
from benchmarks.harness.results import load
from benchmarks.report import readme_charts as front
from benchmarks.report import svg as chart

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted(ROOT.glob("docs/*/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
SUMS = ("sum", "float32", 0)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not README.exists(), reason="no README next to the tests")


def links(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [match[1] or match[2] for match in LINK.finditer(text)]


def anchors(page):
    """Return the places in a page, as code hosts and the site name them."""
    heads = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_readme_begins_with_an_example():
    """An example with its output, then a picture and how to install, on the first screen."""
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    example = "\n".join(lines[:25])
    assert EXAMPLE.search(f"{example}\n")["output"]
    first = "\n".join(lines[:60])
    assert "<picture>" in first and "git clone" in first and "pip install" in first


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
    assert set(ROOT.glob("docs/images/*.svg")) <= seen


# Python in a page: what it needs, if the simulator is not enough, and what it prints, if the page shows it.
EXAMPLE = re.compile(
    r"^(?:<!-- (?:needs: (?P<needs>[a-z0-9 ]+)|not run: needs (?P<reason>[^>]+)) -->\n)?"
    r"```python\n(?P<code>.*?)^```$"
    r"(?:\n+<!-- output -->\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
NEEDS = {"gpu", "gpus", "torch", "cupy", "jax", "mpi4py", "network", "file"}
ELSEWHERE = ("write-a-rung", "xarray")  # in tests of their own
EXTRAS = {
    "profile-and-debug-a-kernel": "cuda.pathfinder",
    "custom-reductions": "cuda.pathfinder",
}
SHORTER = {
    "bench(n=2**25)": 'bench(n=2**12, variants=["v0", "v7"])',
    'bench(ops="matmul")': 'bench(n=64, variants="m3")',
}
RUNS = [
    page for page in PAGES
    if page.exists() and page.stem not in ELSEWHERE and EXAMPLE.search(page.read_text("utf-8"))
]  # fmt: skip


@pytest.mark.parametrize("page", RUNS, ids=lambda page: page.name)
def test_examples_of_a_page_run(page, monkeypatch, tmp_path, capsys):
    """One after the other, each with the names of those before; they print what the page shows."""
    if page.stem in EXTRAS:
        pytest.importorskip(EXTRAS[page.stem])
    text = page.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", os.environ.get("GPUREDUCE_TEST_KERNELS") or str(tmp_path))
    shared = "template <class T> __global__ void", "__global__ void"
    kernel = re.search(
        r"```cuda\n(.*?)```", (ROOT / "docs/tutorials/write-a-rung.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "mine.cu").write_text("typedef float T;\n" + kernel[1].replace(*shared), "utf-8")
    names = {"__name__": "example"}
    for example in EXAMPLE.finditer(text):
        if example["needs"] is not None:
            assert set(example["needs"].split()) <= NEEDS, example["needs"]
            continue
        if example["reason"] is not None:
            assert re.search("GPU|PyTorch|mpi4py|file|data set", example["reason"])
            continue
        code = example["code"]
        for long, short in SHORTER.items():
            code = code.replace(long, short)
        lines = "\n" * text.count("\n", 0, example.start("code"))  # errors name the line of the page
        with gpureduce.device("sim"):
            capsys.readouterr()
            exec(compile(lines + code, str(page), "exec"), names)
        if example["output"] is not None:
            printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
            assert printed == example["output"].splitlines()


@pytest.mark.parametrize("palette", [chart.LIGHT, chart.DARK], ids=["light", "dark"])
def test_the_chart_has_every_figure(palette):
    record = load("peers_h200.json")
    drawn = front.peers_svg(record, palette)
    for peer, colour in zip(front.PEERS, palette.series, strict=False):
        name = LABELS[peer]
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
    """Threads that work, and those in conflict, are those that the simulator counted."""
    seen = {name: gpureduce.profile(256, name, block_size=64).timeline() for name in front.SHOWN}
    drawn = front.lanes_svg(seen, palette)
    assert drawn == front.lanes(palette)
    step = (front.WIDTH - 24 * 3) / 4 / 64
    for kind, colour in enumerate(palette.lanes[:3]):
        widths = re.findall(rf'width="([\d.]+)" height="11.0" fill="{colour}"', drawn)
        wanted = sum((each.kinds == kind).sum() for each in seen.values())
        assert sum(map(float, widths)) / step == pytest.approx(wanted, rel=0.01) and wanted > 0


def test_the_code_that_the_glossary_names_is_there():
    """Each file exists, and holds the name that the entry gives next to it."""
    text = (ROOT / "docs/reference/glossary.md").read_text()
    named = re.findall(r"`((?:csrc|cuda_kernels)/[\w./]+)`(?::\s+`(\w+)`)?", text)
    assert len(named) > 20
    for path, name in named:
        file = ROOT / path
        assert file.is_file(), path
        assert not name or re.search(rf"\b{name}\b", file.read_text()), (path, name)
