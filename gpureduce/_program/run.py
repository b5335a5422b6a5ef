"""Runs whole CUDA programs: `run_program`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from gpureduce._profiles.diagnostics import Finding
from gpureduce._profiles.from_core import race_scope
from gpureduce._profiles.player import Player
from gpureduce._profiles.profile import Profile
from gpureduce._program.build import RUNTIME, SUFFIXES, compile_program, search_path
from gpureduce._program.report import Failure, Report, player_of, profile_of, read_report
from gpureduce._rules.arguments import integer
from gpureduce._rules.files import open_file

DEVICES = ("sim", "cuda")
CLOCKS = ("instructions", "wall")
DEFAULT_STEPS = 10**11
_UNNAMED = "program.cu"


@dataclass(frozen=True)
class ProgramResult:
    """What a program did.

    Attributes
    ----------
    output : str
        What it wrote to standard output, with the output of ``printf`` in kernels.
    errors : str
        What it wrote to standard error, with the messages of the simulator.
    status : int
        Its exit status; negative: the number of the signal that ended it.
    launches : int
        Number of kernel launches.
    repeated : int
        Number of launches that were only counted, as the same launch before had no effect.
    failures : tuple of Failure
        Launches that the simulator stopped or refused.
    warp_instructions : int
        PTX instructions of all warps.
    profile : Profile or None
        Counters and races, one entry in ``profile.kernels`` per kernel and grid; None unless asked for.
    player : Player or None
        Page that steps through a block of one launch; None unless asked for, and if there is no such launch
        or block.
    compiler_output : str
        Warnings of the compiler.
    """

    output: str
    errors: str
    status: int
    launches: int = 0
    repeated: int = field(default=0, compare=False)
    failures: tuple[Failure, ...] = ()
    warp_instructions: int = 0
    profile: Profile | None = field(default=None, repr=False)
    player: Player | None = field(default=None, repr=False)
    compiler_output: str = field(default="", repr=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Races grouped by cause, of all kernels."""
        return () if self.profile is None else self.profile.findings


@dataclass(frozen=True)
class Settings:
    """How a program is run."""

    simulated: bool = True
    races: int = 0  # the number of race_scope
    profile: bool = False
    clock: str = CLOCKS[0]
    max_steps: int = DEFAULT_STEPS
    options: tuple[str, ...] = ()
    player: tuple[int, int] | None = None  # a launch and a block


def _environment(settings: Settings, report: str) -> dict[str, str]:
    environment = dict(os.environ)
    if settings.simulated:
        environment["LD_LIBRARY_PATH"] = search_path(environment)
        environment["GPUREDUCE_RUN_REPORT"] = report
        environment["GPUREDUCE_RUN_RACES"] = str(settings.races)
        environment["GPUREDUCE_RUN_PROFILE"] = str(int(settings.profile))
        environment["GPUREDUCE_RUN_WALL_CLOCK"] = str(int(settings.clock == "wall"))
        environment["GPUREDUCE_RUN_BUDGET"] = str(settings.max_steps)
        if settings.player is not None:
            launch, block = settings.player
            environment["GPUREDUCE_RUN_TRACED_LAUNCH"] = str(launch)
            environment["GPUREDUCE_RUN_TRACED_BLOCK"] = str(block)
    return environment


def _is_text(source: str) -> bool:
    return "\n" in source


@contextlib.contextmanager
def _built(source: str, settings: Settings) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield the program, its name, the compiler's output and the source texts that are not in files."""
    if settings.simulated and not RUNTIME.is_file():
        raise ImportError(f"{RUNTIME.name} is missing: this installation was built without it")
    with tempfile.TemporaryDirectory(prefix="gpureduce-") as folder:
        texts = {}
        name = _UNNAMED if _is_text(source) else os.path.basename(source)
        if _is_text(source):
            path = os.path.join(folder, _UNNAMED)
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            texts[path] = source
            source = path
        elif not source.endswith(SUFFIXES):
            open_file(source).close()
            yield os.path.abspath(source), name, "", texts
            return
        open_file(source).close()
        program = os.path.join(folder, os.path.splitext(name)[0])
        said = compile_program(os.path.abspath(source), program, settings.options, settings.simulated)
        yield program, name, said, texts


def run_with(
    source: str,
    args: Sequence[str],
    settings: Settings,
    streams: dict[str, Any],
    text: bytes | None = None,
    seconds: float | None = None,
) -> tuple[ProgramResult, Report]:
    """Build and run a program with these streams; `text` is its standard input if that is a pipe."""
    with _built(source, settings) as (program, name, said, texts):
        with tempfile.TemporaryDirectory(prefix="gpureduce-") as folder:
            path = os.path.join(folder, "report")
            process = subprocess.Popen(
                [program, *args], executable=program, env=_environment(settings, path), **streams
            )
            output, errors = _finish(process, text, seconds)
            report = read_report(path)
        profile, player = profile_of(report, name, texts), None
        if settings.player is not None:
            launch, block = settings.player
            player = player_of(report, f"{name}, launch {launch}", texts, block)
    result = ProgramResult(
        output.decode(errors="replace"),
        errors.decode(errors="replace"),
        process.returncode,
        report.launches,
        report.repeated,
        tuple(report.failures),
        report.warp_instructions,
        profile,
        player,
        said,
    )
    return result, report


