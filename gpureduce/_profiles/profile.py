"""Profiles: what the kernels of one call did, by instruction and by line, and their races."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce._core import SimulationError
from gpureduce._device import ptx
from gpureduce._device.variants import NAMES, find
from gpureduce._profiles import text
from gpureduce._profiles.counts import Counts, total
from gpureduce._profiles.diagnostics import Finding, findings
from gpureduce._profiles.records import STEPS, VISITS, KernelProfile, Line, Race
from gpureduce._profiles.timeline import Timeline
from gpureduce._rules.equality import WithArrays

if TYPE_CHECKING:
    from gpureduce._profiles.player import Player
    from gpureduce._profiles.side_by_side import SideBySide


@dataclass(frozen=True, eq=False)
class Profile(WithArrays):
    """What the kernels of one call did on the simulator. See `profile` and `simulate`.

    Attributes
    ----------
    title : str
        What ran.
    kernels : tuple of KernelProfile
        The launches in order.
    file : str
        The CUDA source file of the variant or of a user's kernel, as ``Instruction.frames`` names it; empty
        for PTX without source lines.
    variant : str
        The variant; empty for a user's kernel.
    n : int
        Elements reduced, or of a matrix product its multiply-adds; 0 for a user's kernel.
    result : numpy.generic, numpy.ndarray or None
        What the reduction or the product gave.
    sources : mapping of str to str
        The texts of a user's CUDA C++, by the names that ``Instruction.frames`` has for them.
    compiler : str
        What compiled a user's CUDA C++, as ``"NVRTC 13.0"`` or ``"nvcc 13.0.88"``; empty for others.

    Examples
    --------
    >>> import gpureduce
    >>> found = gpureduce.profile(4096, "v1")
    >>> found.title
    'v1: sum of 4,096 float32, 256 threads per block'
    >>> found.result.dtype, len(found.kernels), found.races
    (dtype('float32'), 2, ())
    >>> found.timeline().active.shape
    (10, 256)
    """

    title: str
    kernels: tuple[KernelProfile, ...]
    file: str = ""
    variant: str = ""
    n: int = 0
    result: Any = None
    _rerun: Callable[[int, int], Profile] | None = field(repr=False, compare=False, default=None)
    sources: Mapping[str, str] = field(repr=False, compare=False, default_factory=dict)
    compiler: str = field(repr=False, compare=False, default="")

    @property
    def counted(self) -> str:
        """What there are `n` of: ``"element"`` or ``"multiply-add"``."""
        product = self.variant in NAMES and find(self.variant).ladder in ("matmul", "conv")
        return "multiply-add" if product else "element"

    @property
    def multiply_adds(self) -> int:
        """Those that a product or a convolution asks for; of anything else those of `Counts`, which ran."""
        return self.n if self.counted == "multiply-add" else self.totals.multiply_adds

    @property
    def multiply_adds_an_instruction(self) -> float:
        """`multiply_adds` in a warp instruction, on average; NaN without instructions."""
        issued = self.totals.warp_instructions
        return self.multiply_adds / issued if issued else float("nan")

    @property
    def bytes_a_flop(self) -> float:
        """`Counts.global_bytes` for each operation, two in one of `multiply_adds`; NaN without any."""
        operations = 2 * self.multiply_adds
        return self.totals.global_bytes / operations if operations else float("nan")

    @property
    def totals(self) -> Counts:
        """The sum over all launches."""
        return total([kernel.totals for kernel in self.kernels])

    @property
    def printed(self) -> str:
        """The text that kernels wrote by ``printf``, in the order of the launches and of their blocks."""
        return "".join(kernel.printed for kernel in self.kernels)

    @property
    def races(self) -> tuple[Race, ...]:
        """The hazards of all launches; one that several launches of a kernel have is there once."""
        by_key: dict[tuple, Race] = {}
        for race in (race for kernel in self.kernels for race in kernel.races):
            sides = [side and side.ptx_line for side in (race.first, race.second)]
            key = (race.kernel, race.kind, race.same_warp, *sides)
            count = by_key[key].count if key in by_key else 0
            by_key[key] = replace(by_key.get(key, race), count=count + race.count)
        return tuple(by_key.values())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The hazards, those together that one missing barrier explains; `races` has each pair by itself."""
        return findings(self.races)

    def lines(self, file: str | None = None) -> tuple[Line, ...]:
        """Return the lines of a source file that have instructions, with their counters.

        What was inlined counts for the line of `file` that called it; so the sums over two files are not to
        be added up.

        Parameters
        ----------
        file : str, optional
            As ``Instruction.frames`` names it; None takes the variant's own, or of a user's PTX the file of
            the first instruction that has one.

        Returns
        -------
        tuple of Line
            By line number, over all launches.

        Raises
        ------
        ValueError
            When no instruction comes from `file`; the message lists the files there are.
        """
        file = self._known_file(file)
        by_line: dict[int, list[Counts]] = {}
        for kernel in self.kernels:
            for instruction in kernel.instructions:
                number = instruction.line_in(file)
                if number is not None:
                    by_line.setdefault(number, []).append(instruction.counts)
        texts = dict(enumerate(self.source_lines(file), 1))
        return tuple(
            Line(file, number, texts.get(number, ""), total(by_line[number])) for number in sorted(by_line)
        )

    def source_lines(self, file: str) -> list[str]:
        """Return the lines of a source file, as `files` names it; none where its text is not known."""
        if file in self.sources:
            return self.sources[file].splitlines()
        return ptx.source_lines(file)

    def files(self) -> tuple[str, ...]:
        """Return the source files that instructions come from, the variant's own first."""
        seen = {self.file: None} if self.file else {}
        for kernel in self.kernels:
            for instruction in kernel.instructions:
                seen.update(dict.fromkeys(name for name, _ in instruction.frames))
        return tuple(seen)

    def _known_file(self, file: str | None) -> str:
        files = self.files()
        if file is None:
            if not files:
                raise ValueError("file: the PTX has no source lines; compile it with nvcc -lineinfo")
            return files[0]
        matches = [name for name in files if name == file or name.endswith(f"/{file}")]
        if not matches:
            raise ValueError(
                f"file: no instruction comes from {file!r}; there are {', '.join(files) or 'none'}"
            )
        return matches[0]

    def annotate(
        self,
        file: str | None = None,
        *,
        ptx: bool = False,
        predicated: bool = False,
        width: int | None = None,
    ) -> str:
        """Return the source with its counters in the margin.

        Parameters
        ----------
        file : str, optional
            Which source file, of `files`; None takes the variant's own.
        ptx : bool
            Whether to show the lines of PTX that ran instead of the CUDA source. A user's PTX without source
            lines is always shown so.
        predicated : bool
            Whether to show in one more column the warp instructions as they are where short forward branches
            become predicates, as ptxas makes them.
        width : int, optional
            The columns of the terminal: beyond them lines are cut, and of figures three digits shown where
            source lines had less than 60 columns. None cuts none.

        Returns
        -------
        str
        """
        if ptx or (file is None and not any(self.source_lines(name) for name in self.files())):
            return text.annotated(self, None, predicated, width)
        return text.annotated(self, self._known_file(file), predicated, width)

    def compare(self, other: Profile) -> Comparison:
        """Return the totals of two profiles side by side.

        Parameters
        ----------
        other : Profile
            The one to compare with.

        Returns
        -------
        Comparison
            `str` of it is a table; Jupyter shows it as one.
        """
        if not isinstance(other, Profile):
            raise TypeError(f"other: expected Profile, got {type(other).__name__}")
        return Comparison(self, other)

    def timeline(self, block: int = 0, kernel: int = 0) -> Timeline:
        """Return what each thread of one block did between barriers.

        Parameters
        ----------
        block : int
            Linear number of the block. Another than block 0 is simulated once more.
        kernel : int
            Which launch, of `kernels`.

        Returns
        -------
        Timeline
            `str` of it is a drawing; ``plot()`` draws it with matplotlib.

        Raises
        ------
        ValueError
            For a block or launch that there is not.
        """
        recorded = self._launch(block, kernel).timeline
        if recorded is None or recorded.block != block:
            if self._rerun is None:
                raise ValueError(
                    f"block: only the timeline of block {recorded.block if recorded else 0} was kept"
                )
            recorded = self._rerun(block, 0).kernels[kernel].timeline
            assert recorded is not None
        return recorded

    def accesses(self, block: int = 0, kernel: int = 0) -> np.ndarray[Any, Any]:
        """Return which thread of one block accessed which bytes of global memory, lane by lane.

        The block is simulated once more for it. Bulk copies are not among the accesses.

        Parameters
        ----------
        block : int
            Linear number of the block.
        kernel : int
            Which launch, of `kernels`.

        Returns
        -------
        numpy.ndarray
            In the order of the simulator, with the fields ``memory``, the number of the array among the
            arrays that the block accesses, in the order in which they were allocated (of a product A, B, C);
            ``offset``, in it, and ``bytes``; ``writes``; ``thread``, of the block; ``round``, how many
            barriers of the block came before; ``instruction``, of ``kernels[kernel].instructions``.

        Raises
        ------
        ValueError
            For a block or launch that there is not, and for a user's PTX.
        MemoryError
            When there are millions.
        """
        self._launch(block, kernel)
        if self._rerun is None:
            raise ValueError("accesses: only those of variants are kept")
        recorded = self._rerun(block, VISITS).kernels[kernel].accesses
        assert recorded is not None
        return recorded

    def player(self, block: int = 0, kernel: int = 0) -> Player:
        """Return a page of HTML in which one block is stepped through, forward and back.

        It shows, instruction by instruction, the warps and their lanes, the line of source, who touches which
        bank of shared memory, and registers. The block is simulated once more for it.

        Parameters
        ----------
        block : int
            Linear number of the block.
        kernel : int
            Which launch, of `kernels`.

        Returns
        -------
        Player
            ``save("v1.html")`` writes it into a file; Jupyter shows it.

        Raises
        ------
        ValueError
            For a block or launch that there is not, and for blocks of more than 256 threads.
        """
        from gpureduce._profiles.player import MOST_THREADS, player

        launched = self._launch(block, kernel)
        threads = launched.block[0] * launched.block[1] * launched.block[2]
        if threads > MOST_THREADS:
            raise ValueError(f"block: one of {threads} threads; what is played has up to {MOST_THREADS}")
        if self._rerun is None:
            raise ValueError("player: this profile cannot be run again")
        try:
            again = self._rerun(block, STEPS)
        except SimulationError as error:  # what is played ends where the kernel was stopped
            again = error.profile
        return player(self, again.file, again.kernels[kernel], block)

    def _launch(self, block: int, kernel: int) -> KernelProfile:
        """Return a launch; ValueError where there is none, or no such block in it."""
        if not 0 <= kernel < len(self.kernels):
            raise ValueError(f"kernel: expected 0 to {len(self.kernels) - 1}, got {kernel}")
        launched = self.kernels[kernel]
        blocks = launched.grid[0] * launched.grid[1] * launched.grid[2]
        if not 0 <= block < blocks:
            raise ValueError(f"block: expected 0 to {blocks - 1}, got {block}")
        return launched

    def __str__(self) -> str:
        return text.summary(self)

    def _repr_html_(self) -> str:
        from gpureduce._profiles.html import profile_html

        return profile_html(self)


