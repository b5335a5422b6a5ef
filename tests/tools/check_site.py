"""Checks the documentation site as it was built: ``python tests/tools/check_site.py build/site/html``.

Every public name is in its inventory, and a real browser (tests/tools/browser.py) finds text, pictures and a
search box, light and dark, with nothing said at the console.
"""

import argparse
import ast
import functools
import inspect
import re
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import tomllib
from browser import Browser, served

import gpureduce
from gpureduce import numpy_like

ROOT = Path(__file__).resolve().parents[2]
# Pages, and what is to be read on them.
PAGES = {
    "index": "git clone",
    "docs/explanation/reduction-ladder": "Interleaved addressing",
    "docs/benchmarks/sums": "What the times show",
    "docs/explanation/matmul-ladder": "Which thread loads and computes what",
    "docs/explanation/order-statistics": "topk",
    "docs/explanation/segments": "group_reduce",
    "docs/how-to/dask": "gpureduce.dask",
    "docs/how-to/xarray": "groupby",
    "ladders/reduction": "What the simulator counts",
    "ladders/matmul": "t1: wgmma",
    "ladders/conv": "c9:",
    "notebooks/ladder": "The ladder, rung by rung",
    "notebooks/bandwidth": "falls at v4",
    "notebooks/matmul": "Matrix multiplication, rung by rung",
    "notebooks/conv": "Convolutions, rung by rung",
    "reference/subjects": "NaN-aware reductions",
    "reference/gpureduce": "ReductionKernel",
    "reference/gpureduce.sum": "keepdims",
    "CHANGELOG": "Unreleased",
}


