"""The commands of the command line; `gpureduce.__main__` defines their arguments."""

from __future__ import annotations

import argparse
import csv
import io
import json
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import gpureduce
from gpureduce._bench import plotting
from gpureduce._bench.files import SHIPPED, check_writable
from gpureduce._config import config_lines, device_fields
from gpureduce._course.submissions import failures
from gpureduce._custom.nvrtc import CompileError
from gpureduce._device.devices import device_info
from gpureduce._device.variants import find
from gpureduce._profiles.text import metrics
from gpureduce._profiles.variant import is_source
from gpureduce._program.run import ProgramResult, run_with, settings_from
from gpureduce._rules.files import open_file, write_text
from gpureduce.course import Exercise, exercise, exercises, grade, selftest


def _csv(records: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {
            key: " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            for key, value in row.items()
        }
        for row in records
    )
    return text.getvalue()


def _print_csv(records: list[dict[str, Any]]) -> None:
    print(_csv(records), end="")


def _columns(stream: TextIO | None = None) -> int | None:
    """Return the width of the terminal of standard output or another stream; None if it is no terminal."""
    return max(40, shutil.get_terminal_size().columns) if (stream or sys.stdout).isatty() else None


def fitted(text: str, stream: TextIO | None = None, indent: int = 4) -> str:
    """Wrap the lines of a text to the width of a terminal; elsewhere return it unchanged."""
    columns = _columns(stream)
    if columns is None:
        return text
    lines = []
    for line in text.split("\n"):
        further = " " * (len(line) - len(line.lstrip()) + indent)
        wrap = textwrap.TextWrapper(
            columns, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
        )
        lines += wrap.wrap(line) if len(line) > columns else [line]
    return "\n".join(lines)


def _print(text: object, indent: int = 4) -> None:
    print(fitted(str(text), indent=indent))


def _narrowed(table: list[str]) -> list[str]:
    """Split a Markdown table into several that fit a terminal, each with the first column."""
    columns = _columns()
    if columns is None or len(table[0]) <= columns:
        return table
    rows = [line[2:-2].split(" | ") for line in table]
    widths = [len(cell) + 3 for cell in rows[0]]
    parts = [[0]]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and 1 + sum(widths[each] for each in parts[-1]) + widths[i] > columns:
            parts.append([0])
        parts[-1].append(i)
    texts = ["\n".join(f"| {' | '.join(row[i] for i in part)} |" for row in rows) for part in parts]
    return "\n\n".join(texts).split("\n")


def _print_json(row: Any) -> None:
    print(json.dumps(row, indent=2))


def run_info(args: argparse.Namespace) -> int:
    """Show versions, devices, libraries and paths."""
    if args.csv:
        _print_csv([device_fields(device) for device in gpureduce.devices()])
        return 0
    config = gpureduce.show_config("dicts")
    if args.json:
        _print_json(config)
    else:
        for line in config_lines(config):
            _print(line, 9)
    return 0


def run_variants(args: argparse.Namespace) -> int:
    """List the variants."""
    records: list[dict[str, Any]] = [
        {
            "variant": variant.name,
            "ladder": variant.ladder,
            "role": variant.role,
            "after": variant.after,
            "title": variant.title,
            "technique": variant.technique,
            "ops": variant.ops,
            "dtypes": variant.dtypes,
            "backends": variant.backends,
            "compute_capability": variant.compute_capability,
            "block_sizes": variant.block_sizes,
            "installed": variant.installed,
        }
        for variant in gpureduce.variants()
    ]
    if args.json:
        _print_json(records)
    elif args.csv:
        _print_csv(records)
    else:
        width = max(len(variant["title"]) for variant in records)
        for variant in records:
            missing = "" if variant["installed"] else " (not installed)"
            title = f"{variant['title']}:" if _columns() else f"{variant['title']:<{width}} "
            _print(f"{variant['variant']:<13} {title} {variant['technique']}{missing}", 14)
    return 0


