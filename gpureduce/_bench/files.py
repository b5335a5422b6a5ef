"""Result files: JSON with a schema version, one row per line."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from gpureduce._rules.files import read_text, write_text

SCHEMA = 1
SHIPPED = Path(__file__).parent / "ladder_h200.json"  # what `gpureduce plot` draws without an argument


def as_json(record: dict[str, Any]) -> str:
    """Return a record as JSON with its schema version, one row per line so that diffs are per row."""
    rows = ",\n".join("    " + json.dumps(row) for row in record["rows"])
    head = json.dumps({"schema": SCHEMA, **record, "rows": []}, indent=2)
    return head.replace('"rows": []', '"rows": [\n' + rows + "\n  ]") + "\n"


def parse_result(text: str, name: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the record in the text of a result file, without its schema version.

    Raises
    ------
    ValueError
        If the text is not a JSON object with rows, or has another schema version; the message has `name`.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not a result of gpureduce.bench ({error!r})") from None
    if not isinstance(record, dict) or not isinstance(record.get("rows"), list):
        raise ValueError(f"{name} is not a result of gpureduce.bench (no list of rows)")
    schema = record.pop("schema", None)
    if schema is None:
        raise ValueError(f'{name} has no schema version; expected "schema": {SCHEMA}')
    if isinstance(schema, bool) or schema != SCHEMA:
        raise ValueError(f"{name} has schema version {schema!r}; this gpureduce reads version {SCHEMA}")
    return record


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the record in a result file; ValueError as `parse_result` raises it."""
    return parse_result(read_text(path), path)


def check_writable(path: str) -> None:
    """Raise the OSError that writing a file would raise, before anything is measured."""
    target = Path(path)
    is_new = not target.exists()
    if is_new or target.is_file() or target.is_dir():  # opening and closing a pipe would close its reader
        with open(target, "ab"):
            pass
        if is_new:
            target.unlink()


def writable_path(text: str) -> str:
    """Return the path of a writable file, as a type of argparse."""
    try:
        check_writable(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None
    return text


def write_result(path: str | os.PathLike[str] | None, record: dict[str, Any]) -> None:
    """Write a result file, unless `path` is None."""
    if path is not None:
        write_text(path, as_json(record))
