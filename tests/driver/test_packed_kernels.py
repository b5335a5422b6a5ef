"""The kernels of the package are packed; damaged ones are refused."""

import lzma
import os
import random
import re
import struct
import subprocess
import sys
import textwrap

import pytest

import gpureduce
from gpureduce._device.ptx import KERNEL_DIR
from tests.support.children import package_without

ENTRY = re.compile(rb"^\.visible \.entry (\w+)\(", re.MULTILINE)
# A variable of all kernels of a file: each is loaded by itself. CUB declares empty objects.
LASTING = re.compile(rb"^(?!\t)[.\w ]*\.global (?!\.align \d+ \.b8 _ZN\d+_INTERNAL_\w+\[1\];)", re.MULTILINE)


@pytest.mark.core
def test_every_kernel_is_packed(thin):
    """And none is there twice: a text is more than eight times as long.

    Slow builds unpack a sixth: test_files_of_xz_are_read has every path of the decoder.
    """
    packed = {path.name.removesuffix(".ptx.xz"): path for path in KERNEL_DIR.glob("*.ptx.xz")}
    assert packed.keys() >= {path.stem for path in KERNEL_DIR.glob("*.fatbin")}
    assert not list(KERNEL_DIR.glob("*.ptx"))
    count = 0
    read = sorted(packed.values())[:: 6 if thin else 1]
    for path in read:
        text = lzma.decompress(path.read_bytes())
        assert text == gpureduce._core.read_image(path) and text.startswith(b"//")
        assert len(ENTRY.findall(text)) == text.count(b".entry ") and not LASTING.search(text), path
        count += len(text)
    assert sum(path.stat().st_size for path in read) < count / 8


def test_kernels_are_extracted_whole(thin):
    """The driver compiles each kernel from a text of this kernel alone."""
    paths = sorted(KERNEL_DIR.glob("*.ptx.xz"))
    for path in paths[:: 6 if thin else 1]:
        text = gpureduce._core.read_image(path)
        entries = ENTRY.findall(text)
        # Kernels of exact sums have blocks whose braces begin a line.
        for entry in entries if path.name.startswith("exact") else entries[:2]:
            extracted = gpureduce._core.read_image(path, entry.decode())
            assert ENTRY.findall(extracted) == [entry], path
            code = re.sub(rb"//.*", b"", extracted)
            assert code.count(b"{") == code.count(b"}"), (path, entry)
            labels = re.findall(rb"^(\$L__BB\d+_\d+):", code, re.MULTILINE)
            assert len(set(labels)) == len(labels), (path, entry)
            assert set(re.findall(rb"\$L__BB\d+_\d+", code)) == set(labels), (path, entry)


def images(path):
    """The kind (1: PTX, 2: machine code) and the compute capability of each image of a fatbin, if any."""
    if not path.exists():  # of a build for no GPU
        return []
    fatbin, found, at = path.read_bytes(), [], 16
    assert len(fatbin) == 16 + int.from_bytes(fatbin[8:16], "little")
    while at < len(fatbin):
        kind, _, header, size = struct.unpack_from("<HHIQ", fatbin, at)
        found.append((kind, struct.unpack_from("<I", fatbin, at + 28)[0]))
        at += header + size
    return found


@pytest.mark.parametrize(("kind", "least"), [("general", 16), ("order", 5)])
def test_kernels_wait_for_what_came_before_them(kind, least):
    """They may begin before it has ended: not in the PTX for all devices, where a remark stands instead."""
    files = KERNEL_DIR.glob(f"{kind}_*.ptx.xz")
    texts = {path: lzma.decompress(path.read_bytes()).decode() for path in files}
    assert len(texts) >= least
    for path, text in texts.items():
        for entry in text.split(".entry ")[1:]:
            before, remark, _ = entry.partition("// griddepcontrol.wait;")
            assert remark and not re.search(r"\b(ld|st|red|atom)\.global", before), entry[:60]
        found = images(path.with_name(path.name.replace(".ptx.xz", ".fatbin")))
        assert all(kind == 2 for kind, _ in found)  # PTX is there once, and packed


@pytest.mark.parametrize("change", [lambda data: data[:-20], lambda data: data[:2000] + data[2001:]])
def test_damaged_kernels_are_refused(tmp_path, change):
    damaged = "v7_warp_shuffle.ptx.xz"
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


# What the decoder has to know: kinds of matches, of literals, and chunks that are not packed.
TEXTS = {
    "words": b"".join(b"\tadd.s64 \t%%rd%d, %%rd%d, 16;\n" % (i, i % 37) for i in range(20_000)),
    "one byte": b"x",
    "one byte, often": b"x" * 5_000_000,
    "noise": random.Random(1).randbytes(200_000),
    "noise and words": random.Random(2).randbytes(70_000)
    + b"words and " * 9_000
    + random.Random(3).randbytes(9),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    "settings",
    [
        {"mode": lzma.MODE_FAST, "mf": lzma.MF_HC4},
        {"mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT4, "lc": 0, "lp": 2, "pb": 2},
        {"mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT2, "lc": 1, "lp": 3, "pb": 4, "dict_size": 4096},
        {"mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "lc": 4, "lp": 0, "pb": 0},
    ],
)
def test_files_of_xz_are_read(tmp_path, text, settings):
    """And none that is damaged is taken for a good one."""
    path = tmp_path / "kernels.ptx.xz"
    filters = [{"id": lzma.FILTER_LZMA2, **settings}]
    packed = lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)
    path.write_bytes(packed)
    assert gpureduce._core.read_image(path) == text
    numbers = random.Random(len(packed))
    for _ in range(40):
        damaged = bytearray(packed)
        damaged[numbers.randrange(12, len(packed))] ^= 1 << numbers.randrange(8)
        path.write_bytes(damaged[: numbers.choice([len(packed), numbers.randrange(8, len(packed))])])
        try:
            assert gpureduce._core.read_image(path) == text  # a bit of the index, which is not read
        except gpureduce.DeviceError as error:
            assert "are damaged" in str(error)