@dataclass(frozen=True)
class Comparison:
    """Two profiles side by side: their totals, and by `sources` their lines.

    Examples
    --------
    >>> import gpureduce
    >>> strided, sequential = (gpureduce.profile(4096, name) for name in ("v1", "v2"))
    >>> compared = strided.compare(sequential)
    >>> dict((name, (left, right)) for name, left, right in compared.rows())["bank conflicts"]
    (1785, 0)
    >>> [pair.left.number for pair in compared.sources().pairs if pair.left and not pair.same]
    [24, 25, 26, 27, 34]
    """

    left: Profile
    right: Profile

    def rows(self) -> list[tuple[str, float, float]]:
        """Return what is compared: a name and the two figures."""
        return text.comparison_rows(self.left, self.right)

    def sources(self) -> SideBySide:
        """Return the sources of both side by side, what changed marked, with the counters of both.

        Returns
        -------
        SideBySide
            `str` of it is for a terminal, ``text(width)`` for a narrow one; Jupyter shows it as a table.
        """
        from gpureduce._profiles.side_by_side import SideBySide

        return SideBySide(self.left, self.right)

    def __str__(self) -> str:
        return text.comparison_table(self.left, self.right)

    def _repr_html_(self) -> str:
        from gpureduce._profiles.html import comparison_html

        return comparison_html(self.left, self.right)
