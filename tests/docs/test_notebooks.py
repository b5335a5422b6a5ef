"""The notebooks are committed with the outputs of a run, which their code still gives."""

import base64
import io
import json
import re
import struct

import pytest

import gpureduce

pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("matplotlib")
import nbformat

from tests.tools import make_notebooks
from tests.tools.make_notebooks import FOLDER, PNG, SVG

MOST_BYTES = 1_500_000  # code hosts show no more of a notebook


def rungs(ladder):
    """The rungs that a notebook shows, in order."""
    records = [record for record in gpureduce.variants(ladder) if record.role == "rung"]
    return [each.name for each in records if "float32" in each.dtypes and "sim" in each.backends]


LADDERS = {
    "ladder.ipynb": "reduction",
    "matmul.ipynb": "matmul",
    "conv.ipynb": "conv",
    "groups.ipynb": "groups",
    "scans.ipynb": "scan",
}
# How many pictures are in each: the ladders draw every rung, and three charts, or one, in addition. Of the
# convolutions four rungs have no picture: one is several launches, the others copy in bulk.
PICTURES = {
    "ladder.ipynb": len(rungs("reduction")) + 3,
    "bandwidth.ipynb": 3,
    "matmul.ipynb": len(rungs("matmul")) + 3,
    "conv.ipynb": len(rungs("conv")) - 4 + 1,
    "groups.ipynb": 2,
    "scans.ipynb": 2,
}

every_notebook = pytest.mark.parametrize("name", PICTURES)
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="no notebooks next to the tests")


def committed(name):
    return nbformat.read(FOLDER / name, as_version=4)


def pictures_of(notebook):
    """The SVG and the PNG of each figure."""
    found = [output.data for output in make_notebooks.outputs(notebook) if "data" in output]
    return [(data.get(SVG), data.get(PNG)) for data in found if SVG in data or PNG in data]


def texts_of(svg):
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def shape_of(svg):
    """All of a picture but what is in it as pixels, whose compression differs."""
    return re.sub(r'(xlink:href="data:image/png;base64,)[^"]*', r"\1", svg)


def shown(notebook, same_kernels, same_matplotlib):
    """What a run must give again, a list for each cell."""

    def words(text):
        text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
        text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).strip()
        return text if same_kernels else re.sub(r"\d[\d,.]*|-+", "#", text)

    def of(output):
        data = output.get("data")
        if data is None:
            return words(output.text)
        if SVG in data:
            if same_kernels and same_matplotlib:
                return shape_of(data[SVG])
            return [words(text) for text in texts_of(data[SVG])]
        return {kind: words(data[kind]) for kind in data if kind != PNG}

    return [[of(output) for output in cell.get("outputs", [])] for cell in notebook.cells]


def test_every_notebook_is_tested():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == set(PICTURES)


@every_notebook
def test_committed_with_pictures_for_every_viewer(name):
    """As SVG, and as PNG for viewers that trust no SVG."""
    notebook = committed(name)
    drawn = pictures_of(notebook)
    assert len(drawn) == PICTURES[name] and len(set(drawn)) == len(drawn)
    for svg, png in drawn:
        assert len(svg) > 3000 and svg.rstrip().endswith("</svg>") and texts_of(svg)
        width, height = map(float, re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups())
        pixels = struct.unpack(">II", base64.b64decode(png)[16:24])
        assert pixels == pytest.approx((width / 0.72, height / 0.72), rel=0.05)  # 100 dots an inch
    assert (FOLDER / name).stat().st_size < MOST_BYTES
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.committed
@every_notebook
def test_committed_outputs_are_those_of_a_run(name):
    before = committed(name)
    after = make_notebooks.run(name, png=False)  # raises for a cell that does
    assert len(pictures_of(after)) == PICTURES[name]
    if any(device.kind == "cuda" for device in gpureduce.devices()):
        return  # it has measured for itself
    made, here = before.metadata.gpureduce, make_notebooks.versions()
    same = made["toolkit"] == here["toolkit"], made["matplotlib"] == here["matplotlib"]
    for number, (old, new) in enumerate(zip(shown(before, *same), shown(after, *same), strict=True)):
        assert old == new, f"cell {number} of {name}: run tests/tools/make_notebooks.py {name}"


@pytest.mark.parametrize(("name", "ladder"), LADDERS.items())
def test_every_rung_has_its_place(name, ladder):
    """A heading, a text of its own, its time and its counters."""
    cells = committed(name).cells
    at = {cell.source: place for place, cell in enumerate(cells)}
    places = [at[f'show("{rung}")'] for rung in rungs(ladder)]
    assert places == sorted(places)
    for rung, place in zip(rungs(ladder), places, strict=True):
        assert cells[place - 1].source.startswith(f"### {rung}\n") and len(cells[place - 1].source) > 90
        said = json.dumps([output.get("data", {}) for output in cells[place].outputs])
        assert re.search(r"\bus\b|\(us\)", said) and "sectors" in said and "over" in said


@every_notebook
def test_code_that_only_helps_is_hidden(name):
    """Imports and definitions are folded in JupyterLab; parameters and calls are open."""
    cells = [cell for cell in committed(name).cells if cell.cell_type == "code"]
    for cell in cells:
        helps = re.search(r"^(def|import|from) ", cell.source, re.MULTILINE) is not None
        assert cell.metadata.get("jupyter", {}).get("source_hidden", False) == helps, cell.source[:60]
    assert "parameters" in cells[0].metadata.tags and "DARK = None" in cells[0].source


@every_notebook
def test_figures_have_no_background_and_name_their_axes(name):
    """So that pages may be light or dark; the pictures of tiles and bytes have no axes."""
    image = pytest.importorskip("PIL.Image")
    for svg, png in pictures_of(committed(name)):
        corner = image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA").getpixel((0, 0))
        assert corner[3] == 0, corner
        drawn = " ".join(texts_of(svg))
        words = (
            "rung",
            "element",
            "elements",
            "thread",
            "row",
            "FLOP",
            "order of blocks",
            "bit of",
            "speed-up",
        )
        assert (
            any(word in drawn for word in words) or "bytes that threads request" in drawn or "per " in drawn
        )
    text = json.dumps([output.get("metadata", {}) for output in make_notebooks.outputs(committed(name))])
    assert "needs_background" not in text


@pytest.mark.parametrize("name", LADDERS)
def test_the_source_with_counters_is_a_coloured_table(name):
    for cell in committed(name).cells:
        if cell.cell_type == "code" and cell.source.startswith('show("'):
            pages = [
                output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})
            ]
            assert any("rgba(251,146,60" in page and "CUDA C++" in page for page in pages), cell.source


def test_the_picture_of_v1_shows_conflicts_of_all_degrees():
    (cell,) = (cell for cell in committed("ladder.ipynb").cells if cell.source == 'show("v1")')
    (svg,) = (output.data[SVG] for output in cell.outputs if SVG in output.get("data", {}))
    assert {f"{ways}-way bank conflict" for ways in (2, 4, 8)} <= set(texts_of(svg))


def test_pictures_of_halos_have_one_scale():
    for cell in committed("conv.ipynb").cells:
        for svg in (output.data[SVG] for output in cell.get("outputs", []) if SVG in output.get("data", {})):
            said = texts_of(svg)
            if "loads per element" in said:
                assert [text for text in said if text in ("1", "64")][-2:] == ["1", "64"]
                assert {"column of the image", "row"} <= set(said)
