"""Stepping through a block, in one self-contained HTML page."""

from __future__ import annotations

import base64
import json
import os
import zlib
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

from gpureduce._profiles.palette import DARK, LIGHT, Palette
from gpureduce._profiles.records import KernelProfile
from gpureduce._profiles.text import ProfileView
from gpureduce._profiles.trace import Trace
from gpureduce._rules.files import write_text


@dataclass(frozen=True)
class Player:
    """HTML page that steps through one block of a launch; see `Profile.player`. Jupyter displays it.

    Attributes
    ----------
    title : str
        Title: the kernel and the block.
    steps : int
        Number of steps: instructions, once per warp.
    lost : int
        Number of steps beyond the 10,000 that are kept.
    html : str
        The page, which needs neither a server nor a network.

    Examples
    --------
    >>> import gpureduce
    >>> player = gpureduce.profile(256, "v1", block_size=64).player()
    >>> player.title
    'v1: sum of 256 float32, 64 threads per block: block 0 of v1_sum_f32'
    >>> "<html" in player.html and player.lost == 0
    True
    """

    title: str
    steps: int
    lost: int
    html: str = field(repr=False)

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : path_like
            File to write, which any browser opens.
        """
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="860" style="border:0"></iframe>'


def _colours(palette: Palette) -> str:
    """Return the properties of a style sheet; text on a colour has a contrasting colour."""
    named = {name: getattr(palette, name) for name in ("background", "text", "faint", "grid", "idle")}
    named["work"] = palette.series[0]
    for i, colour in enumerate(palette.conflicts):
        named[f"c{i}"] = colour
        # The first two lie nearer to the background.
        named[f"ink{i}"] = palette.text if i < 2 else palette.background
    return " ".join(f"--{name}: {value};" for name, value in named.items())


def _instructions(
    launch: KernelProfile, trace: Trace, profile: ProfileView, file: str
) -> tuple[list[dict], list[dict]]:
    """Return the source files of instructions, and the instructions.

    Of the frames of an instruction, from the innermost outwards, `here` is the frame to show: the one in
    `file`, or else the innermost with a known source; None if there is none.
    """
    files: dict[str, int] = {file: 0} if file else {}
    lines_of = cache(profile.source_lines)
    instructions = []
    for pc, instruction in enumerate(launch.instructions):
        frames = [[files.setdefault(name, len(files)), line] for name, line in instruction.frames]
        places = [(name != file, i) for i, (name, _) in enumerate(instruction.frames) if lines_of(name)]
        instructions.append(
            {
                "line": instruction.ptx_line,
                "text": trace.statements[pc],
                "effect": instruction.effect,
                "frames": frames,
                "here": min(places)[1] if places else None,
                "registers": trace.registers(pc),
            }
        )
    return [{"name": name, "lines": lines_of(name)} for name in files], instructions


def player(profile: ProfileView, file: str, launch: KernelProfile, block: int) -> Player:
    """Return the player of a launch of a profile, with its steps; `file` is the kernel's source file."""
    trace = launch.trace
    assert trace is not None
    files, instructions = _instructions(launch, trace, profile, file)
    tables = (trace.steps, trace.touches, trace.written)
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    whole = f"{profile.title}: block {block} of {launch.name}"
    note = f"{trace.lost:,} further steps are not kept." if trace.lost else ""
    data = {
        "title": whole,
        "threads": threads,
        "warps": -(-threads // 32),
        "shared": launch.shared_bytes,
        "files": files,
        "main": 0 if files and files[0]["lines"] else None,
        "instructions": instructions,
        "memories": [str(each) for each in np.unique(trace.touches["memory"][trace.touches["space"] == 1])],
        "counts": [len(table) for table in tables],
        "lost": trace.lost,
        "note": note,
        "trace": base64.b64encode(zlib.compress(b"".join(table.tobytes() for table in tables))).decode(),
    }
    page = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    parts = {
        "{title}": escape(whole),
        "{light}": _colours(LIGHT),
        "{dark}": _colours(DARK),
        "{data}": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    for mark, text in parts.items():
        page = page.replace(mark, text, 1)
    return Player(whole, len(trace.steps), trace.lost, page)