def _load(file: str) -> np.ndarray:
    """Return the array in a .npy file without reading it."""
    with open_file(file) as opened:
        begin = opened.read(6)
    if begin[:4] == b"PK\3\4":
        raise ValueError(f"{file}: contains several arrays; numpy.save writes one array to a .npy file")
    if begin != b"\x93NUMPY":
        raise ValueError(
            f"{file}: not a .npy file; convert a text file by"
            " numpy.save('FILE.npy', numpy.loadtxt('FILE.txt'))"
        )
    try:
        with np.errstate(all="ignore"):
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        array.reshape(array.shape)  # NumPy takes True for an extent, and refuses it later
    except (OSError, KeyboardInterrupt):
        raise
    except Exception as error:  # for a malformed header, NumPy raises exceptions of its parser
        raise ValueError(f"{file}: not an array of numbers ({error})") from None
    return array


def run_sum(args: argparse.Namespace) -> int:
    """Sum the numbers in a file."""
    array = _load(args.file)
    device = device_info(args.device)
    options = {"variant": args.variant, "block_size": args.block_size, "grid_size": args.grid_size}
    progress = args.variant == "auto" and _columns(sys.stderr) is not None  # named variants do not report
    result = gpureduce.sum(array, device=device, progress=progress, **options)
    if not (args.json or args.csv):
        print(result)
        return 0
    value = result.item()
    variant = {
        "file": args.file,
        "shape": array.shape,
        "dtype": array.dtype.name,
        "variant": args.variant,
        "device": str(device),
        "result_dtype": result.dtype.name,
        "result": value if isinstance(value, (int, float)) and np.isfinite(value) else str(value),
    }
    if args.json:
        _print_json(variant)
    else:
        _print_csv([variant])
    return 0


def _check_picture(path: str) -> None:
    """Check that a picture can be written, which needs matplotlib."""
    plotting.check_name(path)
    with plotting.style():
        check_writable(path)


def _flat(lists: list[list[str]] | None) -> list[str] | None:
    return None if lists is None else [word for words in lists for word in words]


def run_bench(args: argparse.Namespace) -> int:
    """Measure variants."""
    if args.out and args.out.endswith(plotting.FORMATS):
        raise ValueError(f"out: bench writes JSON; draw it by `gpureduce plot FILE.json -o {args.out}`")
    if args.out:
        check_writable(args.out)
    result = gpureduce.bench(
        args.n,
        _flat(args.variants),
        _flat(args.ops),
        _flat(args.dtypes),
        args.device,
        args.repeats,
        not args.no_progress,
        block_size=args.block_size,
    )
    if args.out:
        result.to_json(args.out)
    if args.json:
        print(result.to_json(), end="")
    elif args.csv:
        print(result.to_csv(), end="")
    else:
        head, _, table = str(result).partition("\n\n")
        _print(head)
        print("", *_narrowed(table.split("\n")), sep="\n")
    return 0


def _ladder(variant: str) -> str:
    """Return the ladder of a variant; user kernels are reductions."""
    return "reduction" if is_source(variant) else find(variant).ladder


def _sizes(n: int | tuple[int, ...] | None, variant: str) -> Any:
    """Return the sizes as `profile` takes them, or the defaults of the variant's ladder."""
    ladder = _ladder(variant)
    if n is None:
        n = {"matmul": (256, 256, 64), "conv": (1, 18, 66, 12, 24, 3, 3)}.get(ladder, 1 << 20)
    if (len(n) if isinstance(n, tuple) else 1) not in {"matmul": (1, 3), "conv": (7,)}.get(ladder, (1,)):
        sizes = {"matmul": "M=N=K or MxNxK", "conv": "NxHxWxCxFxKHxKW"}.get(ladder, "an element count")
        raise ValueError(f"n: {variant} expects {sizes}")
    if ladder != "conv" or not isinstance(n, tuple):
        return n
    pictures, height, width, channels, filters, *kernel = n
    return (pictures, height, width, channels), (filters, *kernel, channels)