def _finish(process: subprocess.Popen, text: bytes | None, seconds: float | None) -> tuple[bytes, bytes]:
    """Wait for a program. An interrupt reaches it, too, and it ends after its report."""
    try:
        output, errors = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise TimeoutError(f"timeout: the program takes longer than {seconds:g} s") from None
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        process.kill()
        process.communicate()
        raise
    return output or b"", errors or b""


def settings_from(
    device: str,
    races: bool | str,
    profile: bool,
    clock: str,
    max_steps: int | None,
    options: Iterable[str],
    player: int | tuple[int, int] | None = None,
) -> Settings:
    """Return the settings, or raise what says which argument is wrong."""
    if clock not in CLOCKS:
        raise ValueError(f"clock: expected one of {', '.join(map(repr, CLOCKS))}, got {clock!r}")
    if isinstance(options, str):
        raise TypeError("options: expected a list of options, got str")
    steps = DEFAULT_STEPS if max_steps is None else integer(max_steps, "max_steps")
    if steps < 1:
        raise ValueError(f"max_steps: expected 1 or more, got {max_steps}")
    if device not in DEVICES:
        raise ValueError(f"device: expected 'sim' or 'cuda', got {device!r}")
    simulated, scope = device == "sim", race_scope(races)
    if not simulated and (scope or profile or player is not None):
        raise ValueError("device: races, profiles and players need the simulator")
    shown = None if player is None else _launch_and_block(player)
    return Settings(simulated, scope, bool(profile), clock, steps, tuple(options), shown)


def _launch_and_block(player: Any) -> tuple[int, int]:
    """Return a launch and a block; the block of a launch alone is 0."""
    pair = player if isinstance(player, (tuple, list)) else (player, 0)
    if len(pair) != 2:
        raise ValueError(f"player: expected a launch, or a launch and a block, got {player!r}")
    launch, block = (integer(each, "player") for each in pair)
    if launch < 0 or block < 0:
        raise ValueError(f"player: expected 0 or more, got {player!r}")
    return launch, block


def run_program(
    source: str | os.PathLike[str],
    args: Sequence[str | os.PathLike[str]] = (),
    stdin: str | bytes | IO[Any] | None = None,
    *,
    device: str = "sim",
    races: bool | str = False,
    profile: bool = False,
    player: int | tuple[int, int] | None = None,
    clock: str = "instructions",
    max_steps: int | None = None,
    options: Iterable[str] = (),
    timeout: float | None = None,
) -> ProgramResult:
    r"""Run a whole CUDA program, with ``main``, without a GPU.

    Parameters
    ----------
    source : str or path_like
        The program's source, or the path of a source file, which nvcc compiles, or the path of a program
        that ``nvcc -cudart shared`` has built. A text is a source if it has several lines.
    args : sequence of str
        Arguments of the program.
    stdin : str, bytes or file, optional
        Standard input. Default: empty.
    device : {"sim", "cuda"}
        Whether kernels run on the simulator or on a GPU.
    races : bool or "global"
        Whether to look for races in shared memory; ``"global"`` also looks for races between blocks in global
        memory.
    profile : bool
        Whether to count what kernels do, by source line.
    player : int or (int, int), optional
        Number of a launch, from 0, or of a launch and the linear index of a block (default: 0).
        ``result.player`` is a page that steps through the block.
    clock : {"instructions", "wall"}
        Time between events: 1 ns per warp instruction, or the time that the simulator takes.
    max_steps : int, optional
        Maximum number of PTX instructions, of all warps and launches together, after which a kernel fails as
        if the launch timed out. Default: 10**11.
    options : iterable of str
        Additional options of nvcc, such as ``("-DN=4", "-arch=sm_90")``.
    timeout : float, optional
        Seconds after which the program is ended.

    Returns
    -------
    ProgramResult
        Output, exit status, failed launches, races and counters.

    Raises
    ------
    CompileError
        If nvcc rejects the source.
    ImportError
        If nvcc or the host compiler is missing.
    TimeoutError
        If the program takes longer than `timeout`.
    OSError
        If the file cannot be read or run.

    Notes
    -----
    The program's host code runs as any other program of the user: this is no sandbox.

    Examples
    --------
    >>> import gpureduce
    >>> program = '''
    ... #include <cstdio>
    ... __global__ void hello() { printf("thread %d\\n", threadIdx.x); }
    ... int main() { hello<<<1, 2>>>(); return cudaDeviceSynchronize(); }
    ... '''
    >>> gpureduce.kernels.run_program(program).output.splitlines()
    ['thread 0', 'thread 1']
    """
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source: expected str or path, got {type(source).__name__}")
    if isinstance(args, (str, bytes)):
        raise TypeError("args: expected a list of arguments, got one text")
    settings = settings_from(device, races, profile, clock, max_steps, options, player)
    text = stdin.encode() if isinstance(stdin, str) else stdin
    piped = isinstance(text, bytes)
    streams = {
        "stdin": subprocess.PIPE if piped else subprocess.DEVNULL if text is None else text,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    words = [os.fspath(each) for each in args]
    result, _ = run_with(
        os.fspath(source), words, settings, streams, text if isinstance(text, bytes) else None, timeout
    )
    return result
