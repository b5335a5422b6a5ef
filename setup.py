"""The C extension and the kernels. Everything else is in pyproject.toml.

Switches in the environment (=1): GPUREDUCE_DEBUG, GPUREDUCE_SANITIZE, GPUREDUCE_TSAN, GPUREDUCE_COVERAGE,
GPUREDUCE_FUZZ, GPUREDUCE_WERROR, GPUREDUCE_CUB (in build_support/kernels.py). Another, of several values:
GPUREDUCE_CUDA_ARCHITECTURES (in build_support/architectures.py).
"""

import logging
import os
import shutil
import sys
import sysconfig
from glob import glob
from pathlib import Path

import numpy
from setuptools import Command, Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "build_support"))
from kernels import build_kernels
from objects import Objects, common_key
from progress import side_by_side

# Each switch: compiler flags, linker flags. They follow Python's own flags and the ones below, and win.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
FUZZ = ["-fno-omit-frame-pointer", "-fsanitize=address,undefined,fuzzer-no-link", "-fsanitize-trap=undefined"]
SWITCHES = {
    "DEBUG": (["-O0", "-g", "-UNDEBUG"], []),
    # -g1 has all that a report shows.
    "SANITIZE": (["-O2", "-g1", "-UNDEBUG", "-fno-wrapv", "-fno-omit-frame-pointer", *SANITIZE], SANITIZE),
    # Which function is chosen for this processor is decided before the sanitizer is there.
    "TSAN": (["-O1", "-g", "-UNDEBUG", "-DPTX_NO_CLONES", "-fsanitize=thread"], ["-fsanitize=thread"]),
    # For tests/fuzz, with CC=clang; the run-time part comes with atheris.
    "FUZZ": (["-O1", "-g", "-UNDEBUG", "-fno-wrapv", "-DPTX_NO_CLONES", *FUZZ], ["-fsanitize=address"]),
    "COVERAGE": (["-O0", "-g", "--coverage"], ["--coverage"]),
    # Frames are bounded for threads with small stacks: of 64 KiB in tests/robustness/test_small_stacks.py.
    "WERROR": (
        ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wframe-larger-than=16384", "-Werror"],
        [],
    ),
}
CUDART = "libcudart.so.13"
CHOSEN = [name for name in SWITCHES if os.environ.get(f"GPUREDUCE_{name}", "0") not in ("", "0")]


class Build(build):
    """Build the kernels too."""

    sub_commands = [*build.sub_commands, ("build_kernels", None)]


class BuildExt(build_ext):
    """Compile the C files side by side, those that have changed since an earlier build."""

    def build_extensions(self):
        """Hand the compiler one file a thread, with a short line for each in place of its long command."""
        compile_in_turn = self.compiler.compile
        objects = Objects(self._common_key())

        def compile_side_by_side(sources, **options):
            print(*self.compiler.compiler_so, *options["extra_postargs"], flush=True)
            paths = self.compiler.object_filenames(sources, output_dir=options["output_dir"])
            targets = dict(zip(sources, paths, strict=True))
            # Coverage puts more files next to an object.
            new = [s for s in sources if "COVERAGE" in CHOSEN or not objects.take(s, targets[s])]

            def compile_one(source):
                objects.make(source, targets[source], lambda: compile_in_turn([source], **options))

            logging.disable(logging.INFO)
            try:
                side_by_side(compile_one, new, _effort)
            finally:
                logging.disable(logging.NOTSET)
            return paths

        self.compiler.compile = compile_side_by_side
        super().build_extensions()

    def _common_key(self):
        """Return a digest of compiler, options and headers."""
        # pip installs NumPy into another folder for each build.
        options = [numpy.__version__ if text == numpy.get_include() else text for text in FLAGS]
        return common_key(
            self.compiler.compiler_so, [*options, *map(str, MACROS), *INCLUDE_FOLDERS, sys.version], HEADERS
        )

    def get_ext_filename(self, fullname):
        """Return the file of an extension; the runtime has the name that programs ask the linker for."""
        if fullname.rpartition(".")[2] == "libcudart":
            return os.path.join(*fullname.split(".")[:-1], CUDART)
        return super().get_ext_filename(fullname)


def _effort(source):
    """Return how many seconds a C file takes, roughly: of instructions it makes code for several CPUs."""
    return 4 if "/exec_" in source else 1


class BuildKernels(Command):
    """Put the compiled kernels and their sources into the package, in an editable install into the tree."""

    user_options = []
    editable_mode = False

    def initialize_options(self):
        """Set defaults."""
        self.build_lib = None

    def finalize_options(self):
        """Take the place of the package from the build command."""
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def run(self):
        """Build."""
        package = Path("" if self.editable_mode else self.build_lib, "gpureduce")
        shutil.rmtree(package / "kernels", ignore_errors=True)  # where older builds in this tree put them
        build_kernels(package / "_ptx")

    def get_source_files(self):
        """Return nothing: MANIFEST.in names the sources."""
        return []

    def get_outputs(self):
        """Return nothing: the wheel takes all of build_lib."""
        return []

    def get_output_mapping(self):
        """Return nothing: an editable install builds in place."""
        return {}


HEADERS = sorted(path for kind in ("h", "def", "map") for path in glob(f"csrc/**/*.{kind}", recursive=True))
INCLUDE_FOLDERS = ["csrc", "csrc/ptxsim"]
MACROS = [
    ("_GNU_SOURCE", None),
    ("NPY_NO_DEPRECATED_API", "NPY_1_25_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_1_25_API_VERSION"),
]
FLAGS = [
    # Python's and NumPy's headers are not ours to warn about.
    *("-isystem", numpy.get_include(), "-isystem", sysconfig.get_path("include")),
    # Python may have been built with -g, which would make the extension five times as large.
    *(["-g0"] if "-g" not in os.environ.get("CFLAGS", "").split() else []),
    *("-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-pthread"),
    *(flag for name in CHOSEN for flag in SWITCHES[name][0]),
]
OPTIONS = {
    "depends": HEADERS,
    "include_dirs": INCLUDE_FOLDERS,
    "define_macros": MACROS,
    "extra_compile_args": FLAGS,
}
LINKED = ["-ldl", "-lm", "-pthread", *(flag for name in CHOSEN for flag in SWITCHES[name][1])]
SOURCES = sorted(glob("csrc/**/*.c", recursive=True))

core = Extension(
    "gpureduce._core",
    sources=[path for path in SOURCES if not path.startswith("csrc/cudart/")],
    extra_link_args=LINKED,
    **OPTIONS,
)
# The CUDA runtime on the simulator: no module of Python, and on no path that a linker searches by default.
cudart = Extension(
    "gpureduce._program.libcudart",
    sources=[path for path in SOURCES if path.startswith(("csrc/cudart/", "csrc/ptxsim/"))],
    extra_link_args=[f"-Wl,-soname,{CUDART},--version-script,csrc/cudart/libcudart.map", *LINKED],
    **OPTIONS,
)

setup(
    ext_modules=[core, cudart],
    cmdclass={"build": Build, "build_ext": BuildExt, "build_kernels": BuildKernels},
    # A folder for each set of switches: setuptools compares dates, not flags.
    options={"build": {"build_base": "-".join(["build/c", *CHOSEN]).lower()}},
)
