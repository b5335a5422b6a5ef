"""Builds the documentation site: ``python docs/site/build.py build/site``; pages are in build/site/html.

Guides, notebooks and results are those of the repository, laid out as there, so that links work in both
places. The reference and the ladders' book are made of the installed package. Every warning is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

import tomllib
from book import BOOK, ladder_pages
from reference import MODULES, SUBJECT_PAGE, reference_pages
from sphinx.cmd.build import main as sphinx

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("docs/images/*", "notebooks/*.ipynb", "examples/*.py", "benchmarks/results/*.json", "LICENSE")
PAGES = ("README.md", "docs/*/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

# The order of pages; Sphinx says which one is missing.
SECTIONS = {
    "Tutorials": [
        *(f"docs/tutorials/{name}" for name in ("quickstart", "write-a-rung", "exercises", "published")),
        *(f"notebooks/{name}" for name in ("ladder", "bandwidth", "matmul", "conv", "groups", "scans")),
    ],
    "How-to guides": [
        f"docs/how-to/{name}"
        for name in (
            "install",
            "choose-a-device",
            "threads-and-processes",
            "host-arrays",
            "pytorch-cupy-jax",
            "cuda-graphs",
            "pytorch-operators",
            "what-pytorch-cannot-do",
            "jax-in-jit",
            "several-gpus",
            "merge-partial-results",
            "many-tensors",
            "dask",
            "xarray",
            "reproducible-sums",
            "check-what-bits-depend-on",
            "is-my-model-deterministic",
            "statistics-and-topk",
            "cumulative-and-segmented",
            "group-and-scatter",
            "custom-reductions",
            "profile-and-debug-a-kernel",
            "check-a-reduction-kernel",
            "run-a-cuda-program",
            "teach-a-course",
        )
    ],
    "Reference": [
        SUBJECT_PAGE,
        *(f"reference/{module}" for module in MODULES),
        *(
            f"docs/reference/{name}"
            for name in (
                "arrays-and-dtypes",
                "differences-from-numpy",
                "promises",
                "cli",
                "environment-variables",
                "names",
                "errors",
                "state-format",
                "coverage",
                "counters",
                "simulate",
                "simulator-ptx",
                "glossary",
            )
        ),
    ],
    "Explanation": [
        f"docs/explanation/{name}"
        for name in (
            "how-auto-chooses",
            "exact-sums",
            "softmax-and-norms",
            "scans",
            "segments",
            "order-statistics",
            "variance",
            "norms",
            "streams",
            "how-the-simulator-works",
            "race-detection",
        )
    ],
    "Ladders": [
        *(
            f"docs/explanation/{name}-ladder"
            for name in ("reduction", "matmul", "convolution", "group", "scan")
        ),
        *BOOK,
    ],
    "Benchmarks": [
        f"docs/benchmarks/{name}"
        for name in (
            "sums",
            "axes",
            "layouts",
            "drawn-shapes",
            "reduction-ladder",
            "matmul",
            "convolution",
            "exact-sums",
            "variance",
            "norms",
            "softmax-and-norms",
            "many-tensors",
            "order-statistics",
            "scans-and-segments",
            "groups",
            "calls",
            "pytorch",
            "host-arrays",
            "copies",
            "several-gpus",
            "profiler",
            "accuracy",
        )
    ],
    "Contributing": [
        "CONTRIBUTING",
        *(
            f"docs/contributing/{name}"
            for name in (
                "architecture",
                "tests",
                "adding-a-rung",
                "style",
                "releases",
                "design-notes",
                "waiting-for-blocks",
            )
        ),
        *("CHANGELOG", "SECURITY"),
    ],
}

REDIRECT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="{to}">
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={to}">
<script>location.replace("{to}" + location.hash)</script>
<p>This page has moved: <a href="{to}">{to}</a></p>
</html>
"""
LINK = re.compile(r"\]\(([^)\s#:]+)\)")
NARROW = r"\(max-width: 600px\)"
PICTURE = re.compile(
    r"<picture>\s*"
    rf'(?:<source media="{NARROW} and \(prefers-color-scheme: dark\)" srcset="(?P<narrow_dark>[^"]+)">\s*'
    rf'<source media="{NARROW}" srcset="(?P<narrow_light>[^"]+)">\s*)?'
    r'<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img (?:alt="(?P<alt>[^"]+)" )?src="(?P<light>[^"]+)"(?: alt="(?P<alt_behind>[^"]+)")?>\s*</picture>'
)


def page(text: str) -> str:
    """Return a page of the repository as one of the site, whose pictures follow theme and width."""

    def images(found: re.Match[str]) -> str:
        alt = found["alt"] or found["alt_behind"]
        forms = [("", "")] if found["narrow_light"] is None else [("", " .wide"), ("narrow_", " .narrow")]
        return "\n".join(
            f"![{alt}]({found[form + kind]}){{.only-{kind}{width}}}"
            for form, width in forms
            for kind in ("light", "dark")
        )

    text = PICTURE.sub(images, text)
    if "<picture" in text:
        raise ValueError(f"a <picture> that is not of the form {PICTURE.pattern}")
    return text.replace("README.md)", "index.md)")


def contents() -> str:
    """Return the hidden tables of contents, which the theme shows at the side."""
    trees = [
        "```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(names) + "\n```"
        for caption, names in SECTIONS.items()
    ]
    return "\n\n".join(trees)


def linked_files() -> set[Path]:
    """Return the files of the repository that pages link to, sources among them."""
    found = set()
    for pattern in PAGES:
        for path in ROOT.glob(pattern):
            for link in LINK.findall(path.read_text(encoding="utf-8")):
                target = (path.parent / link).resolve()
                if target.is_file() and target.is_relative_to(ROOT) and target.suffix != ".md":
                    found.add(target)
    return found


def assemble(source: Path) -> None:
    """Write all that Sphinx reads into an empty folder."""
    shutil.rmtree(source, ignore_errors=True)
    for pattern in COPIED:
        for path in ROOT.glob(pattern):
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    for path in linked_files():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    pages = {
        str(path.relative_to(ROOT)): page(path.read_text(encoding="utf-8"))
        for pattern in PAGES
        for path in ROOT.glob(pattern)
    }
    pages["index.md"] = f"{pages.pop('README.md')}\n{contents()}\n"
    for name, text in {**pages, **ladder_pages(), **reference_pages()}.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def redirects() -> dict[str, str]:
    """Return pages that have moved, and where to."""
    return tomllib.loads((ROOT / "docs/site/redirects.toml").read_text(encoding="utf-8"))


def write_redirects(source: Path, html: Path) -> None:
    """Write a page at each old address, which leads to the new one, to the same heading."""
    for old, new in redirects().items():
        path = html / f"{old}.html"
        is_page = any((source / f"{old}{suffix}").exists() for suffix in (".md", ".rst", ".ipynb"))
        if is_page or not (html / f"{new}.html").exists():
            raise ValueError(f"redirects.toml: {old} is a page, or {new} is none")
        to = os.path.relpath(html / f"{new}.html", path.parent)
        path.write_text(REDIRECT.format(to=to), encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args(argv).out
    assemble(out / "source")
    shutil.rmtree(out / "html", ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-E", "-j", "2", "-d", f"{out}/doctrees"]
    status = sphinx([*options, "-c", str(Path(__file__).parent), f"{out}/source", f"{out}/html"])
    write_redirects(out / "source", out / "html")
    return status


if __name__ == "__main__":
    sys.exit(main())
