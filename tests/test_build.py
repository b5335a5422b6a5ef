"""The build backend lets one build at a time work in a tree."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parent.parent / "build_support"


def test_builds_in_one_tree_go_in_turn(tmp_path):
    """As those of two pips; each would find the other's files in setuptools' folders."""
    pytest.importorskip("setuptools", "77")
    if not SUPPORT.is_dir():
        pytest.skip("no sources beside the tests")
    program = """
        import sys, time
        sys.path.insert(0, sys.argv[1])
        import backend
        def build(number):
            for word in ("begins", "ends"):
                with open("log", "a") as log:
                    log.write(f"{number} {word}\\n")
                time.sleep(0.3)
        assert backend.build_wheel.__wrapped__ is backend.build_meta.build_wheel
        backend._in_turn(build)(sys.argv[2])
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(SUPPORT)]
    running = [subprocess.Popen([*command, str(number)], cwd=tmp_path) for number in range(3)]
    assert [child.wait(60) for child in running] == [0, 0, 0]
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    numbers = [number for number, _ in lines[::2]]
    assert sorted(numbers) == ["0", "1", "2"]
    assert lines == [[number, word] for number in numbers for word in ("begins", "ends")]
