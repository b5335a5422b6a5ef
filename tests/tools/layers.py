#!/usr/bin/env python3
"""Refuses includes and imports that go up or round in circles: layers.py [--root R] [--objects DIR].

ROOMS, HEADERS and PACKAGE below are the order, from the bottom up. Each folder counts as one node, next to
the other files and folders of its parent, so that folders form no cycles. In C and CUDA a node is all files
of one stem: a header, its .c and its table. A header of the kernels that only one family uses must be in the
folder of that family. With --objects (a folder of the build) symbols that one compiled file uses of another
count like includes, so a declaration in one file and a definition in another are seen, too. An import of a
module of gpureduce that writes a global of another module is refused as well.
"""

import argparse
import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from os.path import isfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

# Each folder's children, the lowest first; those in one tuple stand side by side and use nothing of each
# other. Rooms of csrc/ and folders of gpureduce/ have to be here; what is below is ordered only if listed.
ROOMS = {
    "": [
        ("ptxsim", "base"),
        ("device", "cudart"),
        "program",
        "rungs",
        "executor",
        ("reduce", "matmul", "conv", "scan", "normalize", "order"),
        "exact",
        "segments",
        "groups",
        ("states", "jax"),
        "multi",
        "python",
    ],
    "ptxsim": ["parser", "interpreter", "instrumentation"],
    "device": [("cuda", "sim")],
    "reduce": ["ladder", "flat", "general", "custom"],
}
# The same for cuda_kernels/include: SHARED_HEADERS, then a folder for the headers of each family of kernels.
SHARED_HEADERS = ["common", "grid", "ops"]
FAMILIES = ["reduce", "scan", "normalize", "order", "states", "exact", "matmul"]
FAMILIES += ["conv", "segments", "multi", "groups"]
HEADERS = {
    "": [*SHARED_HEADERS, tuple(FAMILIES[:-4]), tuple(FAMILIES[-4:-1]), FAMILIES[-1]],
    "reduce": [("ladder", "flat", "general"), "ops", "custom.*"],
}
PACKAGE = {
    "": [
        "_rules",
        "_device",
        "_arrays",
        "_reduce",
        "_segments",
        "_states",
        "_matmul",
        "_conv",
        ("_scans", "_normalize", "_order", "_multi"),
        "_custom",
        ("_profiles", "_torch", "_jax"),
        "_program",
        "_bench",
        "_course",
    ],
}
# The folders of cuda_kernels/include with a namespace of their own; others are in that of the folder above.
NAMESPACES = [*SHARED_HEADERS, *FAMILIES, "reduce/ladder"]
# Which folders of one row may use the other.
BESIDE = {("conv", "matmul")}

# The headers by which other rooms enter one; of a room that is not here, any.
DOORS = {
    "ptxsim": [
        "ptxsim.h",
        "diagnostic.h",
        "location.h",
        "instrumentation/access_log.h",
        "instrumentation/counters.h",
        "instrumentation/global_races.h",
        "instrumentation/predication.h",
        "instrumentation/racecheck.h",
        "instrumentation/trace.h",
    ],
    "device": [
        "device.h",
        "tables.h",
        "backend.h",
        "process.h",
        "sim/backend.h",
    ],
    "program": ["program.h", "profile.h"],
    "rungs": ["rung.h"],
    "executor": ["executor.h", "staging_ring.h"],
    "reduce": [
        "reduce.h",
        "ladder/ladder.h",
        "ops.h",
        "params.h",
        "general/plan.h",
        "general/params.h",
        "convert/convert.h",
        "moments/moments.h",
        "custom/custom.h",
        "custom/params.h",
    ],
    "matmul": ["matmul.h", "params.h"],
    "conv": ["conv.h"],
    "exact": ["exact.h", "params.h", "superaccumulator.h"],
    "states": ["states.h"],
    "scan": ["scan.h", "ladder/ladder.h", "ladder/params.h"],
    "normalize": ["normalize.h"],
    "segments": ["segments.h", "labels/labels.h", "labels/masked.h"],
    "groups": [
        "groups.h",
        "ladder/ladder.h",
        "ladder/params.h",
        "quantiles/quantiles.h",
        "weights/weights.h",
    ],
    "order": ["order.h"],
    "multi": ["multi.h"],
    "jax": ["jax.h"],
}

