#!/usr/bin/env python3
"""Writes the project's addresses into a copy of its sources: addresses.py FOLDER DOCUMENTATION REPOSITORY.

The repository names pages by their paths, so that links work in any clone. A release is read elsewhere: PyPI
shows README.md, and help() shows docstrings. So release.sh calls this program, which replaces

- the placeholder addresses of [project.urls] in pyproject.toml,
- the relative links of README.md: pages lead to the site, pictures and other files to the repository,
- ADDRESS in `git clone`, and the comment behind it, in README.md and docs/,
- pages that docstrings name, such as docs/explanation/streams.md.
"""

import re
import sys
from pathlib import Path

PLACEHOLDER = "https://gpureduce.invalid"  # RFC 2606: no such name ever exists
PAGE = re.compile(r"\bdocs/[\w-]+/[\w-]+\.md\b")
LINK = re.compile(r"(?<=\]\()[^)\s#:]+(?=[)#])|(?<=src=\")[^\":]+(?=\")|(?<=srcset=\")[^\":]+(?=\")")
CLONE = re.compile(r"git clone ADDRESS (.*?) +# replace ADDRESS with .*")


def of_page(path: str, documentation: str) -> str:
    """Return the address of a page of the site."""
    return f"{documentation}/{re.sub(r'[.](md|ipynb)$', '.html', path)}"


def page(text: str, repository: str) -> str:
    """Return a page whose commands clone the repository."""
    return CLONE.sub(rf"git clone {repository} \1", text)


def readme(text: str, documentation: str, repository: str) -> str:
    """Return README.md with absolute links."""

    def absolute(found: re.Match) -> str:
        path = found[0]
        if path.endswith((".md", ".ipynb")):
            return of_page(path, documentation)
        kind = "raw" if path.endswith(".svg") else "blob"
        return f"{repository}/{kind}/main/{path}"

    return LINK.sub(absolute, page(text, repository))


def docstrings(text: str, documentation: str) -> str:
    """Return a module with the addresses of the pages that it names."""
    return PAGE.sub(lambda found: of_page(found[0], documentation), text)


def project(text: str, documentation: str, repository: str) -> str:
    """Return pyproject.toml with the project's addresses."""
    return text.replace(f"{PLACEHOLDER}/repository", repository).replace(PLACEHOLDER, documentation)


def main(folder: str, documentation: str, repository: str) -> None:
    """Rewrite the files of a folder."""
    documentation, repository, root = documentation.rstrip("/"), repository.rstrip("/"), Path(folder)

    def rewrite(path: Path, change, *addresses: str) -> None:
        path.write_text(change(path.read_text(encoding="utf-8"), *addresses), encoding="utf-8")

    rewrite(root / "pyproject.toml", project, documentation, repository)
    rewrite(root / "README.md", readme, documentation, repository)
    for path in (root / "docs").glob("*/*.md"):
        rewrite(path, page, repository)
    for path in (root / "gpureduce").rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            rewrite(path, docstrings, documentation)


if __name__ == "__main__":
    main(*sys.argv[1:])
