"""The kernels of the package are packed; damaged ones are refused."""

import gzip
import os
import subprocess
import sys
import textwrap

import pytest
from test_before_hopper import package_without

import gpureduce
from gpureduce._device.kernels import KERNELS


@pytest.mark.core
def test_every_kernel_is_packed():
    """And none is there twice: a text is more than five times as long."""
    packed = {path.name.removesuffix(".ptx.gz"): path for path in KERNELS.glob("*.ptx.gz")}
    assert packed.keys() == {path.stem for path in KERNELS.glob("*.fatbin")}
    assert not list(KERNELS.glob("*.ptx"))
    count = 0
    for path in packed.values():
        text = gzip.decompress(path.read_bytes())
        assert text == gpureduce._core.read_image(path) and text.startswith(b"//")
        count += len(text)
    assert sum(path.stat().st_size for path in packed.values()) < count / 5


@pytest.mark.parametrize("change", [lambda data: data[:-20], lambda data: data[:2000] + data[2001:]])
def test_damaged_kernels_are_refused(tmp_path, change):
    damaged = "v7_warp_shuffle.ptx.gz"
    package_without(tmp_path, lambda name: name == damaged)
    place = tmp_path / "gpureduce" / "kernels" / damaged
    place.write_bytes(change((KERNELS / damaged).read_bytes()))
    code = """
        import gpureduce, numpy
        ones = numpy.ones(3, "f4")
        assert gpureduce.sum(ones, device="sim", variant="v6") == 3
        for call in (lambda: gpureduce.sum(ones, device="sim", variant="v7"), lambda: gpureduce.ptx("v7")):
            try:
                call()
            except gpureduce.DeviceError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = f"the compiled kernels in {place} are damaged; reinstall gpureduce\n"
    assert done.stdout == 2 * said, done.stderr