# What a room may include of others, if that is less than their doors.
ONLY = {"cudart": ["ptxsim/ptxsim.h"]}

# Where includes of a folder of csrc/ are looked for, besides csrc/ itself.
ALSO_ROOTED = {"ptxsim": "ptxsim"}
# What kernels and the host share: nothing else of csrc/ is for kernels.
SHARED = re.compile(r".+/params\.h|.+\.def")

# All kernels of a family, as a user of headers.
KERNEL_FILES = "*.cu"

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
LAUNCH = re.compile(r"\(\s*gr_launch\s*\)\s*\{|\bgr_launch\s+\w+\s*(?:\[\w*\]\s*)?=\s*\{")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


class Edge(NamedTuple):
    """One unit uses another, as said at a place in a file."""

    user: str
    used: str
    place: str
    how: str


def main() -> int:
    """Print what is wrong; return how much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--objects", type=Path, help="where csrc/ is compiled, for the symbols")
    arguments = parser.parse_args()
    found = sorted(set(violations(arguments.root, arguments.objects)))
    print("\n".join(found) if found else "layers: nothing goes up or round")
    return min(len(found), 100)


def violations(root: Path, objects: Path | None = None) -> Iterator[str]:
    """Yield a line for each thing that is wrong in the tree at `root`."""
    edges, refused = includes(root)
    yield from refused
    if objects:
        edges += symbols(root, objects)
    yield from unplaced("csrc", (folder.name for folder in root.joinpath("csrc").iterdir()), ROOMS)
    yield from ordered("csrc", edges, ROOMS)
    package = root / "gpureduce"
    yield from unplaced("gpureduce", (init.parent.name for init in package.glob("*/__init__.py")), PACKAGE)
    yield from ordered("gpureduce", imports(package), PACKAGE)
    yield from foreign_globals(package)
    headers = root / "cuda_kernels" / "include"
    yield from unplaced("cuda_kernels/include", (path.name for path in headers.iterdir()), HEADERS)
    edges = kernel_includes(root)
    yield from ordered("cuda_kernels/include", edges, HEADERS)
    yield from unshared(headers, edges)
    yield from namespaces(headers)
    yield from kernels(root)
    yield from launches(root)
    yield from foreign_tests(root)


# ---- the order ----


def unplaced(tree: str, names: Iterable[str], order: dict) -> Iterator[str]:
    """Yield a line for each child of the tree's root that the order does not name."""
    for name in sorted(set(names) - ranks(order[""]).keys()):
        yield f"{tree}/{name}:1: is not in the order of tests/tools/layers.py"


def ranks(order: list) -> dict[str, int]:
    """Return the place of each name in an order."""
    rows = [(row,) if isinstance(row, str) else row for row in order]
    return {name: place for place, row in enumerate(rows) for name in row}


def ordered(tree: str, edges: list[Edge], order: dict) -> Iterator[str]:
    """Yield a line for each edge that goes up in its folder, or is part of a circle there."""
    folders: dict[str, list[tuple[str, str, Edge]]] = {}
    for edge in edges:
        user, used = PurePosixPath(edge.user).parts, PurePosixPath(edge.used).parts
        same = next((i for i, (a, b) in enumerate(zip(user, used, strict=False)) if a != b), None)
        if same is not None:
            folders.setdefault("/".join(user[:same]), []).append((user[same], used[same], edge))
    for folder, between in folders.items():
        rank = ranks(order.get(folder, []))

        def up(user: str, used: str, rank: dict[str, int] = rank) -> bool:
            both = user in rank and used in rank
            return both and rank[user] <= rank[used] and (user, used) not in BESIDE

        # Without those that go up, or one of them would make a circle of all that go down.
        members = circles({(user, used) for user, used, _ in between if not up(user, used)})
        for user, used, edge in between:
            step = f"{edge.place}: {edge.how}, {user} -> {used} in {'/'.join([tree, folder]).rstrip('/')},"
            if up(user, used):
                yield f"{step} goes up"
            elif circle := next((names for names in members if user in names and used in names), None):
                yield f"{step} is part of the circle of {' '.join(sorted(circle))}"


