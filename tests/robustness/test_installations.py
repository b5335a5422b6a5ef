"""Read-only installations, without a home folder, a network or liblzma, and used by many processes at once.

Kernels are unpacked in memory at their first use. Only what is compiled at run time is kept on disk.
"""

import lzma
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gpureduce
from gpureduce._device.ptx import KERNEL_DIR
from tests.support.sanitized import UNDER_ASAN, forks_beside_threads

PACKAGE = Path(gpureduce.__file__).parent

# Runs a command without what lets root write to files that nobody may write to: CAP_DAC_OVERRIDE.
AS_OWNER = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
# Raises an exception where a socket is made, a file is opened for writing or a folder is made.
NOTHING_IS_WRITTEN = """
    import os, sys
    def refuse(event, args):
        flags = args[2] if event == "open" and args[0] != os.devnull else 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or event.startswith(("os.mkdir", "socket.")):
            raise AssertionError(f"{event} {args}")
    sys.dont_write_bytecode = True  # which Python would try
    sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A copy of the package that nobody may write to, without bytecode."""
    folder = tmp_path_factory.mktemp("site-packages")
    ignored = shutil.ignore_patterns("__pycache__", "*.fatbin", "exercises", "src", "general_*")
    shutil.copytree(PACKAGE, folder / "gpureduce", ignore=ignored)
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(place.stat().st_mode & ~0o222)
    yield folder
    for place in places:
        place.chmod(place.stat().st_mode | 0o200)


def run(folder, code, **environment):
    """Run code as a user who may not write to the installation, with these environment variables."""
    kept = ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS")
    variables = {name: os.environ[name] for name in kept if name in os.environ} | environment
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(
        [sys.executable, "-c", AS_OWNER, *command],
        env=variables | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


FIRST_USE = """
    import gpureduce, numpy as np
    a = np.arange(1000, dtype=np.int32)
    assert gpureduce.__file__.startswith({folder!r})
    print(gpureduce.sum(a, device={device!r}), gpureduce.sum(a.reshape(20, 50), device={device!r}))
"""


@pytest.mark.parametrize("home", [None, "read-only"])
@pytest.mark.parametrize("device", ["sim", "cuda"])
def test_a_read_only_installation_without_a_home(installed, tmp_path_factory, request, device, home):
    """A first sum opens nothing for writing, and no socket."""
    variables = {} if home is None else {"HOME": str(installed)}
    if device == "cuda":
        variables |= request.getfixturevalue("fake_libraries")
    first_use = FIRST_USE.format(folder=str(installed), device=device)
    assert run(installed, NOTHING_IS_WRITTEN + first_use, **variables) == ["499500", "499500"]
    assert not list(installed.rglob("__pycache__"))


@forks_beside_threads
@pytest.mark.parametrize("device", ["sim", "cuda"])
def test_first_use_in_sixty_processes_at_once(installed, tmp_path, request, device):
    """They unpack the same kernels, and keep the same compiled kernel in one folder."""
    variables = {"GPUREDUCE_CACHE_DIR": str(tmp_path / "cache"), "GPUREDUCE_SIM_THREADS": "1"}
    variables |= request.getfixturevalue("fake_libraries") if device == "cuda" else {}
    code = """
        import os, signal
        import gpureduce, numpy as np
        from gpureduce._custom.disk_cache import kept
        a = np.arange(1000, dtype=np.int32)
        text = "a kernel " * 100_000
        wait, go = os.pipe()
        children = []
        for _ in range(PROCESSES):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                code = 1
                try:
                    os.close(go)
                    os.read(wait, 1)
                    good = gpureduce.sum(a, device=DEVICE) == gpureduce.sum(a, device=DEVICE) == 499500
                    code = 0 if good and kept("key", lambda: text)[0] == text else 2
                finally:
                    os._exit(code)
            children.append(child)
        os.close(go)
        print(*sorted({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}))
        print(kept("key", lambda: "")[1], len(os.listdir(os.environ["GPUREDUCE_CACHE_DIR"])))
    """
    code = code.replace("DEVICE)", f"{device!r})").replace("PROCESSES", "6" if UNDER_ASAN else "60")
    assert run(installed, code, **variables) == ["0", "True", "1"]


# ---- without liblzma ----


@pytest.fixture
def no_liblzma(tmp_path):
    """A folder for LD_LIBRARY_PATH in front of which no liblzma is found."""
    (tmp_path / "liblzma.so.5").write_bytes(b"")
    return str(tmp_path)


FILE = KERNEL_DIR / "v7_warp_shuffle.ptx.xz"
DAMAGED = f"the compiled kernels in {FILE} are damaged; reinstall gpureduce"
# What the module lzma does, and what a sum then gives.
PYTHONS = [
    ("raise LZMAError", DAMAGED),
    ("return text[:-1]", DAMAGED),
    ("raise MemoryError", f"no host memory to read the compiled kernels in {FILE}"),
    (
        "raise ImportError",
        "neither liblzma.so.5 nor Python's module lzma is there to unpack the compiled kernels; install the "
        "package liblzma5 (Debian, Ubuntu) or xz-libs (Fedora, RHEL)",
    ),
    ("return text", "499500"),
]


def test_without_liblzma_python_unpacks(tmp_path, no_liblzma):
    """By its module lzma, for which a module of the test stands: the real one may need the same library."""
    text = tmp_path / "text"
    text.write_bytes(lzma.decompress(FILE.read_bytes()))
    code = """
        import sys, types
        class LZMAError(Exception):
            pass
        def decompress(data):
            assert data == packed
            exec(f"def answer():\\n    {action}", globals())
            return answer()
        sys.modules["lzma"] = types.SimpleNamespace(LZMAError=LZMAError, decompress=decompress)
        import gpureduce, numpy as np
        packed, text = open(FILE, "rb").read(), open(TEXT, "rb").read()
        for action in ACTIONS:
            try:
                print(gpureduce.sum(np.arange(1000, dtype=np.int32), device="sim", variant="v7"))
            except (gpureduce.DeviceError, MemoryError) as error:
                print(error)
    """
    code = code.replace("FILE,", f"{str(FILE)!r},").replace("TEXT,", f"{str(text)!r},")
    code = code.replace("ACTIONS", repr([action for action, _ in PYTHONS]))
    path = os.pathsep.join(filter(None, [no_liblzma, os.environ.get("LD_LIBRARY_PATH")]))
    expected = " ".join(result for _, result in PYTHONS)
    assert " ".join(run(PACKAGE.parent, code, LD_LIBRARY_PATH=path)) == expected
