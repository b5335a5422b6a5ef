"""The notebooks run from top to bottom on this device, and draw."""

import base64
from pathlib import Path

import pytest

import gpureduce

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
RUNGS = [variant.name for variant in gpureduce.variants("reduction") if variant.role == "rung"]

PRODUCTS = [
    variant.name
    for variant in gpureduce.variants("matmul")
    if variant.role == "rung" and "float32" in variant.dtypes and "sim" in variant.backends
]

CONVOLUTIONS = [
    variant.name
    for variant in gpureduce.variants("conv")
    if variant.role == "rung" and "float32" in variant.dtypes and "sim" in variant.backends
]

# The fewest pictures in each: the ladders draw every rung, and three charts, or one, beside. Four rungs of
# the convolutions have no picture: one is several launches, the others copy in bulk.
PICTURES = {
    "ladder.ipynb": len(RUNGS) + 3,
    "bandwidth.ipynb": 3,
    "matmul.ipynb": len(PRODUCTS) + 1,
    "conv.ipynb": len(CONVOLUTIONS) - 4 + 1,
}

every_notebook = pytest.mark.parametrize("name", PICTURES)
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="no notebooks beside the tests")


def pictures_of(notebook):
    found = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        if "image/svg+xml" in data:
            found.append(data["image/svg+xml"].encode())
        elif "image/png" in data:
            found.append(base64.b64decode(data["image/png"]))
    return found


def test_every_notebook_is_tested():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == set(PICTURES)


@every_notebook
def test_committed_without_outputs(name):
    """So that the repository stays small, and shows no figures of another version."""
    for cell in nbformat.read(FOLDER / name, as_version=4).cells:
        assert not cell.get("outputs") and not cell.get("execution_count")


@every_notebook
def test_notebook_runs_and_draws(name, thin):
    if thin:
        pytest.skip("the calls in it are those of other tests")
    notebook = nbformat.read(FOLDER / name, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()  # raises for a cell that does
    drawn = pictures_of(notebook)
    assert len(drawn) >= PICTURES[name] and len(set(drawn)) == len(drawn)
    assert all(len(picture) > 4000 for picture in drawn)
    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "rungs", "least"),
    [("ladder.ipynb", RUNGS, 9), ("matmul.ipynb", PRODUCTS, 8), ("conv.ipynb", CONVOLUTIONS, 7)],
)
def test_every_rung_has_its_place(name, rungs, least):
    cells = nbformat.read(FOLDER / name, as_version=4).cells
    shown = [rung for rung in rungs if any(cell.source == f'show("{rung}")' for cell in cells)]
    assert shown == rungs[: len(shown)] and len(shown) >= least  # a loop shows those that come later
