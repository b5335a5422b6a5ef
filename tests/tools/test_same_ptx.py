"""The script that compares the PTX of two builds finds a lost instruction, and nothing in other names."""

import lzma
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build_support").exists():
    pytest.skip("no build scripts next to the tests", allow_module_level=True)
from gpureduce import _core  # noqa: E402
from gpureduce._device.ptx import KERNEL_DIR  # noqa: E402
from tests.tools import same_ptx  # noqa: E402

PLAIN, REMARKS = "v7_warp_shuffle", "general_max"
BYTES = 150_000  # of each file: some kernels of it, with all that the tests change


@pytest.fixture
def two(tmp_path):
    """Two folders with the same kernels."""
    folders = tmp_path / "old", tmp_path / "new"
    for folder in folders:
        folder.mkdir()
        for name in (PLAIN, REMARKS):
            text = _core.read_image(KERNEL_DIR / f"{name}.ptx.xz")[:BYTES]
            (folder / f"{name}.ptx.xz").write_bytes(lzma.compress(text, preset=0))
    return folders


def change(folder, name, old, new):
    path = folder / f"{name}.ptx.xz"
    text = lzma.decompress(path.read_bytes()).decode()
    assert old in text
    path.write_bytes(lzma.compress(text.replace(old, new, 1).encode(), preset=0))


def compared(*arguments):
    command = [sys.executable, str(ROOT / "tests" / "tools" / "same_ptx.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("name", "old", "new", "forms"),
    [
        (REMARKS, "// griddepcontrol.wait;", "", [f"{REMARKS} with instructions of comments"]),
        (REMARKS, "// griddepcontrol.launch_dependents;", "", [f"{REMARKS} with instructions of comments"]),
        (PLAIN, "add.rn.f32", "mul.rn.f32", [PLAIN]),
        (PLAIN, "bar.sync", "// bar.sync", [PLAIN]),
        (PLAIN, ".visible .entry v7_sum_f32", ".visible .entry v7_sum_f16", [PLAIN]),
    ],
)
def test_changed_instructions_are_reported(two, name, old, new, forms):
    change(two[1], name, old, new)
    ended = compared(*two)
    assert ended.returncode == 1
    assert [line.removesuffix(": differs") for line in ended.stdout.splitlines()[:-1]] == forms


def test_names_and_lines_do_not_count(two):
    for name in (PLAIN, REMARKS):
        path = two[1] / f"{name}.ptx.xz"
        text = lzma.decompress(path.read_bytes()).decode()
        changed = text.replace("_ZZ", "_ZZ3new").replace("\t.loc\t", "\t.loc\t9")
        assert changed != text
        path.write_bytes(lzma.compress(changed.encode(), preset=0))
    ended = compared(*two)
    assert ended.returncode == 0, ended.stdout


def test_the_order_of_functions_does_not_count(two):
    """Nor do prototypes, and a variable may be called as a part of an instruction is."""
    path = two[1] / f"{PLAIN}.ptx.xz"
    text = lzma.decompress(path.read_bytes()).decode()
    text = text.replace("bar.sync", "cp.async.bulk.mbarrier::complete_tx::bytes [%r1];\n\tbar.sync", 1)
    head, *kernels, _ = text.split("\n.visible .entry ")
    assert len(kernels) > 1
    old = [f"{head}\n.extern .shared .b8 bytes[];", *kernels]
    new = [f"{head}\n.extern .shared .b8 _Z5bytes[];\n.func nothing\n(\n)\n;", *kernels[::-1]]
    for folder, parts in zip(two, (old, new), strict=True):
        (folder / path.name).write_bytes(lzma.compress("\n.visible .entry ".join(parts).encode(), preset=0))
    ended = compared(*two)
    assert ended.returncode == 0, ended.stdout


def test_digests_in_a_file(two, tmp_path):
    file = tmp_path / "digests.json"
    assert compared("--write", file, two[0]).returncode == 0
    assert compared(file, two[1]).returncode == 0
    change(two[1], PLAIN, "add.rn.f32", "sub.rn.f32")
    assert compared(file, two[1]).returncode == 1
    assert same_ptx.digests(file).keys() == {PLAIN, REMARKS, f"{REMARKS} with instructions of comments"}


def test_layout_of_inline_assembly(two):
    """With --any-layout other lines and names of its registers do not count, other instructions do."""
    one = "{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%r1]; }"
    other = "{\n\t.reg .b64 ignored;\n\tmbarrier.arrive.shared::cta.b64 ignored, [%r1];\n\t}"
    for folder, text in zip(two, (one, other), strict=True):
        change(folder, PLAIN, "bar.sync", f"{text}\n\tbar.sync")
    assert compared(*two).returncode == 1
    assert compared("--any-layout", *two).returncode == 0
    change(two[1], PLAIN, "b64 ignored, [%r1]", "b64 ignored, [%r2]")
    assert compared("--any-layout", *two).returncode == 1
