"""The ladders as a book: a page per ladder, a chapter per rung, made of the rungs' records and sources."""

from __future__ import annotations

import re

import gpureduce
from gpureduce._bench.sources import with_headers

# For each ladder: subject, page with its times, argument of `gpureduce.profile`, and its description.
LADDERS = {
    "reduction": ("reduction", "docs/benchmarks/reduction-ladder.md", 4096, "a sum of 4,096"),
    "matmul": (
        "matrix multiplication",
        "docs/benchmarks/matmul.md",
        (64, 64, 64),
        "a multiplication of 64 x 64 by 64 x 64",
    ),
    "conv": (
        "convolution",
        "docs/benchmarks/convolution.md",
        ((1, 18, 18, 12), (24, 3, 3, 12), {"layout": "NHWC"}),
        "a convolution of 18 x 18 x 12 by 24 filters of 3 x 3",
    ),
    "exact": ("exact sum", "docs/benchmarks/exact-sums.md", 4096, "a sum of 4,096"),
    "groups": ("group sum", "docs/benchmarks/groups.md", (4096, 50), "the sums of 50 groups of 4,096"),
    "scan": ("cumulative sum", "docs/benchmarks/scans-and-segments.md", 4096, "a cumulative sum of 4,096"),
}
BOOK = [f"ladders/{ladder}" for ladder in LADDERS]
ROUNDS = 20  # drawn at most
ROLES = {"rung": "", "side": "Not on the ladder. ", "study": "For study only, with a defect. "}
LEAD = re.compile(r"[A-Z][^.:]{2,40}:")  # for example "What limits it now:"


def _escaped(text: str) -> str:
    """Return a text in which Markdown interprets only code between backquotes."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_{}\[\]<>#|$~])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _head(source: str) -> tuple[str, str]:
    """Return the comment at the head of a source as Markdown, and the rest of it."""
    lines = source.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    paragraphs: list[str] = []
    for line in (each.removeprefix("//").strip() for each in lines[1:count]):
        lead = LEAD.match(line)
        if lead and (not paragraphs or paragraphs[-1][-1:] in ("", ".", ")")):
            paragraphs.append(f"**{_escaped(lead[0])}**{_escaped(line[lead.end() :])}")
        elif line and paragraphs and paragraphs[-1]:
            paragraphs[-1] += f" {_escaped(line)}"
        else:
            paragraphs.append(_escaped(line))
    return "\n\n".join(each for each in paragraphs if each), "\n".join(lines[count:]).strip("\n")


def _counts(variant: gpureduce.Variant) -> str:
    """Return what the simulator saw of a variant; nothing of one that it does not run."""
    *_, asked, words = LADDERS[variant.ladder]
    if "sim" not in variant.backends:
        return ""
    dtype = "float32" if "float32" in variant.dtypes else variant.dtypes[0]
    found = gpureduce.profile(asked, variant.name, dtype=dtype)
    lanes = found.timeline()
    drawn = f"\n\n{lanes.text(64)}" if len(lanes.states) <= ROUNDS else ""
    return f"What the simulator counts of {words} {dtype}:\n\n```text\n{found}{drawn}\n```\n"


def _chapter(variant: gpureduce.Variant) -> str:
    parts = [
        f"## {variant.name}: {variant.title}",
        f"{variant.technique[0].upper()}{_escaped(variant.technique[1:])}.",
    ]
    facts = ROLES[variant.role]
    facts += f"After `{variant.after}`. " if variant.after else ""
    facts += f"Dtypes: {', '.join(variant.dtypes)}."
    parts.append(facts)
    if variant.file:
        head, body = _head(with_headers(variant.name))
        parts += [head, f"```cuda\n{body}\n```", _counts(variant)]
    return "\n\n".join(part for part in parts if part)


def ladder_pages() -> dict[str, str]:
    """Return the pages by the name of the file."""
    pages = {}
    for ladder in dict.fromkeys(variant.ladder for variant in gpureduce.variants()):
        what, figures, *_ = LADDERS[ladder]
        head = f"# The {what} ladder: source and counts of each rung"
        about = (
            "One chapter per rung: what the previous rung still cost, the one change, the source, and counts."
        )
        times = f"The [benchmark](../{figures}) has their times."
        chapters = [_chapter(variant) for variant in gpureduce.variants(ladder)]
        pages[f"ladders/{ladder}.md"] = "\n\n".join([head, f"{about} {times}", *chapters]) + "\n"
    return pages
