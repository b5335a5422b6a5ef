#!/usr/bin/env python3
"""Runs mypy and pyright: on the package, on calls they must take, and on calls they must refuse.

Needs the versions of the extra "dev" (mypy, and pyright as basedpyright, whose wheels need nothing else) and
NumPy; the package is read where it lies, and need not be built. In `refused.py` each call names the codes of
the errors that it must have, in `accepted.py` none has any.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CASES = ["accepted.py", "refused.py"]
ERROR = re.compile(r"(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", re.M)


def run(module, *arguments):
    """Run a checker; return its exit status and output. It fails with 1 where it has found errors."""
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{module}: {done.stdout}{done.stderr}")
    return done.returncode, done.stdout


def expected(checker):
    """Return the errors that the comments ask for."""
    found = set()
    for file in CASES:
        for number, line in enumerate((HERE / file).read_text().splitlines(), 1):
            code = re.search(rf"#.*\b{checker}: ([\w-]+)", line)
            if code:
                found.add((file, number, code[1]))
    return found


def by_mypy():
    """Return the errors of mypy, with all that --strict asks of callers."""
    options = ["--config-file=", f"--cache-dir={ROOT / 'build/mypy/strict'}", "--follow-imports=silent"]
    _, text = run("mypy", "--strict", *options, *CASES)
    return {(file, int(number), code) for file, number, code in ERROR.findall(text)}


def by_pyright():
    """Return the errors of pyright in its strict mode."""
    _, text = run("basedpyright", "--outputjson", "--pythonpath", sys.executable)
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["rule"])
        for each in json.loads(text)["generalDiagnostics"]
        if each["severity"] == "error"
    }


def package_by_mypy():
    """Return the exit status and the output of mypy for the package, as pyproject.toml has it."""
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / "build/mypy")]
    return run("mypy", *options, str(ROOT / "gpureduce"), str(ROOT / "benchmarks"))


def compare(checker, found):
    """Print what a checker should have said, and what not; return how much. A call may have more errors."""
    wanted = expected(checker)
    places = {(file, number) for file, number, _ in wanted}
    missing = wanted - found
    surplus = {each for each in found if each[:2] not in places}
    for file, number, code in sorted(missing):
        print(f"tests/typing/{file}:{number}: {checker} has no error {code} here")
    for file, number, code in sorted(surplus):
        print(f"tests/typing/{file}:{number}: {checker} has an error {code} here")
    print(f"{checker}: {len(wanted) - len(missing)} of {len(wanted)} wrong calls refused")
    return len(missing | surplus)


def main():
    """Print what is not as it should be; return how much."""
    with ThreadPoolExecutor() as pool:
        package, mypy, pyright = (pool.submit(each) for each in (package_by_mypy, by_mypy, by_pyright))
    status, text = package.result()
    print(text, end="")
    return min(status + compare("mypy", mypy.result()) + compare("pyright", pyright.result()), 100)


if __name__ == "__main__":
    sys.exit(main())