def names_in(module: str) -> set[str]:
    """Return the public names of a module that may lack what it is for, and cannot be imported then."""
    source = Path(gpureduce.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    listed = re.search(r"^__all__ = (\[[^]]*\])$", source, re.MULTILINE)[1]
    return {f"gpureduce.{module}.{name}" for name in ast.literal_eval(listed)}


def public_names() -> set[str]:
    """Return every public name, and those of members of classes which their docstrings do not speak of."""
    names = {f"gpureduce.{name}" for name in gpureduce.__all__} - {"gpureduce.__version__"}
    # Not what only programs ask for: the standard's __array_namespace_info__.
    names |= {f"gpureduce.numpy_like.{name}" for name in numpy_like.__all__ if not name.startswith("__")}
    for module in ("torch", "dask", "flox", "course", "kernels", "testing"):
        names |= names_in(module)
    for name in gpureduce.__all__:
        value = getattr(gpureduce, name)
        if inspect.isclass(value) and not issubclass(value, BaseException):
            members = vars(value).items()
            own = {each for each, what in members if not (each.startswith("_") or what in (None, False))}
            names |= {f"gpureduce.{name}.{each}" for each in own - set(re.findall(r"\w+", value.__doc__))}
    return names


def inventory(path: Path) -> set[str]:
    """Return the names of objects in an inventory of Sphinx's."""
    data = path.read_bytes().split(b"\n", 4)[4]
    return {line.split(" py:")[0] for line in zlib.decompress(data).decode().splitlines() if " py:" in line}


def look(browser: Browser, address: str, name: str, text: str, dark: bool) -> list[str]:
    """Return what is wrong with a page."""
    browser.open(f"{address}/{name}.html")
    wrong = [*browser.errors(), *(f"no picture: {each}" for each in browser.broken_pictures())]
    if text not in browser.run("return document.querySelector('article').innerText"):
        wrong.append(f"does not say {text!r}")
    if not browser.run("return document.querySelector('input[name=q]')?.offsetParent"):
        wrong.append("no search box")
    red = int(browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    if (red < 128) != dark:
        wrong.append("the background is not the theme's")
    if name.startswith("notebooks/") and len(pictures(browser)) < 3:
        wrong.append(f"shows {len(pictures(browser))} pictures only")
    return wrong


def pictures(browser: Browser) -> list[str]:
    """Return the names of the pictures that are to be seen in the page."""
    return browser.run(
        "return Array.from(document.querySelectorAll('article img')).filter(each => each.offsetParent)"
        ".map(each => each.src.split('/').pop())"
    )


class Images(HTMLParser):
    """The images of a page, and whether a <picture> is left."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.has_picture = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.sources.append(dict(attrs).get("src") or "")
        self.has_picture |= tag == "picture"


class Links(HTMLParser):
    """The links of a page, and the places in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.targets.append(found["href"])
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}


@functools.cache
def links_of(path: Path) -> Links:
    """Return the links of a page, and the places in it."""
    found = Links()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def dead_links(path: Path) -> list[str]:
    """Return links of a page that lead to no page or place of the site."""
    wrong = []
    for target in sorted(set(links_of(path).targets)):
        name, _, place = unquote(target).partition("#")
        if "://" in name or name.startswith(("mailto:", "data:", "javascript:")):
            continue
        to = (path.parent / name.partition("?")[0]).resolve() if name else path
        if to.is_dir():
            to /= "index.html"
        if not to.is_file():
            wrong.append(f"no page: {target}")
        elif place and to.suffix == ".html" and place not in links_of(to).places:
            wrong.append(f"no place: {target}")
    return wrong


@functools.cache
def is_image(path: Path) -> bool:
    """Return whether a browser can show a file."""
    if not path.is_file():
        return False
    data = path.read_bytes()
    if path.suffix == ".svg":
        return ElementTree.fromstring(data).tag.endswith("svg")
    return data.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"))


def broken_images(site: Path, path: Path) -> list[str]:
    """Return what is wrong with the images of a page, without a browser."""
    found = Images()
    text = path.read_text(encoding="utf-8")
    found.feed(text)
    wrong = ["a <picture> is left"] if found.has_picture or "&lt;picture" in text else []
    for source in found.sources:
        if source.startswith(("http:", "https:", "data:")):
            continue
        where = site if source.startswith("/") else path.parent
        if not is_image((where / unquote(source.split("?")[0].lstrip("/"))).resolve()):
            wrong.append(f"no image: {source}")
    return wrong


FIRST_SCREEN = 900  # pixels, in a window that is 1280 wide
FOUND = 10  # results of a search that a reader looks at
CLICK = """
const [part, key, value] = arguments;
const link = [...document.querySelectorAll(part + " a")].find(each => key == "href"
    ? each.href.split("#")[0] == value : each.innerText.trim() == value);
link?.click();
return Boolean(link);
"""
# How far below the top of the page, or below a heading, the first code block or the fact is.
DISTANCE = """
const [heading, fact] = arguments;
const within = document.querySelector("article");
const titles = [...within.querySelectorAll("h1, h2, h3, h4")];
const title = heading ? titles.find(each => each.innerText.replace("\u00b6", "").trim() == heading) : null;
if (heading && !title) return null;
const top = title ? title.getBoundingClientRect().top : -window.scrollY;
const plain = text => text.replace(/\\s+/g, " ").toLowerCase();
const parts = fact ? "p, li, td, th, pre, dd, h1, h2, h3" : "div.highlight";
const places = [...within.querySelectorAll(parts)]
    .filter(each => each.offsetParent && (!fact || plain(each.innerText).includes(plain(fact))))
    .map(each => each.getBoundingClientRect().top - top).filter(each => each >= 0);
return places.length ? Math.min(...places) : null;
"""
SEARCHED = "return /finished|did not match/.test(document.querySelector('#search-results').innerText)"
RESULTS = "return [...document.querySelectorAll('#search-results li a')].map(each => each.href)"


def questions() -> list[dict[str, str]]:
    """Return the questions of readers."""
    return tomllib.loads((ROOT / "tests/docs/questions.toml").read_text(encoding="utf-8"))["question"]


def redirects() -> dict[str, str]:
    """Return pages that have moved, and where to."""
    return tomllib.loads((ROOT / "docs/site/redirects.toml").read_text(encoding="utf-8"))


def ask(browser: Browser, address: str, question: dict[str, str]) -> list[str]:
    """Return what is wrong with the answer to a question, if anything."""
    page, heading = f"{address}/{question['page']}.html", question.get("heading", "")
    browser.open(f"{address}/index.html")
    if not browser.run(CLICK, "body", "href", page):
        return [f"{question['page']} is not one click from the front page"]
    browser.wait_for(f"return location.pathname.endsWith('{question['page']}.html')")
    browser.wait_for("return document.readyState == 'complete'")
    if heading and not browser.run(CLICK, ".toc-tree", "text", heading):
        return [f"{heading} is not one click from the top of {question['page']}"]
    wrong = []
    distance = browser.run(DISTANCE, heading, question.get("fact", ""))
    if distance is None or distance > FIRST_SCREEN:
        what = question.get("fact") or "a code block"
        wrong.append(f"{what!r} is {distance} pixels below the heading")
    browser.open(f"{address}/search.html?q={quote(question['search'])}")
    browser.wait_for(
        "return /Search finished|did not match/.test(document.querySelector('#search-results').innerText)"
    )
    results = browser.run(
        "return [...document.querySelectorAll('#search-results li a')].map(each => each.href)"
    )
    if page not in [result.split("#")[0].split("?")[0] for result in results[:FOUND]]:
        wrong.append(f"the search for {question['search']!r} does not find it")
    return wrong


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site
    known = inventory(site / "objects.inv")
    wrong = [f"not in the reference: {name}" for name in sorted(public_names() - known)]
    pages = sorted(site.rglob("*.html"))
    for path in pages:
        found = broken_images(site, path) + dead_links(path.resolve())
        wrong += [f"{path.relative_to(site)}: {each}" for each in found]
    with served(site) as address:
        for dark in (False, True):
            mode = "dark" if dark else "light"
            with Browser(dark=dark) as browser:
                for name, text in PAGES.items():
                    found = look(browser, address, name, text, dark)
                    wrong += [f"{name}, {mode}: {each}" for each in found]
                browser.open(f"{address}/index.html")
                if pictures(browser) != [f"lanes-{mode}.svg"]:
                    wrong.append(f"index, {mode}: shows {pictures(browser)}")
        with Browser() as browser:
            browser.open(f"{address}/search.html?q=count_nonzero")
            browser.wait_for("return document.querySelectorAll('#search-results li').length > 0")
            for old, new in redirects().items():
                browser.open(f"{address}/{old}.html")
                browser.wait_for(f"return location.pathname == '/{new}.html'")
            for question in questions():
                found = ask(browser, address, question)
                wrong += [f"{question['reader']}: {question['asked']}: {each}" for each in found]
    print(
        "\n".join(wrong)
        or f"{len(known)} names, the images of {len(pages)} pages, and {len(PAGES)} pages in a browser, "
        f"light and dark, are right; {len(questions())} questions are answered in two clicks and by search"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
