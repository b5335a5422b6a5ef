"""The simulator's results do not depend on the locale and the rounding mode of the process it is in."""

import itertools
import platform
import shutil
import subprocess
import threading
import time

import pytest

from gpureduce import _core
from tests.support.children import python

HEADER = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n"


@pytest.fixture(scope="session")
def german_locale(tmp_path_factory):
    """Return a folder with a locale in which a comma stands for the point."""
    if shutil.which("localedef") is None:
        pytest.skip("there is no localedef to make a locale with")
    folder = tmp_path_factory.mktemp("locales")
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], capture_output=True, check=False
    )
    if made.returncode > 1:  # 1: made, with warnings
        pytest.skip(f"localedef cannot make a locale: {made.stderr.decode().strip()}")
    # Without the sources of locales, which the package `locales` has, it makes nothing and says nothing.
    child = python(
        "import locale; locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')", LOCPATH=str(folder), LC_ALL="C"
    )
    if child.returncode:
        pytest.skip(f"the locale de_DE.UTF-8 cannot be set: {child.stderr.strip().splitlines()[-1]}")
    return folder


def test_numbers_are_read_the_same_in_every_locale(german_locale):
    code = """
        import locale, numpy as np, gpureduce
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        assert locale.localeconv()["decimal_point"] == ",", locale.localeconv()
        print(gpureduce.sum(np.arange(1000.0), variant="v8", device="sim"))
    """
    child = python(code, LOCPATH=str(german_locale), LC_ALL="C")
    assert child.stdout == "499500.0\n", child.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of modes are x86-64's")
@pytest.mark.parametrize("variant", ["v7", "auto"])
def test_results_do_not_depend_on_the_rounding_mode_of_the_caller(variant):
    code = f"""
        import ctypes, numpy as np, gpureduce
        libm = ctypes.CDLL("libm.so.6")
        array = np.random.default_rng(1).random(100_000, np.float32)
        bits = []
        for mode in (0, 0x800, 0x400, 0xC00):  # to nearest, up, down, towards zero
            assert libm.fesetround(mode) == 0
            bits.append(gpureduce.sum(array, variant="{variant}", device="sim").view(np.uint32))
            assert libm.fegetround() == mode
        libm.fesetround(0)
        print(len(set(bits)))
    """
    child = python(code)
    assert child.stdout == "1\n", child.stderr


def test_other_threads_run_while_ptx_is_parsed():
    text = HEADER + "{\n.reg .b32 %r<4>;\n" + "mov.u32 %r1, 7;\n" * 400_000 + "ret;\n}\n"
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        begin = time.perf_counter()
        _core.parse_ptx(text)
        end = time.perf_counter()
    finally:
        done.set()
        ticker.join()
    inside = [begin, *(tick for tick in ticks if begin < tick < end), end]
    longest = max(after - before for before, after in itertools.pairwise(inside))
    assert longest < 0.6 * (end - begin), f"{longest} s of {end - begin} s without a turn"
