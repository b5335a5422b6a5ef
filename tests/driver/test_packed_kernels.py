"""The kernels of the package are packed; damaged ones are refused."""

import gzip
import os
import re
import struct
import subprocess
import sys
import textwrap

import pytest

import gpureduce
from gpureduce._device.ptx import KERNEL_DIR
from tests.support.children import package_without


@pytest.mark.core
def test_every_kernel_is_packed():
    """And none is there twice: a text is more than five times as long."""
    packed = {path.name.removesuffix(".ptx.gz"): path for path in KERNEL_DIR.glob("*.ptx.gz")}
    assert packed.keys() == {path.stem for path in KERNEL_DIR.glob("*.fatbin")}
    assert not list(KERNEL_DIR.glob("*.ptx"))
    count = 0
    for path in packed.values():
        text = gzip.decompress(path.read_bytes())
        assert text == gpureduce._core.read_image(path) and text.startswith(b"//")
        count += len(text)
    assert sum(path.stat().st_size for path in packed.values()) < count / 5


def images(fatbin):
    """The kind (1: PTX, 2: machine code) and the compute capability of each image of a fatbin."""
    found, at = [], 16
    assert len(fatbin) == 16 + int.from_bytes(fatbin[8:16], "little")
    while at < len(fatbin):
        kind, _, header, size = struct.unpack_from("<HHIQ", fatbin, at)
        found.append((kind, struct.unpack_from("<I", fatbin, at + 28)[0]))
        at += header + size
    return found


@pytest.mark.parametrize(("kind", "least"), [("general", 16), ("order", 5)])
def test_kernels_wait_for_what_came_before_them(kind, least):
    """They may begin before it has ended: not in the PTX for all devices, where a remark stands instead."""
    files = KERNEL_DIR.glob(f"{kind}_*.ptx.gz")
    texts = {path: gzip.decompress(path.read_bytes()).decode() for path in files}
    assert len(texts) >= least
    for path, text in texts.items():
        for entry in text.split(".entry ")[1:]:
            before, remark, _ = entry.partition("// griddepcontrol.wait;")
            assert remark and not re.search(r"\b(ld|st|red|atom)\.global", before), entry[:60]
        found = images(path.with_name(path.name.replace(".ptx.gz", ".fatbin")).read_bytes())
        assert (1, 90) in found and (1, 75) in found
        assert all(capability >= 90 for _, capability in found[: found.index((1, 90))])
    assert images((KERNEL_DIR / "v7_warp_shuffle.fatbin").read_bytes())[-1] == (1, 75)


@pytest.mark.parametrize("change", [lambda data: data[:-20], lambda data: data[:2000] + data[2001:]])
def test_damaged_kernels_are_refused(tmp_path, change):
    damaged = "v7_warp_shuffle.ptx.gz"
    package_without(tmp_path, lambda name: name == damaged)
    place = tmp_path / "gpureduce" / "_ptx" / damaged
    place.write_bytes(change((KERNEL_DIR / damaged).read_bytes()))
    code = """
        import functools, gpureduce, numpy
        ones = numpy.ones(3, "f4")
        assert gpureduce.sum(ones, device="sim", variant="v6") == 3
        sums = functools.partial(gpureduce.sum, ones, device="sim", variant="v7")
        for call in (sums, lambda: gpureduce.kernels.ptx("v7")):
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