def run_profile(args: argparse.Namespace) -> int:
    """Run a variant on the simulator and show its counters."""
    n = _sizes(args.n, args.variant)
    ladders = {_ladder(args.variant), _ladder(args.compare or args.variant)}
    if len(ladders) > 1 and ladders & {"matmul", "conv"}:
        raise ValueError(f"compare: {args.variant} and {args.compare} belong to different ladders")
    if args.compare and (args.ptx or args.timeline):
        raise ValueError("compare: not supported with --ptx or --timeline; use it alone or with --source")
    if args.out:
        _check_picture(args.out)
    if args.player:
        check_writable(args.player)

    def profile(variant: str) -> gpureduce.Profile:
        return gpureduce.profile(
            n,
            variant,
            args.op,
            block_size=args.block_size,
            grid_size=args.grid_size,
            dtype=None if is_source(variant) and args.dtype == "float32" else args.dtype,
        )

    profiled = profile(args.variant)
    if args.out:
        plotting.save(plotting.plot_timeline(profiled.timeline(), dark=args.dark), args.out)
    if args.player:
        profiled.player().save(args.player)
    if args.json or args.csv:
        names = [args.variant, *([args.compare] if args.compare else [])]
        profiles = [profiled, *([profile(args.compare)] if args.compare else [])]
        records = [_profile_record(name, each) for name, each in zip(names, profiles, strict=True)]
        if args.json:
            _print_json(records if args.compare else records[0])
        else:
            _print_csv(records)
    elif args.compare:
        compared = profiled.compare(profile(args.compare))
        _print(compared.sources().text(_columns()) if args.source else compared)
    elif args.timeline:
        columns = _columns()
        wide = 96 if columns is None else min(96, columns - 13)
        _print(profiled.timeline().text(wide))
    elif args.source or args.ptx:
        _print(profiled.annotate(ptx=args.ptx, predicated=args.predicated, width=_columns()))
    else:
        _print(profiled)
    return 0


def _profile_record(variant: str, profile: gpureduce.Profile) -> dict[str, Any]:
    figures = dict(metrics(profile))
    return {"variant": variant, "n": profile.n, **figures, "hazards": len(profile.findings)}


def run_ladder(args: argparse.Namespace) -> int:
    """Check a user kernel, and compare it with the rungs."""
    rung = gpureduce.course.ladder(
        Path(args.file),
        args.kernel,
        block_size=tuple(args.block_size),
        elements=args.elements,
        grid=args.grid_size,
    )
    report = rung.check()
    stopped = any(finding.kind in ("stopped", "grid") for finding in report.findings)
    comparison = None if stopped else rung.bench(args.n, _flat(args.variants), device=args.device)
    rows = [] if comparison is None else comparison.records()
    if args.json:
        _print_json({**report.as_dict(), "rows": rows})
    elif args.csv:
        _print_csv(rows or [report.as_dict() | {"findings": [each.kind for each in report.findings]}])
    else:
        _print(report)
        if args.source and not stopped:
            _print(f"\n{rung.profile(args.n).annotate(width=_columns())}")
        if comparison is not None:
            print("", *_narrowed(comparison.table().split("\n")), sep="\n")
    return 0 if report.passed else 1


def run_export(args: argparse.Namespace) -> int:
    """Write a rung as one file."""
    text = gpureduce.kernels.export(args.variant, dtype=args.dtype, block_size=args.block_size)
    if args.out:
        write_text(args.out, text)
    else:
        print(text, end="")
    return 0


def _chosen(args: argparse.Namespace) -> Exercise:
    if args.number is None:
        raise ValueError(
            f"exercise {args.action}: the number is missing; `gpureduce exercise list` lists them"
        )
    return exercise(args.number, args.folder)


def _list_exercises(args: argparse.Namespace) -> int:
    known = exercises(args.folder)
    if args.json:
        _print_json([{"name": each.name, "title": each.title, "rung": each.rung} for each in known])
    else:
        for each in known:
            _print(f"{each.name:<26} {each.title}", 27)
    return 0


def _test_exercises(args: argparse.Namespace) -> int:
    """Test one exercise, or all, and say what is wrong with them."""
    chosen = exercises(args.folder) if args.number is None else [_chosen(args)]
    found = {each.name: selftest(each) for each in chosen}
    if args.json:
        _print_json(found)
    else:
        for name, faults in found.items():
            _print("\n".join(faults) or f"{name}: sound")
    return 1 if any(found.values()) else 0


def _grade_submissions(args: argparse.Namespace) -> int:
    """Grade files, write a grade book, and say how often each part failed."""
    if not args.files:
        raise ValueError("exercise grade: the files are missing: gpureduce exercise grade 3 submissions/*.cu")
    graded = grade(_chosen(args), args.files, seconds=args.seconds, mebibytes=args.memory, jobs=args.jobs)
    rows = [each.row() for each in graded]
    if args.out:
        write_text(args.out, _csv(rows))
    if args.json:
        _print_json(
            [row | {"parts": each.grade.as_dict()["parts"]} for row, each in zip(rows, graded, strict=True)]
        )
        return 0
    if not args.out:
        _print_csv(rows)
    failed = ", ".join(f"{name} {count}" for name, count in failures(graded).items())
    passed = sum(each.grade.passed for each in graded)
    print(fitted(f"{passed} of {len(graded)} passed; failed: {failed}", sys.stderr), file=sys.stderr)
    return 0


