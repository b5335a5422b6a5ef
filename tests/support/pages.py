"""The code blocks of a page: their language, what they need, and the output that is printed below them.

<!-- needs: gpu torch -->   in front of a block: it runs only where all of these are there (NEEDS)
<!-- output -->             in front of a ```text block: it is what the Python block before it prints; a line
                            `...` stands for any lines
"""

import ast
import collections
import contextlib
import functools
import importlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import gpureduce

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md", *sorted(ROOT.glob("docs/*/*.md")),
    *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY")),
]  # fmt: skip
NEEDS = ("gpu", "gpus", "torch", "cupy", "jax", "mpi4py", "network", "file")
# Modules that a test environment may lack.
OPTIONAL = ("cuda", "dask", "flox", "matplotlib", "xarray", "torch", "cupy", "jax", "mpi4py", "zarr")
FENCE = re.compile(r"^(?:<!-- ([^>]+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One code block: its language and text, the line of its text, what it needs, whether it is an output."""

    language: str
    code: str
    line: int
    needs: tuple[str, ...] = ()
    is_output: bool = False


def needs_of(comment: str) -> tuple[str, ...]:
    """Return the words of a comment that says what a block needs."""
    if not comment.startswith("needs:"):
        return ()
    words = tuple(comment.removeprefix("needs:").split())
    if unknown := set(words) - set(NEEDS) or (set() if words else {"nothing"}):
        raise ValueError(f"needs: {', '.join(sorted(unknown))}; expected some of {', '.join(NEEDS)}")
    return words


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [
        Block(
            match[2],
            match[3],
            text.count("\n", 0, match.start(3)) + 1,
            needs_of(match[1] or ""),
            match[1] == "output",
        )
        for match in FENCE.finditer(text)
    ]


@functools.cache
def can_import(module: str) -> bool:
    """Return whether a module is installed and works; mpi4py needs a library of the system's."""
    with contextlib.suppress(ImportError, RuntimeError):
        importlib.import_module("mpi4py.MPI" if module == "mpi4py" else module)
        return True
    return False


def is_there(need: str, device: str) -> bool:
    """Return whether this run has what a block needs."""
    if need in ("gpu", "gpus"):
        count = sum(each.kind == "cuda" for each in gpureduce.devices()) if device.startswith("cuda") else 0
        return count >= (2 if need == "gpus" else 1)
    return need not in ("network", "file") and can_import(need)


def runs(block: Block, device: str) -> bool:
    """Return whether a block of Python runs on a device."""
    return all(is_there(need, device) for need in block.needs)


def lacking(page: list[Block]) -> str | None:
    """Return an optional module that blocks without a mark import, and that is not installed."""
    code = "\n".join(block.code for block in page if block.language == "python" and not block.needs)
    imported = re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE)
    imported += ["matplotlib"] * ("plot(" in code or "matplotlib" in code)
    imported += ["cuda"] * bool(re.search(r"ReductionKernel|\.cu\b|exercise|Ladder\(", code))
    return next((name for name in OPTIONAL if name in imported and not can_import(name)), None)


def run(block: Block, page: Path | str, names: dict[str, object]) -> str:
    """Run a block of Python; return what it prints. Errors name the line of the page.

    A statement with a comment `# -> value` behind it is compared with the value: what it printed, or what its
    expression or the name that it assigns is.
    """
    tree = ast.parse("\n" * (block.line - 1) + block.code, str(page))
    lines = block.code.split("\n")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in tree.body:
            start = printed.tell()
            value = _run(statement, page, names)
            _, arrow, said = lines[statement.end_lineno - block.line].partition("# -> ")
            if arrow:
                shown = {printed.getvalue()[start:].strip(), repr(value), str(value)}
                if said.strip() not in shown:
                    raise AssertionError(f"{page}:{statement.lineno}: says {said}, is {sorted(shown)}")
    return printed.getvalue()


def _run(statement: ast.stmt, page: Path | str, names: dict[str, object]) -> object:
    """Run a statement; return the value of its expression, or of the name that it assigns."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), str(page), "eval"), names)
    exec(compile(ast.Module([statement], []), str(page), "exec"), names)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Name, ast.Tuple)):
        return eval(ast.unparse(statement.targets[0]), names)
    return None


def is_same(said: str, printed: str) -> bool:
    """Return whether a page says what was printed; a line `...` in it stands for any lines."""
    said, printed = (
        [line.rstrip() for line in text.strip("\n").rstrip().splitlines()] for text in (said, printed)
    )
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) + r"\n" for line in said)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def commands(text: str) -> list[list[str]]:
    """Return the command lines of a page: of its blocks of shell, and of indented ones."""
    shell = "".join(block.code for block in blocks(text) if block.language in ("bash", "sh", "console"))
    rest = FENCE.sub("", text)
    shell += "".join(re.findall(r"^ {4,}((?:gpureduce|python3?|pip) .*\n)", rest, re.MULTILINE))
    shell = re.sub(r"\\\n", " ", shell)
    found = [line.strip().removeprefix("$ ") for line in shell.splitlines()]
    return [shlex.split(line, comments=True) for line in found if line and not line.startswith("#")]


def summary(device: str) -> str:
    """Say how many blocks of Python have which marks, and how many of them run on a device."""
    marked = [block for page in PAGES for block in blocks(page.read_text("utf-8")) if block.needs]
    by_needs = collections.Counter(" ".join(block.needs) for block in marked)
    said = ", ".join(f"{needs}: {count}" for needs, count in sorted(by_needs.items()))
    count = sum(runs(block, device) for block in marked)
    return f"code blocks of pages: {len(marked)} are marked ({said}), {count} of them run here"
