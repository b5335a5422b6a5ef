"""The command line of all benchmarks: ``python benchmarks/run.py NAME [options]``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from benchmarks import suite
from benchmarks.harness import libraries
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from benchmarks.harness.results import RESULTS
from gpureduce import DeviceError
from gpureduce._bench import environment, files

PROGRAM = "python benchmarks/run.py"


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return [module.name for module in pkgutil.iter_modules(suite.__path__)]


def find(name: str) -> type[Benchmark]:
    """Return the class of a benchmark: the attribute BENCHMARK of its module in benchmarks/suite."""
    return importlib.import_module(f"benchmarks.suite.{name}").BENCHMARK


def parse(name: str, argv: list[str]) -> argparse.Namespace:
    """Read the options of a benchmark."""
    benchmark = find(name)
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {name}", description=benchmark.summary)
    parser.add_argument("--out", type=files.writable_path, metavar="FILE", help="result file to write (JSON)")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats: a first look")
    parser.add_argument("--device", default=benchmark.device, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=benchmark.repeats, help="default: %(default)s")
    parser.add_argument("--without", nargs="+", default=[], metavar="LIBRARY", help="contenders to leave out")
    parser.add_argument("--nvcc", metavar="PATH", help="the compiler of CUB's contenders (default: found)")
    parser.add_argument("--table", metavar="FILE", help="measure nothing; print a result file as Markdown")
    parser.add_argument("--chart", type=files.writable_path, metavar="SVG", help="chart to write")
    benchmark.add_arguments(parser)
    if parser.parse_known_args(argv)[0].quick:
        parser.set_defaults(**benchmark.quick)
    options = parser.parse_args(argv)
    if options.repeats < 1:
        parser.error(f"argument --repeats: expected 1 or more, got {options.repeats}")
    return options


def prepare(name: str, options: argparse.Namespace) -> Benchmark:
    """Return a benchmark that is ready to run.

    Raises
    ------
    DeviceError
        If the device is absent.
    MissingLibraryError
        If a library that it needs is not installed.
    """
    benchmark = find(name)
    where = environment.find_device(options.device)
    simulated = where.kind != "cuda"
    optional = () if simulated else benchmark.optional
    found = libraries.load(benchmark.required, optional, options.without, options.nvcc)
    if simulated:
        found.missing |= dict.fromkeys(benchmark.optional, "it needs a CUDA device")
    for library, reason in found.missing.items():
        print(f"{libraries.LABELS.get(library, library)} is left out: {reason}", flush=True)
    return benchmark(options, found, where)


def measure(benchmark: Benchmark, out: str | None = None) -> dict[str, Any]:
    """Run a benchmark; return its record, which is written after each row."""
    record = environment.header(benchmark.where) | benchmark.libraries.versions()
    record |= {"method": benchmark.method, **benchmark.head(), "rows": []}
    for row in benchmark.run():
        record["rows"].append(row)
        print(benchmark.line(row), flush=True)
        files.write_result(out, record)
    benchmark.finish(record)
    files.write_result(out, record)
    return record


def run(name: str, argv: list[str]) -> int:
    """Run a benchmark by its command line; return the exit code."""
    options = parse(name, argv)
    if options.table:
        print(find(name).table(files.read_result(options.table)))
        return 0
    try:
        benchmark = prepare(name, options)
    except DeviceError as error:
        print(f"{PROGRAM} {name}: it needs a CUDA device: {error}", file=sys.stderr)
        return 2
    except libraries.MissingLibraryError as error:
        print(f"{PROGRAM} {name}: {error}", file=sys.stderr)
        return 2
    if (text := benchmark.instead()) is not None:
        print(text)
        return 0
    try:
        record = measure(benchmark, options.out)
    except WrongResultError as error:
        print(f"{PROGRAM} {name}: wrong result: {error}", file=sys.stderr)
        return 1
    print(f"\n{benchmark.table(record)}")
    drawn = benchmark.chart(record)
    if drawn is None and options.chart:
        print(f"\nno chart: {name} has nothing to draw of this result")
    if drawn is not None and (options.chart or options.quick):
        path = Path(options.chart or f"{name}.svg")
        path.write_text(drawn, encoding="utf-8")
        print(f"\nchart: {path}")
    return 0


def listing() -> str:
    """Return all names, each with its summary."""
    return "\n".join(f"{name:14} {find(name).summary}" for name in names())


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Run a benchmark. Results that are committed are in benchmarks/results.",
        epilog=f"The options of a benchmark: {PROGRAM} NAME --help. Tables of the documents:"
        f" python benchmarks/docs_tables.py. Committed results: {RESULTS}.",
    )
    parser.add_argument("--list", action="store_true", help="show all benchmarks with a line each")
    parser.add_argument("name", nargs="?", choices=names(), metavar="NAME")
    arguments = sys.argv[1:] if argv is None else argv
    own = parser.parse_args(arguments[:1])
    if own.name:
        return run(own.name, arguments[1:])
    if own.list:
        print(listing())
        return 0
    parser.print_help(sys.stderr)
    return 2