def circles(pairs: set[tuple[str, str]]) -> list[set[str]]:
    """Return the sets of nodes that reach each other."""
    reached: dict[str, set[str]] = {}
    for user, used in pairs:
        reached.setdefault(user, set()).add(used)
        reached.setdefault(used, set())
    for middle in reached:
        for node in reached:
            if middle in reached[node]:
                reached[node] |= reached[middle]
    sets = {frozenset(other for other in reached[node] if node in reached[other]) for node in reached}
    return [set(names) for names in sets if names]


# ---- C ----


@functools.cache  # the tests change one file at a time
def _includes_of(text: str) -> tuple[tuple[int, str], ...]:
    """Return the files that a text includes, with the numbers of their lines."""
    lines = enumerate(text.splitlines(), 1)
    return tuple((number, match[1]) for number, line in lines if (match := INCLUDE.match(line)))


def includes(root: Path) -> tuple[list[Edge], list[str]]:
    """Return which units of csrc/ include which, and a line for each include that is not one of them."""
    csrc = root / "csrc"
    edges, refused = [], []
    for path in sorted(csrc.rglob("*.[chd]*")):
        name = path.relative_to(csrc)
        places = ["", f"{ALSO_ROOTED.get(name.parts[0], '.')}/"]
        for number, included in _includes_of(path.read_text("utf-8")):
            place = f"csrc/{name}:{number}"
            used = next((each + included for each in places if isfile(f"{csrc}/{each}{included}")), None)
            if used is None:
                refused.append(f"{place}: {included} is no file of csrc/")
                continue
            room, _, header = used.partition("/")
            doors = ONLY.get(name.parts[0])
            if room != name.parts[0] and (
                header not in DOORS.get(room, [header]) or (doors is not None and used not in doors)
            ):
                refused.append(f"{place}: {included} is not for other rooms than {room}")
            edges.append(Edge(unit(name), unit(used), place, f"include of {included}"))
    return edges, refused


@functools.cache
def unit(path: Path | str) -> str:
    """Return the unit that a file belongs to: all files of its stem."""
    return PurePosixPath(path).with_suffix(".*").as_posix()


def symbols(root: Path, objects: Path) -> list[Edge]:
    """Return which units use symbols that others define."""
    defined: dict[str, str] = {}
    used = []
    for path in sorted(objects.rglob("*.o")):
        parts = path.parts
        if "csrc" not in parts:
            continue
        name = Path(*parts[len(parts) - parts[::-1].index("csrc") :]).with_suffix(".c")
        if not root.joinpath("csrc", name).is_file():
            continue  # left by an older build
        text = subprocess.run(["nm", "-g", "-P", path], capture_output=True, text=True, check=True).stdout
        for symbol, kind, *_ in (line.split() for line in text.splitlines()):
            if kind in "Uwv":
                used.append((name, symbol))
            else:
                defined[symbol] = unit(name)
    if not defined:
        raise SystemExit(f"no compiled files of csrc/ in {objects}")
    uses: dict[tuple[Path, str], list[str]] = {}
    for name, symbol in used:
        if symbol in defined:
            uses.setdefault((name, defined[symbol]), []).append(symbol)
    edges = []
    for (name, other), names in uses.items():
        first = names[0]
        lines = root.joinpath("csrc", name).read_text("utf-8").splitlines()
        line = next((number for number, text in enumerate(lines, 1) if first in text), 1)
        more = f" and {len(names) - 1} more" if names[1:] else ""
        edges.append(Edge(unit(name), other, f"csrc/{name}:{line}", f"use of {first}{more}"))
    return edges


@functools.cache
def _launches_of(text: str) -> tuple[int, ...]:
    """Return the lines of a text that make launches."""
    text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return tuple(text.count("\n", 0, match.start()) + 1 for match in LAUNCH.finditer(text))


def launches(root: Path) -> Iterator[str]:
    """Yield a line for each place that makes a launch, unless it is the only one and in csrc/program/."""
    places = []
    for path in sorted(root.joinpath("csrc").rglob("*.[ch]")):
        name = path.relative_to(root / "csrc")
        if name.parts[0] == "device":
            continue
        places += [(name, line) for line in _launches_of(path.read_text("utf-8"))]
    if len(places) == 1 and places[0][0].parts[0] == "program":
        return
    for name, line in places or [(Path("program"), 1)]:
        yield f"csrc/{name}:{line}: {len(places)} places make a gr_launch; it should be one, in csrc/program/"


