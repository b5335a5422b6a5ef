"""The check of words finds idioms and repeated lines, in each kind of text."""

import json
import subprocess
import sys

import pytest

if sys.version_info < (3, 11):
    pytest.skip("needs tomllib", allow_module_level=True)
from tests.tools import words

PAGE = """# Sums

The sum of an array is on the device until it is read.

- a list entry, which is longer than forty characters

```python
first = "a line of code that is longer than forty characters"
```
| a row of a table, which is longer than forty characters |
"""


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """Check one page, and return whether it passes and what was printed."""

    def check(text, name="docs/page.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        subprocess.run(["git", "-C", str(tmp_path), "add", name], check=True)
        monkeypatch.setattr(words, "ROOT", tmp_path)
        passed = words.main(["--list"]) == 0
        return passed, capsys.readouterr().out

    return check


def test_a_clean_page_passes(checked):
    assert checked(PAGE)[0]


@pytest.mark.parametrize("idiom", ["beside the ladder", "Nobody waits", "3 us a call", "a sum \u2014 fast"])
@pytest.mark.parametrize("name", ["docs/page.md", "README.md", "CHANGELOG.md"])
def test_a_planted_idiom_fails(checked, idiom, name):
    passed, printed = checked(f"{PAGE}\n{idiom}\n", name)
    assert not passed and f"{name}: ..." in printed and idiom in printed


def test_idioms_of_notebooks_are_found_in_their_cells_alone(checked):
    output = {"output_type": "stream", "name": "stdout", "text": ["beside"]}
    cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [output]}
    markdown = {"cell_type": "markdown", "source": ["Sums of ", "float32"]}
    assert checked(json.dumps({"cells": [cell, markdown]}), "notebooks/one.ipynb")[0]
    markdown["source"].append(" beside others")
    assert not checked(json.dumps({"cells": [cell, markdown]}), "notebooks/one.ipynb")[0]


def test_an_idiom_of_a_message_counts_against_messages(checked):
    code = "x = 1\n" * 4000 + 'raise ValueError("a: an array of the host was given")\n'
    passed, printed = checked(code, "gpureduce/a.py")
    assert not passed and "messages: 1 idioms in 8 words" in printed


def test_examples_of_the_style_guide_do_not_count(checked):
    assert checked(f"{PAGE}\n<!-- examples -->\n| beside | next to |\n<!-- end -->\n")[0]


@pytest.mark.parametrize("number", [2, 4])
def test_a_line_that_stands_twice_fails(checked, number):
    line = PAGE.splitlines()[number]
    passed, printed = checked(f"{PAGE}\n{line}\n")
    assert not passed and f"docs/page.md: stands twice: {line}" in printed


@pytest.mark.parametrize("number", [7, 9])
def test_lines_of_code_and_tables_may_stand_twice(checked, number):
    line = PAGE.splitlines()[number]
    page = PAGE.replace(line, f"{line}\n{line}")
    assert page.count(line) == 2 and checked(page)[0]


LONG_LINES = {
    "prose": ("The sum of an array. " * 7, True),
    "a list entry": ("- The sum of an array. " * 7, True),
    "a row of a table": ("| The sum of an array. " * 7, False),
    "code": (f"```python\nx = {'1 + ' * 40}1\n```", False),
    "names": (f"- {'`sum`, ' * 20}`mean`", False),
    "an address": (f"[Sums](https://example.org/{'x' * 120}) of arrays", False),
    "generated": (f"<!-- sums-table -->\n{'The sum of an array. ' * 7}\n<!-- end -->", False),
}


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_long_line_fails_if_it_is_prose(checked, kind):
    line, fails = LONG_LINES[kind]
    passed, printed = checked(f"{PAGE}\n{line}\n")
    assert passed == (not fails) and ("over 120 characters" in printed) == fails


def test_every_idiom_says_what_to_write_instead():
    found = words.idioms()
    assert len(found) >= 20 and all(found.values())
