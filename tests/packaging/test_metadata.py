"""What says who we are, which version this is and what it runs on says the same in each place."""

import re
import sys
import zipfile
from pathlib import Path

import pytest

import gpureduce
from tests.packaging import addresses, contents

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="no sources next to the tests")


@pytest.fixture(scope="module")
def settings():
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def field(file, name):
    """A line of a file of simple YAML."""
    return re.search(rf"^ *{name}: (.+)$", (ROOT / file).read_text(), re.MULTILINE)[1]


def test_citation(settings):
    project = settings["project"]
    assert field("CITATION.cff", "version") == gpureduce.__version__
    assert field("CITATION.cff", "license") == project["license"]
    assert field("CITATION.cff", "keywords") == f"[{', '.join(project['keywords'])}]"
    authors = re.findall(r"^  - name: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert authors == [author["name"] for author in project["authors"]]


def test_recipe(settings):
    project, recipe = settings["project"], (ROOT / "recipe" / "recipe.yaml").read_text()
    assert field("recipe/recipe.yaml", "version") == gpureduce.__version__
    assert field("recipe/recipe.yaml", "license") == project["license"]
    assert field("recipe/recipe.yaml", "summary") == project["description"]
    needed = [*project["dependencies"], *settings["build-system"]["requires"]]
    asked = re.findall(r"^    - (\w+) (>=[\d.]+)$", recipe, re.MULTILINE)
    assert sorted(map("".join, asked)) == sorted(needed)


def test_pythons(settings):
    """Wheels are made for the Pythons that are named, each with a NumPy that can be built against."""
    project = settings["project"]
    named = re.findall(r"Python :: 3\.(\d+)'", str(project["classifiers"]))
    built = [
        re.fullmatch(r"cp3(\d+)(t?)-\*", text).groups() for text in settings["tool"]["cibuildwheel"]["build"]
    ]
    assert named == [minor for minor, free in built if not free]
    assert [minor for minor, free in built if free] == named[-1:]
    assert project["requires-python"] == f">=3.{named[0]}"
    assert list(map(int, named)) == list(range(int(named[0]), int(named[-1]) + 1))


def test_wheels_have_no_benchmarks_and_source_archives_have_them(settings):
    setuptools = pytest.importorskip("setuptools")
    include = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = setuptools.find_packages(str(ROOT), include=include)
    assert "gpureduce._bench" in packages and {name.split(".")[0] for name in packages} == {"gpureduce"}
    data = settings["tool"]["setuptools"]["package-data"]["gpureduce"]
    assert "_bench/*.json" in data and not any("results" in pattern or ".cu" in pattern for pattern in data)
    assert "graft benchmarks" in (ROOT / "MANIFEST.in").read_text().splitlines()
    assert [path.name for path in (ROOT / "gpureduce" / "_bench").glob("*.json")] == ["ladder_h200.json"]


def test_the_check_of_wheels_knows_the_files_of_the_package(tmp_path, capsys):
    """A wheel with the kernels of this installation, each of a family; then with a file too many."""
    package = Path(gpureduce.__file__).parent
    wheel = tmp_path / "gpureduce.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in package.rglob("*"):
            if path.suffix in (".xz", ".fatbin", ".cu") and "_ptx" in path.parts:
                archive.writestr(f"gpureduce/{path.relative_to(package).as_posix()}", b"")
    assert contents.main(str(wheel)) == 0
    assert "kernels/reduce, PTX" in capsys.readouterr().out
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("gpureduce/_ptx/notes.txt", b"")
    assert contents.main(str(wheel)) == 1


@pytest.mark.parametrize(("code", "count"), [((), 1), (("gpureduce/_ptx/v7_warp_shuffle.fatbin",), 0)])
def test_the_check_of_wheels_counts_bytes(tmp_path, capsys, code, count):
    """A wheel with machine code may have more."""
    wheel = tmp_path / "gpureduce.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("gpureduce/_ptx/src/reduce/v7_warp_shuffle.cu", *code):
            archive.writestr(name, b"")
        archive.writestr("gpureduce/_ptx/v7_warp_shuffle.ptx.xz", bytes(contents.MOST[False][0] + 1))
    assert contents.main(str(wheel)) == count
    assert ("unexpected" in capsys.readouterr().out) == bool(count)


def test_addresses_of_a_release(tmp_path, settings):
    """Metadata, README and docstrings of a copy name the given addresses, no placeholder and no path."""
    names = ("pyproject.toml", "README.md", "docs/how-to/install.md", "gpureduce/_reduce/arithmetic.py")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    site, repository = "https://docs.example.org/gpureduce", "https://code.example.org/us/gpureduce"
    addresses.main(str(tmp_path), f"{site}/", repository)

    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert urls["Documentation"] == f"{site}/index.html" and urls["Repository"] == repository
    assert all(url.startswith(addresses.PLACEHOLDER) for url in settings["project"]["urls"].values())

    front = (tmp_path / "README.md").read_text("utf-8")
    targets = [
        target or source for target, source in re.findall(r"\]\(([^)]+)\)|src(?:set)?=\"([^\"]+)\"", front)
    ]
    assert len(targets) > 30 and all(target.startswith(("https://", "#")) for target in targets)
    assert f"{site}/docs/tutorials/quickstart.html" in targets and f"{site}/notebooks/ladder.html" in targets
    assert (
        f"{repository}/raw/main/docs/images/lanes-dark.svg" in targets
        and f"{repository}/blob/main/LICENSE" in targets
    )
    assert f"git clone {repository} gpureduce" in front and "ADDRESS" not in front

    guide = (tmp_path / "docs/how-to/install.md").read_text("utf-8")
    assert f"git clone {repository} gpureduce\n" in guide and "ADDRESS" not in guide

    module = (tmp_path / "gpureduce/_reduce/arithmetic.py").read_text("utf-8")
    assert f"{site}/docs/explanation/streams.html" in module and not re.search(
        r"(?<!/)docs/[\w-]+/[\w-]+\.md", module
    )


def test_docstrings_name_pages_that_exist():
    """By their paths in the repository, which the site and a release turn into links."""
    named = {
        page
        for path in (ROOT / "gpureduce").rglob("*.py")
        for page in addresses.PAGE.findall(path.read_text("utf-8"))
    }
    assert len(named) >= 10 and not {page for page in named if not (ROOT / page).is_file()}