def kernels(root: Path) -> Iterator[str]:
    """Yield a line for each kernel outside a ladder's folder, and each include that is not for it."""
    folder = root / "cuda_kernels"
    for path in sorted(folder.rglob("*.cu*")):
        name = path.relative_to(folder)
        ladder = name.parts[0]
        room = root.joinpath("csrc", ladder)
        if (
            ladder != "include"
            and not room.joinpath("rungs.def").is_file()
            and not (name.parts[1] in ("auto", "lines") and room.joinpath("params.h").is_file())
        ):
            yield (
                f"cuda_kernels/{name}:1: is not in the folder of a ladder, which has a csrc/*/rungs.def, nor "
                "in an auto/ or lines/ whose csrc/* has a params.h"
            )
        for number, included in _includes_of(path.read_text("utf-8")):
            if isfile(f"{folder}/include/{included}"):
                continue
            local = ladder != "include" and isfile(f"{path.parent}/{included}")
            shared = isfile(f"{root}/csrc/{included}") and SHARED.fullmatch(included)
            if not local and not shared:
                yield f"cuda_kernels/{name}:{number}: {included} is not for kernels"


def kernel_includes(root: Path) -> list[Edge]:
    """Return which headers of the kernels include which; the kernels of a family count as one file of it."""
    folder = root / "cuda_kernels"
    edges = []
    for path in sorted(folder.rglob("*.cu*")):
        name = path.relative_to(folder)
        is_header = name.parts[0] == "include"
        user = unit(Path(*name.parts[1:])) if is_header else f"{name.parts[0]}/{KERNEL_FILES}"
        for number, included in _includes_of(path.read_text("utf-8")):
            if isfile(f"{folder}/include/{included}"):
                place = f"cuda_kernels/{name}:{number}"
                edges.append(Edge(user, unit(included), place, f"include of {included}"))
    return edges


def unshared(headers: Path, edges: list[Edge]) -> Iterator[str]:
    """Yield a line for each header in a shared folder that fewer than two families of kernels use.

    A family uses what its own files include, and what shared headers include for it.
    """
    users: dict[str, set[str]] = {}
    for edge in edges:
        users.setdefault(edge.used, set()).add(edge.user)

    def families(header: str) -> set[str]:
        found, waiting = {header}, [header]
        while waiting:
            more = users.get(waiting.pop(), set()) - found
            found |= more
            waiting += [user for user in more if PurePosixPath(user).parts[0] in SHARED_HEADERS]
        return {PurePosixPath(user).parts[0] for user in found}.difference(SHARED_HEADERS)

    for folder in SHARED_HEADERS:
        for path in sorted(headers.joinpath(folder).rglob("*.cuh")):
            name = path.relative_to(headers)
            if len(known := families(unit(name))) < 2:
                by = f"only {known.pop()} uses it" if known else "nothing uses it"
                yield f"cuda_kernels/include/{name}:1: is in a shared folder, but {by}"


def namespaces(headers: Path) -> Iterator[str]:
    """Yield a line for each header that is not in the namespace of its folder, as a whole.

    Headers that make kernels in the file that includes them use that namespace at their head instead.
    """
    for path in sorted(headers.rglob("*.cuh")):
        name = path.relative_to(headers)
        folder = next((str(each) for each in name.parents if str(each) in NAMESPACES), None)
        if folder is None:
            continue
        namespace = f"gr::{folder.replace('/', '::')}"
        if not _is_in_namespace(path.read_text("utf-8"), namespace):
            yield f"cuda_kernels/include/{name}:1: is not in namespace {namespace}"


@functools.cache
def _is_in_namespace(text: str, namespace: str) -> bool:
    """Return whether a header is in a namespace as a whole, or uses it at its head, or has no code."""
    text = PREPROCESSOR.sub("", COMMENT.sub("", text)).strip()
    braces = list(re.finditer("[{}]", text))
    depth = itertools.accumulate(1 if brace[0] == "{" else -1 for brace in braces)
    closes = [brace.start() for brace, open_ in zip(braces, depth, strict=True) if open_ == 0]
    is_whole = re.match(rf"namespace {namespace}(::\w+)* {{", text) and closes == [len(text) - 1]
    return not text or bool(is_whole) or text.startswith(f"using namespace {namespace};")


