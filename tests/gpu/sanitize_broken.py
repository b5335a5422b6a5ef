"""compute-sanitizer against the simulator's detector, on every rung and each of tests/broken_kernels.

``python tests/gpu/sanitize_broken.py --out tests/data/sanitizer_agreement_h200.json`` on a GPU machine with
nvcc and compute-sanitizer; ``--besides FILE`` runs only the kernels that a file of results lacks.
tests/simulator/test_racecheck.py holds the simulator against the results.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
from tests.support import broken  # noqa: E402

TOOLS = ["racecheck", "initcheck", "synccheck"]
OPTIONS = {
    "racecheck": ["--racecheck-report", "all"],
    "initcheck": [],
    "synccheck": [],
}
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")


def run(tool: str, command: list[str], limit: int = 40) -> dict:
    """Return the number of findings of one tool, and the kinds of its first messages."""
    whole = ["compute-sanitizer", "--tool", tool, *OPTIONS[tool], "--print-limit", "200", *command]
    try:
        done = subprocess.run(
            whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"findings": None, "kinds": ["timeout"]}
    counts = [int(count) for count in SUMMARY.findall(done.stdout)]
    lines = [re.sub(r"^=+\s*", "", line) for line in done.stdout.splitlines()]
    kinds = {match[0] for line in lines for match in [re.match(KINDS, line)] if match}
    if not counts:
        return {"findings": None, "kinds": lines[:6]}
    return {"findings": sum(counts), "kinds": sorted(kinds)}


KINDS = re.compile(
    r"(?:Warning|Error|Info): .*?(?:hazard|Race reported)|Barrier error detected\. .*|"
    r"Uninitialized \S+ memory read|Divergent thread\(s\) in \S+"
)


def build(name: str, folder: Path) -> Path:
    """Compile one broken kernel into a program."""
    program = folder / name
    source = broken.source(name)
    flags = [
        "-O3",
        "-std=c++17",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-lineinfo",
        f"-DKERNEL={name}",
        f'-DKERNEL_FILE="{source}"',
    ]
    subprocess.run(["nvcc", *flags, str(HERE / "run_broken.cu"), "-o", str(program)], check=True)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--only-broken", action="store_true", help="leave the rungs out")
    parser.add_argument("--besides", help="only broken kernels that this file of results lacks")
    options = parser.parse_args()
    known = json.loads(Path(options.besides).read_text())["rows"] if options.besides else []
    names = [*broken.names(), *broken.names(broken.HOPPER)]
    names = [name for name in names if name not in {row["kernel"] for row in known}]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(16) as pool:
        programs = dict(zip(names, pool.map(lambda name: build(name, Path(folder)), names), strict=True))
        commands = {name: [str(program)] for name, program in programs.items()}
        if not (options.only_broken or options.besides):
            import gpureduce

            exercise = [sys.executable, str(HERE / "exercise.py")]
            installed = [v.name for v in gpureduce.variants("reduction") if v.installed]
            commands |= {name: [*exercise, name, "--short"] for name in installed}
        with ThreadPoolExecutor(12) as few:
            jobs = {
                (name, tool): few.submit(run, tool, command)
                for name, command in commands.items()
                for tool in TOOLS
            }
            rows = [
                {
                    "kernel": name,
                    "broken": name in programs,
                    **{tool: jobs[name, tool].result() for tool in TOOLS},
                }
                for name in commands
            ]
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    head = {
        "device": subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
        ).stdout.strip(),
        "compute_sanitizer": version.strip().splitlines()[-1],
        "date": datetime.date.today().isoformat(),
    }
    lines = ",\n".join("    " + json.dumps(row) for row in rows)
    text = json.dumps({**head, "rows": []}, indent=2).replace('"rows": []', '"rows": [\n' + lines + "\n  ]")
    Path(options.out).write_text(text + "\n")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
