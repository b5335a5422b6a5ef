"""docs/reference/names.md says what each public function is called elsewhere, and is right about it."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import gpureduce

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/names.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs next to the tests")
LINES = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
LIBRARIES = ("NumPy", "array API", "SciPy", "CuPy", "PyTorch")
# Functions of the array API, version 2024.12, of which there are some here.
ARRAY_API = {
    "sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "argmax", "argmin", "argsort",
    "count_nonzero", "cumulative_sum", "cumulative_prod", "matmul", "sort", "unique_counts", "vecdot",
    "linalg.trace", "linalg.vector_norm",
}  # fmt: skip


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]


def rows():
    """Return what each library calls a function, by its name here."""
    found = {}
    for line in LINES:
        if re.match(r"\| `\w+` \|", line) and line.count(" | ") == 6:
            name, *names, _ = cells(line)
            found[name] = dict(zip(LIBRARIES, names, strict=True))
    return found


ROWS = rows()


def attribute(path):
    """Return what a dotted name stands for."""
    module, *names = path.split(".")
    value = importlib.import_module(module)
    for i, name in enumerate(names):
        if not hasattr(value, name):
            value = importlib.import_module(".".join([module, *names[: i + 1]]))
        else:
            value = getattr(value, name)
    return value


def exists(path):
    """Return whether a dotted name stands for something that can be called."""
    try:
        return callable(attribute(path))
    except ImportError:
        return False


def test_each_public_function_has_a_row():
    public = {name for name in gpureduce.__all__ if inspect.isfunction(getattr(gpureduce, name))}
    tools = LINES[LINES.index("## Functions without a counterpart") :]
    named = {name for line in tools for name in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    assert set(ROWS) | named == public
    assert not set(ROWS) & named
    assert set(gpureduce._functions.__all__) <= set(ROWS)


@pytest.mark.parametrize(
    "library, module", [("NumPy", "numpy"), ("SciPy", "scipy"), ("CuPy", "cupy"), ("PyTorch", "torch")]
)
def test_names_elsewhere_exist(library, module):
    pytest.importorskip(module)
    named = [names[library] for names in ROWS.values() if names[library]]
    assert len(named) >= 3
    assert [path for path in named if not (path.startswith(f"{module}.") and exists(path))] == []


def test_functions_that_numpy_has_are_not_missing():
    """A name that is NumPy's, too, stands in its column."""
    numpy = importlib.import_module("numpy")
    for name, names in ROWS.items():
        if hasattr(numpy, name):
            expected = f"numpy.{name}" + ".reduce" * (names["NumPy"].endswith(".reduce"))
            assert names["NumPy"] == expected, name


def test_names_of_the_array_api():
    assert {names["array API"] for names in ROWS.values() if names["array API"]} == ARRAY_API


def base(path):
    """Return a name without its modules, and that of a ufunc in place of its method."""
    return path.removesuffix(".reduce").removesuffix(".accumulate").rpartition(".")[2]


@pytest.mark.parametrize("name", ROWS)
def test_where_libraries_agree_the_name_is_theirs(name):
    elsewhere = {base(path) for path in ROWS[name].values() if path}
    kinds = {"reduce": "add", "group_reduce": "sum_labels", "moments": "describe"}  # of one operator
    kinds |= {"cummax": "maximum", "cummin": "minimum"}  # of a method
    if len(elsewhere) == 1 and elsewhere != {kinds.get(name)}:
        assert elsewhere == {name}
    elif elsewhere and ROWS[name]["NumPy"]:
        assert base(ROWS[name]["NumPy"]) in (name, kinds.get(name))
