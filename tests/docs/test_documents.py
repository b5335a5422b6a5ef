"""The README and docs/ as a reader meets them: short, without dead ends, and their examples run."""

import html
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

import gpureduce
from benchmarks.harness.libraries import LABELS
from benchmarks.harness.results import load, load_matmul
from benchmarks.report import exact_figure, figures, matmul
from benchmarks.report import readme_charts as front
from benchmarks.report import svg as chart
from gpureduce.__main__ import _parser
from tests.support import pages

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = pages.PAGES
GUIDES = [page for page in PAGES if page.parent.name in ("tutorials", "how-to")]
TOOLS = ("pytest", "venv", "pip")
SCRIPTS = ()
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
    assert len(lines) <= 136  # the list of pages is complete
    code, output = pages.blocks("\n".join(lines[:25]) + "\n")[:2]
    assert code.language == "python" and output.is_output
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


ELSEWHERE = ("write-a-rung",)  # in a test of its own
SHORTER = {
    'bench(ops="matmul")': 'bench(n=64, variants="m3")',
}
RUNS = [
    page for page in PAGES
    if page.exists() and page.stem not in ELSEWHERE and "```python\n" in page.read_text("utf-8")
]  # fmt: skip


@pytest.fixture
def folder_of_examples(monkeypatch, tmp_path):
    """An empty folder in which the code of a page runs; the default device is reset afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", os.environ.get("GPUREDUCE_TEST_KERNELS") or str(tmp_path))
    named = os.environ.get("GPUREDUCE_DEVICE")
    yield
    gpureduce.set_default_device(None)  # pages set it, and the variable
    os.environ.pop("GPUREDUCE_DEVICE", None)
    if named is not None:
        os.environ["GPUREDUCE_DEVICE"] = named


@pytest.mark.parametrize("page", RUNS, ids=lambda page: page.name)
def test_examples_of_a_page_run(page, device, folder_of_examples):
    """One after the other, each with the names of those before, and they print what the page says."""
    found = pages.blocks(page.read_text("utf-8"))
    if missing := pages.lacking(found):
        pytest.skip(f"needs {missing}")
    names, printed = {"__name__": "example"}, None
    for block in found:
        if block.is_output:
            assert block.language == "text"
            same = printed is None or pages.is_same(block.code, printed)
            assert same, f"line {block.line}: prints {printed}"
        printed = None
        if block.language != "python" or not pages.runs(block, device):
            continue
        for long, short in SHORTER.items():
            block = block._replace(code=block.code.replace(long, short))
        with gpureduce.device(device if "gpu" in block.needs else "sim"):
            printed = pages.run(block, page, names)


def test_an_output_that_differs_is_seen():
    text = "```python\nx = 1 + 1\nprint(x)\n```\n<!-- output -->\n```text\n2\n```\n"
    code, output = pages.blocks(text)
    assert output.is_output and output.line == 7
    assert pages.is_same(output.code, pages.run(code, "page", {}))
    assert not pages.is_same(output.code, pages.run(code._replace(code="print(3)\n"), "page", {}))
    assert pages.is_same("a\n...\nb", "a\n1\n2\nb\n") and not pages.is_same("a\n...\nb", "a\n1\n2\n")


@pytest.mark.parametrize("code", ["x = 1 + 1  # -> {}", "1 + 1  # -> {}", "print(1 + 1)  # -> {}"])
def test_a_value_that_differs_is_seen(code):
    pages.run(pages.Block("python", code.format(2), 1), "page", {})
    with pytest.raises(AssertionError, match="page:1: says 3"):
        pages.run(pages.Block("python", code.format(3), 1), "page", {})


def test_a_block_runs_where_its_needs_are_there():
    (block,) = pages.blocks("<!-- needs: gpu torch -->\n```python\n```\n")
    assert block.needs == ("gpu", "torch") and not pages.runs(block, "sim")
    assert pages.runs(block._replace(needs=()), "sim")
    assert not pages.runs(block._replace(needs=("network",)), "sim")
    with pytest.raises(ValueError, match="needs: luck"):
        pages.blocks("<!-- needs: luck -->\n```python\n```\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_are_there(page):
    """The parser takes those of gpureduce; scripts and modules exist."""
    for command, *arguments in pages.commands(page.read_text("utf-8")):
        if command == "gpureduce":
            _parser().parse_args(arguments)
        elif command.rpartition("/")[2] in ("python", "python3") and arguments[0] == "-m":
            assert arguments[1] in TOOLS or importlib.util.find_spec(arguments[1]), arguments
        elif command.rpartition("/")[2] in ("python", "python3") and arguments[0].endswith(".py"):
            assert arguments[0] in SCRIPTS or (ROOT / arguments[0]).exists(), arguments


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_a_guide_begins_with_code(page):
    """Of a tutorial or how-to guide, within the first screen."""
    found = pages.blocks(page.read_text("utf-8"))
    lines = [block.line for block in found if block.language in ("python", "bash")]
    assert lines and lines[0] <= 25


@pytest.mark.parametrize("palette", [chart.LIGHT, chart.DARK], ids=["light", "dark"])
def test_the_chart_has_every_figure(palette):
    record = load("peers_h200.json")
    drawn = front.peers_svg(record, palette)
    for peer in front.PEERS:
        name, colour = LABELS[peer], palette.libraries[peer]
        rows = [row for row in record["rows"] if (row["op"], row["dtype"], row["offset"]) == SUMS]
        times = [
            row["us"][peer]["median"] / row["us"]["gpureduce"]["median"] for row in rows if peer in row["us"]
        ]
        points = re.findall(rf'<circle cx="[\d.]+" cy="([\d.]+)" r="3" fill="{colour}"/>', drawn)
        heights = {label: float(y) for y, label in re.findall(r'y="([\d.]+)"[^>]*>(\d)x<', drawn)}
        doubling = heights["1"] - heights["2"]
        seen = [2 ** ((heights["1"] - 4 - float(y)) / doubling) for y in points]
        assert f">{name}<" in drawn and seen == pytest.approx(times, rel=0.01) and len(seen) >= 5


def test_texts_for_readers_without_pictures_say_the_message():
    """Of a chart of ours its title; of figures by matplotlib the titles of their panels."""
    titles = {"exact": [exact_figure.times_message(load("exact_h200.json"))]}
    titles["matmul-tiles"] = [figures.tiles_message()]
    titles["matmul-roofline"] = [matmul.roofline_message(load_matmul())]
    images = [image for page in PAGES for image in re.findall(r"<img [^>]+>", page.read_text("utf-8"))]
    assert images
    for image in images:
        name = re.search(r'images/([\w-]+)-light\.svg"', image)[1]
        alt = html.unescape(re.search(r'alt="([^"]*)"', image)[1])
        drawn = (ROOT / f"docs/images/{name}-light.svg").read_text("utf-8")
        for title in titles.get(name) or [html.unescape(re.search("<title>(.*)</title>", drawn)[1])]:
            assert title in alt, name


@pytest.mark.parametrize("palette", [chart.LIGHT, chart.DARK], ids=["light", "dark"])
def test_the_picture_of_the_threads(palette):
    """Threads that work, and those in conflict, are those that the simulator counted."""
    threads = front.THREADS
    seen = {name: gpureduce.profile(4 * threads, name, block_size=threads).timeline() for name in front.SHOWN}
    for phone, step in (
        (False, (front.WIDTH - 24 * 3) / 4 / threads),
        (True, (chart.PHONE - 24) / 2 / threads),
    ):
        drawn = front.lanes_svg(seen, palette, phone)
        assert drawn == front.lanes(palette, phone)
        for kind, colour in enumerate(palette.lanes[:5]):  # conflicts of 2, 4 and 8 ways
            widths = re.findall(rf'width="([\d.]+)" height="11.0" fill="{colour}"', drawn)
            wanted = sum((each.kinds == kind).sum() for each in seen.values())
            assert sum(map(float, widths)) / step == pytest.approx(wanted, rel=0.05) and wanted > 0


@pytest.mark.parametrize("name", ["lanes", "peers", "ladder", "matmul", "conv", "several"])
def test_charts_have_a_form_for_phones(name):
    """Half as wide, with the same message, and in the page that shows the chart."""
    for background in ("light", "dark"):
        drawn, narrow = (
            (ROOT / f"docs/images/{name}{form}-{background}.svg").read_text("utf-8")
            for form in ("", "-phone")
        )
        title = re.compile("<title>(.*)</title>")
        assert title.search(drawn)[1] == title.search(narrow)[1]
        assert (
            re.search(r'width="(\d+)"', drawn)[1] == "880" and re.search(r'width="(\d+)"', narrow)[1] == "440"
        )
        ends = [
            float(x) + 0.5 * float(size) * len(html.unescape(said)) * (anchor == "start")
            for x, size, anchor, said in re.findall(
                r'<text x="([\d.-]+)" [^>]*font-size="(\d+)" text-anchor="(\w+)">([^<]*)<', narrow
            )
        ]
        assert max(ends) <= 450, max(ends)
        shown = "\n".join(page.read_text("utf-8") for page in PAGES)
        assert f'media="(max-width: 600px)" srcset="docs/images/{name}-phone-light.svg"' in shown.replace(
            "../", "docs/"
        )


@pytest.mark.parametrize("name", ["matmul-tiles", "matmul-roofline", "exact"])
def test_figures_have_a_form_for_phones(name):
    """Half as wide or narrower, and in the page that shows the figure."""
    for background in ("light", "dark"):
        wide, narrow = (
            float(re.search(r'<svg [^>]*width="([\d.]+)pt"', path.read_text("utf-8"))[1])
            for form in ("", "-phone")
            for path in [ROOT / f"docs/images/{name}{form}-{background}.svg"]
        )
        assert narrow < 0.6 * wide
    shown = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert f'media="(max-width: 600px)" srcset="../images/{name}-phone-light.svg"' in shown


def test_the_code_that_the_glossary_names_is_there():
    """Each file exists, and holds the name that the entry gives next to it."""
    text = (ROOT / "docs/reference/glossary.md").read_text()
    named = re.findall(r"`((?:csrc|cuda_kernels)/[\w./]+)`(?::\s+`(\w+)`)?", text)
    assert len(named) > 20
    for path, name in named:
        file = ROOT / path
        assert file.is_file(), path
        assert not name or re.search(rf"\b{name}\b", file.read_text()), (path, name)


def test_old_addresses_lead_to_pages():
    """Every page that once stood in docs/ itself has a line in redirects.toml."""
    tomllib = pytest.importorskip("tomllib")
    moved = tomllib.loads((ROOT / "docs/site/redirects.toml").read_text(encoding="utf-8"))
    assert {"docs/use", "docs/axis", "docs/peers"} <= set(moved)
    for old, new in moved.items():
        assert (ROOT / f"{new}.md").exists(), (
            f"docs/site/redirects.toml: {old} leads to {new}, which is no page"
        )
        assert not (ROOT / f"{old}.md").exists(), old
    history = ["log", "--no-renames", "--diff-filter=D", "--name-only", "--format=", "--", ":(glob)docs/*.md"]
    found = subprocess.run(["git", "-C", str(ROOT), *history], capture_output=True, text=True)
    assert {name.removesuffix(".md") for name in found.stdout.split()} <= set(moved)


def test_questions_of_readers_have_answers():
    """Ten or more of each kind; tests/tools/check_site.py walks them in a browser."""
    tomllib = pytest.importorskip("tomllib")
    found = tomllib.loads((ROOT / "tests/docs/questions.toml").read_text(encoding="utf-8"))["question"]
    for reader in ("user", "learner", "maintainer"):
        assert sum(question["reader"] == reader for question in found) >= 10
    for question in found:
        text = CODE.sub("", (ROOT / f"{question['page']}.md").read_text(encoding="utf-8"))
        headings = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
        assert not question.get("heading") or question["heading"] in headings, question
