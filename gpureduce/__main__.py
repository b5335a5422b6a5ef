"""The command line: ``gpureduce``, or ``python -m gpureduce``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TextIO

from gpureduce import DeviceError, __version__
from gpureduce import _commands as commands
from gpureduce._demo import DTYPES, GPU_SIZE, SIMULATOR_SIZE, run_demo
from gpureduce._device.devices import resolve
from gpureduce._program.run import CLOCKS, DEVICES

DESCRIPTION = "Reduce arrays on an NVIDIA GPU or on a PTX simulator; measure, profile and write CUDA kernels."
EXAMPLES = """\
examples:
  gpureduce demo                          sum an array with every variant and compare the results
  gpureduce sum measurements.npy          sum the numbers in a .npy file
  gpureduce variants                      list the variants and what each one changes
  gpureduce profile v1 --source           show the source of a rung with counters in the margin
  gpureduce profile v0 --compare v2       compare two rungs
  gpureduce profile m4 -n 256x128x64      profile a matrix multiplication
  gpureduce profile mine.cu --compare v2  compare your own kernel with a rung
  gpureduce run reduce.cu 1000            run a CUDA program, with main(), without a GPU
  gpureduce exercise list                 list the CUDA exercises
  gpureduce exercise grade 3 *.cu         grade the submissions of a class
  gpureduce export v7 -o v7.cu            write a rung as one file for nvcc, with main()
  gpureduce ladder mine.cu                check your own kernel and compare it with the rungs
  gpureduce bench -n 2^20 2^25            measure all rungs (times on a GPU, counts on the simulator)
  gpureduce plot -o ladder.svg            draw the results that the package ships

exit codes:
  0    success
  1    failure: no such device, out of memory, a wrong result, a missing library
  2    wrong command line, or a file that cannot be used
  130  interrupted
