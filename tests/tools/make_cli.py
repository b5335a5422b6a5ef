"""Writes docs/reference/cli.md from the parser of the command line.

Run ``python -m tests.tools.make_cli`` in the folder of the repository. A test holds that the committed page is
the one that this program writes.
"""
# ruff: noqa: E501

import argparse
from pathlib import Path

from gpureduce.__main__ import EXAMPLES, _parser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
HEAD = """\
# Command line

`gpureduce`, or `python -m gpureduce`, has a command for each row. `gpureduce COMMAND --help` prints the tables below.
<!-- written by python -m tests.tools.make_cli -->

| Command | Purpose |
|---|---|
"""
# What several commands share, and the parser cannot say.
TAIL = """\
## Common values

| Value | Meaning |
|---|---|
| element counts | `1000000`, `1_000_000`, `1e6`, `2^20` or `2**20` |
| sizes of a matrix multiplication | `MxNxK`, or one number for M = N = K |
| sizes of a convolution | `NxHxWxCxFxKHxKW`: images, height, width, channels, filters, filter height, filter width |
| several names | separated by spaces or commas: `--variants v0,v7 v8` |
| `--device` | [Choose a device](../how-to/choose-a-device.md); the default also follows `GPUREDUCE_DEVICE` ([Environment variables](environment-variables.md)) |
| `--json`, `--csv` | the same results for programs; standard output holds nothing else |
"""


def cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*")


def names(action: argparse.Action) -> str:
    """Return what stands on the command line."""
    value = action.metavar or (
        f"{{{','.join(action.choices)}}}"
        if action.choices
        else (action.dest if not action.option_strings else action.dest.upper())
    )
    many = f" {value} ..."
    values = {None: f" {value}", 0: "", "?": f" {value}", "+": many, "*": many, "...": many}[action.nargs]
    options = ", ".join(action.option_strings)
    return cell(f"`{options}{values}`" if options else f"`{values.strip()}`")


def usage(name: str, parser: argparse.ArgumentParser) -> str:
    """Return one line: positional arguments and whether there are options."""
    positional = [action for action in parser._actions if not action.option_strings]
    words = [names(action).strip("`").replace("\\|", "|") for action in positional]
    optional = [action.nargs in ("?", "*") for action in positional]
    words = [f"[{word}]" if each else word for word, each in zip(words, optional, strict=True)]
    return " ".join(["gpureduce", name, "[OPTIONS]", *words])


def section(name: str, parser: argparse.ArgumentParser) -> str:
    """Return the part of a command."""
    rows = [
        f"| {names(action)} | {cell(action.help)} |"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
    ]
    table = "\n".join(["| Argument | Meaning |", "|---|---|", *rows])
    return f"## gpureduce {name}\n\n{parser.description}\n\n```text\n{usage(name, parser)}\n```\n\n{table}\n"


def page() -> str:
    """Return the whole page."""
    (commands,) = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    examples, _, codes = EXAMPLES.partition("\n\n")
    lines = [line.strip() for line in examples.splitlines()[1:]]
    purposes = [
        f"| [`{each.dest}`](#gpureduce-{each.dest}) | {cell(each.help)} |"
        for each in commands._choices_actions
    ]
    rows = [line.split(maxsplit=1) for line in codes.splitlines()[1:-1]]
    exits = "\n".join(
        ["| Exit code | Meaning |", "|---|---|", *(f"| {code} | {text} |" for code, text in rows)]
    )
    parts = [
        HEAD + "\n".join(purposes) + "\n",
        "## Examples\n\n```text\n" + "\n".join(lines) + "\n```\n",
        *(section(name, parser) for name, parser in commands.choices.items()),
        TAIL,
        f"## Exit codes\n\n{exits}\n\n{codes.splitlines()[-1]}\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
