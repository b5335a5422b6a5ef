"""Falls into every known trap, one at a time in a copy of the tree, and shows which test fails.

python tests/mutation/run.py             all mutants
python tests/mutation/run.py v8 tail     those whose trap contains one of the words
python tests/mutation/run.py --device=cuda   on a GPU: those that the simulator cannot show

The package must be installed for this interpreter (its compiled parts are taken from there), and nvcc and a
C compiler found. Exits with 1 when a mutant survives, a change is out of date, or the tests fail without any.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from every import MUTANTS
from places import changed, spans

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build_support"))
import kernels  # noqa: E402
from find_nvcc import find_nvcc  # noqa: E402
from packing import pack  # noqa: E402

PARTS = (
    "benchmarks",
    "build_support",
    "csrc",
    "cuda_kernels",
    "gpureduce",
    "pyproject.toml",
    "setup.py",
    "tests",
)


class Tree:
    """A copy of the sources with the compiled parts of the installed package put in place."""

    def __init__(self, folder, on_gpu):
        self.root = folder
        self.on_gpu = on_gpu
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "build", "*.o")
                shutil.copytree(source, folder / part, ignore=ignored)
            else:
                shutil.copy2(source, folder / part)
        self._place_compiled_parts()
        os.chdir(folder)  # where the names of sources and includes are relative to
        self.nvcc = find_nvcc()

    def _place_compiled_parts(self):
        code = "import gpureduce, pathlib; print(pathlib.Path(gpureduce.__file__).parent)"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True
        )
        installed = Path(done.stdout.strip())
        package = self.root / "gpureduce"
        self.extension = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
        shutil.copy2(installed / self.extension, package / self.extension)
        shutil.copytree(installed / "_ptx", package / "_ptx", dirs_exist_ok=True)

    def apply(self, mutant):
        """Changes the sources and compiles what depends on them; returns a function that undoes it."""
        path = self.root / mutant.file
        before = path.read_text()
        found = len(spans(before, mutant.function, mutant.old))
        if found != mutant.times:
            where = f"{mutant.function} of {mutant.file}" if mutant.function else mutant.file
            raise SystemExit(f"{mutant.trap}: {where} has {found} times, not {mutant.times}:\n{mutant.old}")
        path.write_text(changed(before, mutant.function, mutant.old, mutant.new))
        kept = self._compile(mutant.file)

        def undo():
            path.write_text(before)
            for compiled, data in kept.items():
                compiled.unlink(missing_ok=True)  # a new file, never new contents of one that may be mapped
                compiled.write_bytes(data)

        return undo

    def _compile(self, changed):
        package = self.root / "gpureduce"
        if changed.startswith("csrc/"):
            kept = {package / self.extension: (package / self.extension).read_bytes()}
            self._run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force")
            return kept
        if not changed.startswith("cuda_kernels/"):
            return {}
        name, folder = Path(changed).name, Path("cuda_kernels")
        built = [
            kernel
            for source in sorted(folder.rglob("*.cu"))
            if source != kernels.CUB_SOURCE
            and any(path.name == name for path in kernels._with_includes(source))
            for kernel in kernels.kernels_of(source)
        ]
        kept = {}
        for kernel in built:
            target = package / "_ptx" / f"{kernel}.ptx"
            packed = target.with_name(f"{target.name}.xz")
            kept[packed] = packed.read_bytes()
            arch = f"-arch=compute_{kernel.architecture}"
            self._run(
                self.nvcc, *kernels.PTX_FLAGS, arch, *kernel.macros, str(kernel.source), "-o", str(target)
            )
            packed.write_bytes(pack(target.read_bytes()))
            if self.on_gpu:
                fatbin = target.with_suffix(".fatbin")
                if fatbin.exists():
                    kept[fatbin] = fatbin.read_bytes()
                    fatbin.unlink()
            target.unlink()
        return kept

    def _run(self, *command):
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    def pytest(self, *arguments):
        """Runs tests of the copy up to the first failure; returns the exit code and the output."""
        if arguments[0].startswith("tests/gpu/"):  # a program of its own
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root)},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, f"FAILED {arguments[0]}\n{done.stdout}{done.stderr}"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--exhaustive",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            *arguments,
        ]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def killer(output):
    """The first test that failed, as pytest names it."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
    return found[1].removeprefix("tests/") if found else "?"


def verdict(tree, mutant):
    """What became of a mutant: (killed, text for the table)."""
    undo = tree.apply(mutant)
    try:
        code, output = tree.pytest(*mutant.tests)
    finally:
        undo()
    if code == 1:
        return True, f"killed by {killer(output)}"
    if code == 0:
        return False, "SURVIVED"
    return False, f"NO VERDICT, pytest exit code {code}: {output[-500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose trap contains one of these")
    parser.add_argument("--device", default="sim", help='"cuda" for the mutants that only a GPU shows')
    args = parser.parse_args()
    chosen = [m for m in MUTANTS if not args.words or any(word in m.trap for word in args.words)]
    on_gpu = args.device != "sim"
    if on_gpu:
        chosen = [m for m in chosen if m.gpu_only]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), on_gpu)
        for tests in sorted({mutant.tests for mutant in chosen if on_gpu or not mutant.gpu_only}):
            code, output = tree.pytest(*tests)
            if code != 0:
                raise SystemExit(f"without any mutant: pytest {' '.join(tests)} fails\n{output[-3000:]}")
        width = max(len(mutant.trap) for mutant in chosen)
        for mutant in chosen:
            if mutant.gpu_only and not on_gpu:
                tree.apply(mutant)()  # the change still fits and compiles
                killed, text = True, f"GPU only: {mutant.gpu_only}"
            else:
                killed, text = verdict(tree, mutant)
            survivors += not killed
            print(f"{mutant.trap:<{width}}  {text}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} not killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