Errors are one line on standard error.
"""


def _count(text: str) -> int:
    """Return a number of elements: 1000000, 1_000_000, 1e6, 2^20 or 2**20."""
    base, power, exponent = text.replace("**", "^").partition("^")
    try:
        value = Decimal(int(base)) ** int(exponent) if power else Decimal(text)
        if 0 <= value < 2**63 and value == int(value):
            return int(value)
    except (ValueError, ArithmeticError):
        pass
    raise argparse.ArgumentTypeError(f"invalid element count {text!r}: write 1000000, 1e6 or 2^20")


def _size(text: str) -> int | tuple[int, ...]:
    """Return an element count, or the sizes of a matrix multiplication ``MxNxK`` or convolution."""
    words = text.lower().split("x")
    if len(words) not in (1, 3, 7) or not all(words):
        raise argparse.ArgumentTypeError(
            f"invalid size {text!r}: write an element count, MxNxK for a matrix multiplication, or "
            "NxHxWxCxFxKHxKW for a convolution"
        )
    parts = [_count(word) for word in words]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _words(text: str) -> list[str]:
    """Split names at commas; names separated by spaces are separate arguments."""
    return [word for word in text.split(",") if word]


def _device(text: str) -> str:
    try:
        resolve(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("device: ")) from None
    return text


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        type=_device,
        help='"cuda", "cuda:1" or "sim" (default: $GPUREDUCE_DEVICE, else the first GPU, else "sim")',
    )


def _add_formats(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print JSON")
    formats.add_argument("--csv", action="store_true", help="print CSV with a header line")


def _add_launch_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--block-size", type=int, metavar="THREADS", help="threads per block (default: the kernel's)"
    )
    parser.add_argument(
        "--grid-size", type=int, metavar="BLOCKS", help="blocks of the first launch (default: the kernel's)"
    )


def _add_sum(add: Callable) -> None:
    parser = add("sum", commands.run_sum, "sum the numbers in a .npy file")
    parser.add_argument("file", metavar="FILE.npy", help="file written by numpy.save; it is memory-mapped")
    parser.add_argument("--variant", default="auto", help='kernel to use (default "auto", which chooses)')
    _add_launch_shape(parser)
    _add_device(parser)
    _add_formats(parser)


def _add_bench(add: Callable) -> None:
    parser = add("bench", commands.run_bench, "measure variants: times on a GPU, counts on the simulator")
    parser.add_argument(
        "-n",
        type=_size,
        nargs="+",
        default=None,
        help="element counts, such as 1000000 or 2^25 (the default); sizes M=N=K or MxNxK with --ops matmul",
    )
    parser.add_argument(
        "--variants",
        type=_words,
        nargs="+",
        metavar="NAME",
        help="variants to measure (default: all that support the case)",
    )
    parser.add_argument(
        "--ops",
        type=_words,
        nargs="+",
        metavar="OP",
        help='operators, or "matmul" (default: sum, or the operator of the variants)',
    )
    parser.add_argument(
        "--dtypes",
        type=_words,
        nargs="+",
        default=[["float32"]],
        metavar="DTYPE",
        help="dtypes (default float32)",
    )
    parser.add_argument(
        "--repeats", type=int, default=20, help="timed repetitions; the median is reported (default 20)"
    )
    parser.add_argument(
        "--block-size", type=int, metavar="THREADS", help="threads per block (default: the kernel's)"
    )
    parser.add_argument("--no-progress", action="store_true", help="do not show a progress bar")
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="also write the results as JSON for `gpureduce plot`"
    )
    _add_device(parser)
    _add_formats(parser)


def _add_profile(add: Callable) -> None:
    parser = add(
        "profile", commands.run_profile, "run a variant on the simulator; show its counters and races"
    )
    parser.add_argument(
        "variant",
        help="name of a variant, or a FILE.cu with your own reduction kernel",
    )
    parser.add_argument(
        "-n",
        type=_size,
        help="element count (default 2^20); for a matrix multiplication M=N=K or MxNxK (default 256x256x64); "
        "for a convolution NxHxWxCxFxKHxKW (default 1x18x66x12x24x3x3)",
    )
    parser.add_argument("--op", default="sum", help="operator (default sum)")
    parser.add_argument("--dtype", default="float32", help="dtype of the elements (default float32)")
    _add_launch_shape(parser)
    views = parser.add_mutually_exclusive_group()
    views.add_argument(
        "--source",
        action="store_true",
        help="show the CUDA source with counters in the margin (wide: pipe it to less -S)",
    )
    views.add_argument("--ptx", action="store_true", help="show the PTX with counters in the margin")
    parser.add_argument(
        "--predicated",
        action="store_true",
        help="with --source or --ptx: add a column of instructions after if-conversion of short branches",
    )
    views.add_argument(
        "--timeline", action="store_true", help="show what each thread of a block does over time"
    )
    parser.add_argument(
        "--compare", metavar="OTHER", help="compare with another variant; with --source, align both sources"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write the timeline as .svg or .png")
    parser.add_argument("--player", metavar="FILE", help="write an HTML page that plays block 0 step by step")
    parser.add_argument("--dark", action="store_true", help="colours for a dark background")
    parser.add_argument("--device", choices=["sim"], help="only the simulator has counters")
    _add_formats(parser)


def _add_ladder(add: Callable) -> None:
    parser = add(
        "ladder",
        commands.run_ladder,
        "check your own reduction kernel on the simulator and compare it with the rungs",
    )
    parser.add_argument(
        "file", metavar="FILE.cu", help="CUDA source of a kernel (const float *in, float *out, n)"
    )
    parser.add_argument(
        "--kernel",
        help="kernel name, with the arguments of a template (default: the only kernel in the file)",
    )
    parser.add_argument(
        "--block-size",
        type=int,
        nargs="+",
        default=[256],
        metavar="THREADS",
        help="block sizes to check (default 256)",
    )
    parser.add_argument(
        "--elements", type=int, default=1, help="elements per thread; sets the grid size (default 1)"
    )
    parser.add_argument(
        "--grid-size", type=int, metavar="BLOCKS", help="maximum number of blocks (default: no limit)"
    )
    parser.add_argument(
        "-n",
        type=_count,
        default=1 << 20,
        help="element count for the comparison table (default 2^20)",
    )
    parser.add_argument(
        "--variants",
        type=_words,
        nargs="+",
        metavar="NAME",
        help="rungs in the comparison table (default: all)",
    )
    parser.add_argument(
        "--source", action="store_true", help="also show the source with counters in the margin"
    )
    _add_device(parser)
    _add_formats(parser)


def _add_export(add: Callable) -> None:
    parser = add("export", commands.run_export, "write a rung as one CUDA file with main(), for nvcc")
    parser.add_argument("variant", help="rung of the reduction ladder: v0 to v12")
    parser.add_argument("-o", "--out", metavar="FILE.cu", help="output file (default: standard output)")
    parser.add_argument("--dtype", default="float32", help="float32 (default), float64 or int64")
    parser.add_argument(
        "--block-size", type=int, metavar="THREADS", help="threads per block (default: the kernel's)"
    )


def _add_exercise(add: Callable) -> None:
    parser = add(
        "exercise", commands.run_exercise, "list, start and check CUDA exercises, graded on the simulator"
    )
    parser.add_argument(
        "action",
        choices=["list", "start", "hint", "check", "grade", "selftest"],
        help="list the exercises, start one, show its hint, check a solution, grade the submissions of a"
        " class, or test the exercises themselves",
    )
    parser.add_argument("number", nargs="?", help="number or name of the exercise (selftest: default all)")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE.cu",
        help="file of the solution, or a notebook to start (default: NAME.cu); grade: all submissions",
    )
    parser.add_argument("--folder", help="folder of exercises (default: the package's)")
    parser.add_argument("--json", action="store_true", help="print JSON, for grading programs")
    parser.add_argument(
        "-o", "--out", metavar="BOOK.csv", help="grade: file of the table (default: print it)"
    )
    parser.add_argument("--seconds", type=float, default=60, help="grade: limit per submission (default: 60)")
    parser.add_argument(
        "--memory",
        type=int,
        default=2048,
        metavar="MIB",
        help="grade: limit per process (default: 2048)",
    )
    parser.add_argument(
        "--jobs", type=int, help="grade: submissions that are graded at once (default: all processors)"
    )


_RUN_VALUES = (
    *("--device", "--findings-status", "--clock", "--max-steps", "--nvcc"),
    *("--player", "--launch", "--block"),
)


def _add_run(add: Callable) -> None:
    parser = add(
        "run",
        commands.run_run,
        "run a whole CUDA program, a source file or one built by nvcc -cudart shared, without a GPU",
    )
    parser.add_argument("program", help="FILE.cu, or a program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the program")
    parser.add_argument("--device", choices=DEVICES, help='"sim" (the default), or "cuda" for a GPU')
    parser.add_argument(
        "--races",
        nargs="?",
        const="shared",
        choices=("shared", "global"),
        help="show races in shared memory at the end; =global: also races between blocks in global memory",
    )
    parser.add_argument(
        "--findings-status",
        type=int,
        default=99,
        metavar="N",
        help="exit status if there are races (default 99); otherwise it is the program's",
    )
    parser.add_argument(
        "--profile",
        nargs="?",
        const="",
        metavar="FILE",
        help="show the source with counters, or write it to a file: --profile=FILE",
    )
    parser.add_argument(
        "--player", metavar="FILE", help="write an HTML page that plays a block of one launch step by step"
    )
    parser.add_argument(
        "--launch",
        type=int,
        default=0,
        metavar="N",
        help="with --player: number of the launch (default 0, the first)",
    )
    parser.add_argument(
        "--block",
        type=int,
        default=0,
        metavar="N",
        help="with --player: linear index of the block (default 0)",
    )
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default=CLOCKS[0],
        help="time between events: 1 ns per warp instruction (the default), or the simulator's own",
    )
    parser.add_argument(
        "--max-steps",
        type=_count,
        metavar="N",
        help="maximum number of warp instructions of all launches (default 10^11)",
    )
    parser.add_argument("--nvcc", metavar="OPTIONS", help='options of nvcc, such as "-DN=4 -arch=sm_90"')


def _add_plot(add: Callable) -> None:
    parser = add("plot", commands.run_plot, "draw results of `gpureduce bench`")
    parser.add_argument(
        "results",
        nargs="?",
        help="JSON file of `gpureduce bench --out` (default: the results that the package ships)",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        default="ladder.svg",
        help="output file, .svg or .png (default ladder.svg)",
    )
    parser.add_argument(
        "--kind",
        choices=["speedup", "bandwidth", "speed", "counts"],
        help="kind of chart (default: one that fits the results)",
    )
    parser.add_argument(
        "--variants", type=_words, nargs="+", metavar="NAME", help="variants to draw, or all (default: a few)"
    )
    parser.add_argument("--dark", action="store_true", help="colours for a dark background")


def _add_demo(add: Callable) -> None:
    parser = add("demo", run_demo, "sum an array with every variant and compare with numpy.sum")
    _add_device(parser)
    parser.add_argument(
        "--dtype", choices=DTYPES, default="float32", help="dtype of the elements (default float32)"
    )
    parser.add_argument(
        "-n",
        "--size",
        type=_count,
        help=f"element count (default {GPU_SIZE}; {SIMULATOR_SIZE} on the simulator)",
    )


def _with_optional_value(words: list[str]) -> list[str]:
    """Return the arguments of ``gpureduce run --profile[=FILE] --races[=SPACE] PROGRAM`` for argparse.

    A word behind ``--profile`` or ``--races`` is the program, and what follows the program is the program's.
    """
    if words[:1] != ["run"]:
        return words
    given = list(words)
    for i, word in enumerate(words[1:], 1):
        if not word.startswith("-") and words[i - 1] not in _RUN_VALUES:
            break
        given[i] = {"--profile": "--profile=", "--races": "--races=shared"}.get(word, word)
    return given


class _Parser(argparse.ArgumentParser):
    """A parser with the options ``--profile[=FILE]`` and ``--races[=SPACE]`` of ``gpureduce run``."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; argparse's other methods call this one."""
        words = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(_with_optional_value(words), namespace)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gpureduce",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gpureduce {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, run: Callable, help: str) -> argparse.ArgumentParser:
        command = subparsers.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        command.set_defaults(run=run)
        return command

    _add_formats(add("info", commands.run_info, "show versions, devices, libraries and settings"))
    _add_formats(add("variants", commands.run_variants, "list the variants"))
    more = (
        _add_sum, _add_bench, _add_profile, _add_run, _add_ladder, _add_export, _add_exercise, _add_plot,
        _add_demo,
    )  # fmt: skip
    for add_command in more:
        add_command(add)
    return parser