# ---- Python ----


def foreign_globals(package: Path) -> Iterator[str]:
    """Yield a line for each statement run by an import that writes a global of another module of the package.

    Such a global depends on which modules were imported, which the order of imports does not show.
    """
    files = _modules(package)
    for module, path in files.items():
        imports, writes = _imports_and_writes(path.read_text("utf-8"))
        imported = {
            alias.asname or alias.name.split(".")[0]: name
            for node in imports
            for alias, name in zip(node.names, _names(node, f"{package.name}/{module}"), strict=True)
            if name.split(".")[0] == package.name
        }
        for line, target, how in writes:
            base = target.split(".")[0]
            used = imported.get(base, "").split(".")
            if base not in imported or not (used == [package.name] or "/".join(used[1:]) in files):
                continue
            place = f"{package.name}/{path.relative_to(package)}:{line}"
            yield f"{place}: {how} {target} writes a global of another module"


def foreign_tests(root: Path) -> Iterator[str]:
    """Yield a line for each import between folders of tests/ other than that of tests/support."""
    for path in sorted(root.glob("tests/*/*.py")):
        name = path.relative_to(root)
        for node in _imports_and_writes(path.read_text("utf-8"))[0]:
            for used in {
                used.split(".")[1] for used in _names(node, name.as_posix()) if used.startswith("tests.")
            }:
                # Programs that the tests are no part of may use anything.
                if used not in ("support", "tools", name.parts[1]) and path.name.startswith("test_"):
                    yield f"{name}:{node.lineno}: import of tests/{used}, not of tests/support"
                elif name.parts[1] == "support" and used != "support":
                    yield f"{name}:{node.lineno}: import of tests/{used} by tests/support"


def _import_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when a module is imported: none in functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _import_time(child)


def _written(node: ast.AST) -> list[tuple[str, str]]:
    """Return the attributes that a node writes, by assignment or by setattr, and how."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        return [(ast.unparse(node), "assignment to")]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr") and node.args:
        return [(ast.unparse(node.args[0]), "setattr of")]
    return []


def _modules(package: Path) -> dict[str, Path]:
    """Return the file of each module of the package, by its path without a suffix."""
    return {
        path.relative_to(package).with_suffix("").as_posix(): path
        for suffix in (".pyi", ".py")  # the extension has a .pyi alone
        for path in sorted(package.rglob(f"*{suffix}"))
    }


def imports(package: Path) -> list[Edge]:
    """Return which modules of the package import which, in functions too, but not for type checkers alone."""
    files = _modules(package)
    edges = set()
    for module, path in files.items():
        for node in _imports_and_writes(path.read_text("utf-8"))[0]:
            for name in _names(node, f"{package.name}/{module}"):
                used = _module(name, package.name, files)
                if used and used != module:
                    place = f"{package.name}/{path.relative_to(package)}:{node.lineno}"
                    edges.add(Edge(module, used, place, f"import of {used}"))
    return sorted(edges)


@functools.cache  # the tests change one file at a time
def _imports_and_writes(
    text: str,
) -> tuple[list[ast.Import | ast.ImportFrom], list[tuple[int, str, str]]]:
    """Return the imports of a module, and line, target and kind of the writes that its import runs."""
    tree = ast.parse(text)
    writes = [(node.lineno, *each) for node in _import_time(tree) for each in _written(node)]
    return list(_importing(tree)), writes


def _importing(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports below a node, in functions too."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        children = node.orelse
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _importing(child)


def _names(node: ast.Import | ast.ImportFrom, module: str) -> list[str]:
    """Return what an import in a module names, with dots."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    above = module.split("/")[: -node.level] if node.level else []
    return [".".join([*above, *([node.module] if node.module else []), alias.name]) for alias in node.names]


def _module(name: str, package: str, files: dict[str, Path]) -> str | None:
    """Return the module that is imported, or the one with the name that is imported from it."""
    parts = name.split(".")
    if parts[0] != package:
        return None
    for end in (len(parts), len(parts) - 1):
        path = "/".join(parts[1:end])
        for module in (path, f"{path}/__init__".lstrip("/")):
            if module in files:
                return module
    return None


if __name__ == "__main__":
    sys.exit(main())
