"""Profiles: counters of the kernels of one call, by instruction and line, and their races."""

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
    """Counters and races of one call on the simulator, as returned by `profile` and `simulate`.

    Attributes
    ----------
    title : str
        Title: what ran.
    kernels : tuple of KernelProfile
        The launches in order.
    file : str
        Name of the CUDA source file, as in ``Instruction.frames``; empty for PTX without source lines.
    variant : str
        Name of the variant; empty for your own kernel.
    n : int
        Number of elements, or of multiply-adds for a matrix product; 0 for a kernel passed to `simulate`.
    result : numpy.generic, numpy.ndarray or None
        Result of the reduction or the product.
    sources : mapping of str to str
        Source texts of your own CUDA C++, by their names in ``Instruction.frames``.
    compiler : str
        Compiler of your own CUDA C++, such as ``"NVRTC 13.0"`` or ``"nvcc 13.0.88"``; empty otherwise.

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
        """Unit of `n`: ``"element"`` or ``"multiply-add"``."""
        product = self.variant in NAMES and find(self.variant).ladder in ("matmul", "conv")
        return "multiply-add" if product else "element"

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds that a product or a convolution requires; for others, those that ran."""
        return self.n if self.counted == "multiply-add" else self.totals.multiply_adds

    @property
    def multiply_adds_an_instruction(self) -> float:
        """Mean number of `multiply_adds` per warp instruction; NaN without instructions."""
        issued = self.totals.warp_instructions
        return self.multiply_adds / issued if issued else float("nan")

    @property
    def bytes_a_flop(self) -> float:
        """`Counts.global_bytes` per FLOP (two per multiply-add); NaN without multiply-adds."""
        operations = 2 * self.multiply_adds
        return self.totals.global_bytes / operations if operations else float("nan")

    @property
    def totals(self) -> Counts:
        """The sum over all launches."""
        return total([kernel.totals for kernel in self.kernels])

    @property
    def printed(self) -> str:
        """Text that kernels printed by ``printf``, in the order of the launches and of their blocks."""
        return "".join(kernel.printed for kernel in self.kernels)

    @property
    def races(self) -> tuple[Race, ...]:
        """Races of all launches; a race that several launches of a kernel have in common is listed once."""
        by_key: dict[tuple, Race] = {}
        for race in (race for kernel in self.kernels for race in kernel.races):
            sides = [side and side.ptx_line for side in (race.first, race.second)]
            key = (race.kernel, race.kind, race.same_warp, *sides)
            count = by_key[key].count if key in by_key else 0
            by_key[key] = replace(by_key.get(key, race), count=count + race.count)
        return tuple(by_key.values())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Races grouped by cause, such as one missing barrier; `races` lists each pair of instructions."""
        return findings(self.races)

    def lines(self, file: str | None = None) -> tuple[Line, ...]:
        """Return the lines of a source file that have instructions, with counters.

        Inlined functions count for the line of `file` that called them, so that sums over several files count
        them several times.

        Parameters
        ----------
        file : str, optional
            Name of the file, as in ``Instruction.frames``. Default: the file of the kernel.

        Returns
        -------
        tuple of Line
            Lines in order of their numbers, summed over all launches.

        Raises
        ------
        ValueError
            If no instruction comes from `file`; the message lists the files.
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
        """Return the lines of a source file.

        Parameters
        ----------
        file : str
            One of `files`.

        Returns
        -------
        list of str
            The lines without their ends; an empty list if the text is unknown.
        """
        if file in self.sources:
            return self.sources[file].splitlines()
        return ptx.source_lines(file)

    def files(self) -> tuple[str, ...]:
        """Return the source files that instructions come from, the file of the kernel first.

        Returns
        -------
        tuple of str
            Names of files, as `source_lines` takes them.
        """
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
        """Return the source with counters next to each line.

        Parameters
        ----------
        file : str, optional
            Source file, one of `files`. Default: the file of the kernel.
        ptx : bool
            Whether to show the PTX that ran instead of the CUDA source. PTX without source lines is always
            shown as PTX.
        predicated : bool
            Whether to add a column with the warp instructions issued if short forward branches become
            predicates, as ptxas makes them.
        width : int, optional
            Width of the terminal in columns: longer lines are truncated, and counters are shortened to three
            digits if source lines would have less than 60 columns. Default: unlimited.

        Returns
        -------
        str
        """
        if ptx or (file is None and not any(self.source_lines(name) for name in self.files())):
            return text.annotated(self, None, predicated, width)
        return text.annotated(self, self._known_file(file), predicated, width)

    def compare(self, other: Profile, names: tuple[str, str] | None = None) -> Comparison:
        """Compare this profile with another one.

        Parameters
        ----------
        other : Profile
            Profile to compare with.
        names : (str, str), optional
            Names of this profile and of the other one in tables. Default: the variants, or the kernels.

        Returns
        -------
        Comparison
            Table of the totals of both; ``sources()`` compares their sources.
        """
        if not isinstance(other, Profile):
            raise TypeError(f"other: expected Profile, got {type(other).__name__}")
        if names is None:
            return Comparison(self, other, text.side_names(self, other))
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"names: expected two strings, got {names!r}")
        if len(names) != 2:
            raise ValueError(f"names: expected two strings, got {len(names)}")
        return Comparison(self, other, (names[0], names[1]))

    def timeline(self, block: int = 0, kernel: int = 0) -> Timeline:
        """Return what each thread of a block did between barriers.

        Parameters
        ----------
        block : int
            Linear index of the block. A block other than 0 is simulated again.
        kernel : int
            Index of the launch in `kernels`.

        Returns
        -------
        Timeline
            ``print`` draws it as text, ``plot()`` with matplotlib.

        Raises
        ------
        ValueError
            If there is no such block or launch.
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
        """Return the global-memory accesses of a block: which thread accessed which bytes.

        The block is simulated again. Bulk copies are not included.

        Parameters
        ----------
        block : int
            Linear index of the block.
        kernel : int
            Index of the launch in `kernels`.

        Returns
        -------
        numpy.ndarray
            Structured array, one element per access and lane, in the order of the simulation, with the fields
            ``memory``, the index of the accessed array in the order of allocation (A, B and C of a product);
            ``offset`` in this array and number of ``bytes``; ``writes``; ``thread`` of the block; ``round``,
            the number of barriers of the block before the access; ``instruction``, the index in
            ``kernels[kernel].instructions``.

        Raises
        ------
        ValueError
            If there is no such block or launch, or the profile is of your own PTX.
        MemoryError
            If there are too many accesses (millions).
        """
        self._launch(block, kernel)
        if self._rerun is None:
            raise ValueError("accesses: available only for variants")
        recorded = self._rerun(block, VISITS).kernels[kernel].accesses
        assert recorded is not None
        return recorded

    def player(self, block: int = 0, kernel: int = 0) -> Player:
        """Return an HTML page that steps through a block, forward and backward.

        For each instruction, the page shows the warps and their lanes, the source line, which lane accesses
        which bank of shared memory, and registers. The block is simulated again.

        Parameters
        ----------
        block : int
            Linear index of the block.
        kernel : int
            Index of the launch in `kernels`.

        Returns
        -------
        Player
            Page; ``save("v1.html")`` writes it to a file, and Jupyter displays it.

        Raises
        ------
        ValueError
            If there is no such block or launch.
        """
        from gpureduce._profiles.player import player

        self._launch(block, kernel)
        if self._rerun is None:
            raise ValueError("player: this profile cannot be run again")
        try:
            again = self._rerun(block, STEPS)
        except SimulationError as error:  # the steps end where the kernel was stopped
            again = error.profile
        return player(self, again.file, again.kernels[kernel], block)

    def _launch(self, block: int, kernel: int) -> KernelProfile:
        """Return a launch; ValueError if it, or the block, does not exist."""
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
    """Comparison of two profiles: a table of totals; `sources` compares the sources.

    Examples
    --------
    >>> import gpureduce
    >>> strided, sequential = (gpureduce.profile(4096, name) for name in ("v1", "v2"))
    >>> compared = strided.compare(sequential)
    >>> dict((name, (left, right)) for name, left, right in compared.rows())["bank conflicts"]
    (1785, 0)
    >>> str(strided.compare(sequential, ("before", "after"))).splitlines()[2].split()
    ['before', 'after']
    >>> [pair.left.number for pair in compared.sources().pairs if pair.left and not pair.same]
    [24, 25, 26, 27, 34]
    """

    left: Profile
    right: Profile
    names: tuple[str, str]

    def rows(self) -> list[tuple[str, float, float]]:
        """Return the compared quantities: name, left value, right value."""
        return text.comparison_rows(self.left, self.right)

    def sources(self) -> SideBySide:
        """Return both sources side by side, with changes marked and with the counters of both.

        Returns
        -------
        SideBySide
            ``print`` shows it in a terminal, ``text(width)`` fits a narrow one; Jupyter displays a table.
        """
        from gpureduce._profiles.side_by_side import SideBySide

        return SideBySide(self.left, self.right, self.names)

    def __str__(self) -> str:
        return text.comparison_table(self.left, self.right, self.names)

    def _repr_html_(self) -> str:
        from gpureduce._profiles.html import comparison_html

        return comparison_html(self.left, self.right, self.names)