def _start_exercise(chosen: Exercise, path: Path) -> int:
    in_notebook = path.suffix == ".ipynb"
    with path.open("x", encoding="utf-8") as file:  # existing files are not overwritten
        file.write(chosen.notebook() if in_notebook else chosen.start)
    how = "running its cell" if in_notebook else f"`gpureduce exercise check {chosen.number}`"
    _print(f"{chosen.task}\nThe file is {path}; {how} grades it.")
    return 0


def run_exercise(args: argparse.Namespace) -> int:
    """List the exercises, start one, show its hint, grade a solution or many, or test the exercises."""
    several = {"list": _list_exercises, "selftest": _test_exercises, "grade": _grade_submissions}
    if args.action in several:
        return several[args.action](args)
    if len(args.files) > 1:
        raise ValueError(f"exercise {args.action}: expected one file, got {len(args.files)}")
    chosen = _chosen(args)
    path = Path(args.files[0] if args.files else f"{chosen.name}.cu")
    if args.action == "hint":
        _print(chosen.hint)
        return 0
    if args.action == "start":
        return _start_exercise(chosen, path)
    checked = chosen.check(path)
    if args.json:
        _print_json(checked.as_dict())
        return 0 if checked.passed else 1
    _print(checked)
    if checked.passed:
        if chosen.rung is not None:
            _print(f"The rung that does this: {chosen.rung}; gpureduce.source({chosen.rung!r}) shows it.")
        following = chosen.next()
        if following is not None:
            _print(f"Next: gpureduce exercise start {following.number}, {following.title}")
    return 0 if checked.passed else 1


def run_run(args: argparse.Namespace) -> int:
    """Run a whole program, and return its exit status, or that of findings."""
    races = "global" if args.races == "global" else args.races is not None
    player = None if args.player is None else (args.launch, args.block)
    if args.player is not None:
        check_writable(args.player)
    settings = settings_from(
        args.device or "sim", races, args.profile is not None, args.clock, args.max_steps,
        shlex.split(args.nvcc or ""), player,
    )  # fmt: skip
    sys.stdout.flush()
    try:
        result, report = run_with(args.program, args.args, settings, {})
    except CompileError as error:
        print(f"gpureduce: {error}", file=sys.stderr)
        return 2
    if result.compiler_output:
        print(result.compiler_output, file=sys.stderr)
    for finding in result.findings:
        print(fitted(f"gpureduce: {finding}", sys.stderr), file=sys.stderr)
    if settings.races and not result.findings:
        print("gpureduce: no races", file=sys.stderr)
    if args.profile is not None:
        _write_profile(result.profile, args.profile)
    if args.player is not None:
        _write_player(result, args)
    if result.findings and settings.races:
        return int(args.findings_status)
    status = result.status if result.status >= 0 else 128 - result.status
    return status or int(report.failed > 0)


def _write_player(result: ProgramResult, args: argparse.Namespace) -> None:
    """Write the page of the launch that was asked for, or say on standard error that it is not there."""
    if result.player is not None:
        result.player.save(args.player)
        return
    print(
        f"gpureduce: no player: launch {args.launch} with block {args.block} did not run; "
        f"the program had {result.launches} launches",
        file=sys.stderr,
    )


def _write_profile(profile: gpureduce.Profile | None, path: str) -> None:
    """Write the counters by source line to a file, or to standard error."""
    if profile is None:
        print("gpureduce: no profile: the program launched no kernel", file=sys.stderr)
    elif path:
        write_text(path, f"{profile.annotate()}\n")
    else:
        print(profile.annotate(width=_columns(sys.stderr)), file=sys.stderr)


def run_plot(args: argparse.Namespace) -> int:
    """Draw results of bench to a file."""
    result = gpureduce.BenchResult.from_json(Path(args.results) if args.results else SHIPPED)
    _check_picture(args.out)
    names = _flat(args.variants)
    asked = "all" if names == ["all"] else names
    plotting.save(result.plot(args.kind, dark=args.dark, variants=asked), args.out)
    print(args.out)
    return 0