def _say(message: object, args: argparse.Namespace) -> None:
    """Print a message of the package with arguments named as on the command line."""
    text = " ".join(str(message).split()).replace("device='sim'", "--device sim")
    argument, colon, rest = text.partition(": ")
    options = {name: f"--{name.replace('_', '-')}" for name in vars(args)} | {"n": "-n"}
    if args.command in ("profile", "export"):  # which take it without an option
        options.pop("variant")
    if "variants" in args:
        options["variant"] = options["variants"]
    # What holds the numbers, or says what they are, or how many.
    options["a"] = getattr(args, "file", "-n" if isinstance(message, MemoryError) else "--dtype")
    if colon and argument in options:
        text = f"{options[argument]}: {rest}"
    with contextlib.suppress(OSError):
        print(commands.fitted(f"gpureduce: {text}", sys.stderr, 11), file=sys.stderr)


class _Output:
    """Standard output that keeps the error of a failed write, and discards the rest at exit."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.problem: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self._watched(self.stream.write, text)

    def flush(self) -> None:
        self._watched(self.stream.flush)

    def _watched(self, method: Callable[..., Any], *args: str) -> Any:
        try:
            return method(*args)
        except OSError as error:
            self.problem = error
            with contextlib.suppress(OSError):  # the interpreter flushes the stream once more
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)
            raise


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, optional
        Arguments. Default: ``sys.argv[1:]``.

    Returns
    -------
    int
        Exit code: 0 success, 1 failure, 2 usage error, 130 interrupted.
    """
    if sys.stderr is None:  # it is closed, and print would take standard output for it
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print("gpureduce: standard output is closed", file=sys.stderr)
        return 2
    output = _Output(sys.stdout)
    with contextlib.redirect_stdout(output):
        try:
            code = _run(arguments)
            output.flush()
            return code
        except BrokenPipeError as error:
            if error is output.problem:  # the reader has seen enough
                return 0
            raise
        except OSError as error:
            if error is not output.problem:
                raise
            print(f"gpureduce: standard output: {error.strerror}", file=sys.stderr)
            return 1


def _run(arguments: list[str] | None) -> int:
    """Run a command, and return the exit code."""
    parser = _parser()
    try:
        args = parser.parse_args(arguments)
    except SystemExit:  # of --help, --version and wrong usage
        sys.stdout.flush()
        if problem := getattr(sys.stdout, "problem", None):  # argparse has caught it
            raise problem from None
        raise
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: _say(message, args)
            return int(args.run(args))
    except KeyboardInterrupt:
        _say("interrupted", args)
        return 130
    except (DeviceError, MemoryError, ImportError) as error:
        _say(error, args)
        return 1
    except OSError as error:
        if error is getattr(sys.stdout, "problem", None):
            raise
        _say(f"{error.filename}: {error.strerror}" if error.filename else error, args)
        return 2
    except (ValueError, TypeError) as error:
        _say(error, args)
        return 2


if __name__ == "__main__":
    sys.exit(main())
