"""The cell magic ``%%cuda`` of IPython and Jupyter."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from gpureduce._course.exercises import exercise
from gpureduce._course.rung import ladder
from gpureduce._custom.nvrtc import CompileError
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.program import kernel_names
from gpureduce._profiles.simulate import simulate
from gpureduce._program.run import ProgramResult, run_program

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_ERRORS = (ValueError, TypeError, RuntimeError, ImportError, CompileError)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}\n{self.format_usage().strip()}")


def _extent(text: str) -> tuple[int, ...]:
    try:
        extents = tuple(int(part) for part in text.split(","))
    except ValueError:
        extents = ()
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected up to three positive numbers, as 4 or 4,2")
    return extents


def _words(line: str) -> list[str]:
    """Split a line into words; quotes around a word are removed, quotes inside an expression are kept."""
    words = re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+|['"].*""", line.replace("\\\n", " "))
    return [
        shlex.split(word)[0]
        if word.startswith("-") or re.fullmatch(r"""'[^']*'|"[^"]*"|['"].*""", word)
        else word
        for word in words
    ]


def _parser() -> _Parser:
    parser = _Parser(
        prog="%%cuda",
        description="Compile the CUDA C++ in the cell, run a kernel on the simulator, show its profile.",
        add_help=False,
    )
    add = parser.add_argument
    add("args", nargs="*", help="an expression for each argument of the kernel: arrays and numbers")
    add("-h", "--help", action="store_true", help="show this")
    add("-k", "--kernel", help="which kernel; of a template with arguments (default: the only one)")
    add("-g", "--grid", type=_extent, default=(1,), metavar="BLOCKS", help="as 4 or 4,2 (default 1)")
    add("-b", "--block", type=_extent, default=(256,), metavar="THREADS", help="as 256 (default) or 16,16")
    add("-s", "--shared-bytes", type=int, default=0, metavar="BYTES", help="dynamic, of a block")
    add("-c", "--cluster", type=_extent, default=(1,), metavar="BLOCKS", help="of a cluster")
    add("-o", "--out", metavar="NAME", help="a variable for the profile, or for the rung of --ladder")
    add("-l", "--ladder", action="store_true", help="check the kernel as a rung of the ladder instead")
    add("-e", "--elements", type=int, default=1, help="of a thread, with --ladder")
    add("-x", "--exercise", metavar="NUMBER", help="grade the cell as what was made of an exercise")
    add("--folder", help="folder of the exercise (default: the package's exercises)")
    add("-p", "--program", action="store_true", help="the cell is a whole program; args are its arguments")
    add("--no-races", action="store_true", help="do not look for races")
    return parser


def _checked(args: argparse.Namespace, cell: str) -> tuple[Any, Any]:
    """Return the rung that a cell holds, and its output."""
    rung = ladder(
        cell,
        args.kernel,
        block_size=args.block[0],
        elements=args.elements,
        grid=None if args.grid == (1,) else args.grid[0],
        shared_bytes=args.shared_bytes or None,
    )
    return rung, rung.check()


def _program(args: argparse.Namespace, cell: str) -> tuple[ProgramResult, Profile | None]:
    """Run a whole program, print what it prints, and return the result and what is displayed."""
    result = run_program(cell, args.args, races=not args.no_races, profile=True)
    print(result.output, end="")
    print(result.errors, end="", file=sys.stderr)
    if result.status:
        print(f"exit status {result.status}", file=sys.stderr)
    return result, result.profile


def cuda(shell: InteractiveShell, line: str, cell: str) -> Any:
    """Run a cell, and return its output: a profile, a report of a rung, or a grade."""
    from IPython.core.error import UsageError

    result: Any
    displayed: Any
    cell = f"// %%cuda {line.strip().rstrip(chr(92))}\n{cell}"  # lines are numbered as in the notebook
    try:
        cell_args = _parser().parse_args(_words(line))
        if cell_args.help:
            print(_parser().format_help())
            return None
        if cell_args.exercise:
            displayed = result = exercise(cell_args.exercise, cell_args.folder).check(cell)
        elif cell_args.program:
            result, displayed = _program(cell_args, cell)
        elif cell_args.ladder:
            result, displayed = _checked(cell_args, cell)
        else:
            names = [cell_args.kernel] if cell_args.kernel else list(kernel_names(cell))
            if len(names) != 1:
                raise ValueError(
                    f"-k: expected the name of a kernel; the source has {', '.join(names) or 'none'}"
                )
            args = [shell.ev(expression) for expression in cell_args.args]
            result = displayed = simulate(
                cell, names[0], cell_args.grid, cell_args.block, args, cell_args.shared_bytes,
                cluster=cell_args.cluster, races=not cell_args.no_races,
            )  # fmt: skip
    except _ERRORS as error:
        seen = getattr(error, "profile", None)
        if isinstance(seen, Profile):  # the profile of a stopped kernel
            from IPython.display import display

            display(seen)
        raise UsageError(f"%%cuda: {error}") from None
    if cell_args.out:
        shell.user_ns[cell_args.out] = result
    return displayed


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the cell magic ``%%cuda``; IPython calls this function for ``%load_ext gpureduce``.

    Parameters
    ----------
    shell : InteractiveShell
        The shell.
    """
    shell.register_magic_function(lambda line, cell: cuda(shell, line, cell), "cell", "cuda")
