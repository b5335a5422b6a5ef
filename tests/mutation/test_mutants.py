"""The mutants of tests/mutation still fit the sources; tests/mutation/run.py shows which tests kill them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
from every import MUTANTS  # noqa: E402
from mutants import Mutant  # noqa: E402
from places import changed, definitions, spans  # noqa: E402
from run import Tree  # noqa: E402


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_the_mutants_of_a_file_change_it(file):
    if not (ROOT / "csrc").exists():
        pytest.skip("no sources next to the tests")
    text = (ROOT / file).read_text()
    mutants = [mutant for mutant in MUTANTS if mutant.file == file]
    found = {each.trap: len(spans(text, each.function, each.old)) for each in mutants}
    assert found == {each.trap: each.times for each in mutants}
    for mutant in mutants:
        assert changed(text, mutant.function, mutant.old, mutant.new).split() != text.split(), mutant.trap


SOURCE = """\
#define TWICE(x) \\
    ((x) + \\
     (x))
#define ONE 1

template <class T> __device__ T add(T a, T b) { // a comment
    return a + b;
}

struct Pair {
    int a, b;
};

/* A comment of
   two lines, with (parentheses). */
static int after_comment(int a) {
    return a;
}

GR_ENTRY(sum_pairs) {
    return a
        + b;
}

static int later(int a);
"""


def test_patterns_are_looked_for_in_a_definition():
    names = ["TWICE", "ONE", "add", "Pair", "after_comment", "sum_pairs"]
    assert [each.name for each in definitions(SOURCE)] == names
    assert len(spans(SOURCE, "", "a + b")) == 2
    assert len(spans(SOURCE, "sum_pairs", "a + b;")) == 1
    assert not spans(SOURCE, "Pair", "a + b")
    assert "a - b" in changed(SOURCE, "sum_pairs", "a + b", "a - b")
    assert "return a + b" in changed(SOURCE, "sum_pairs", "a + b", "a - b")
    assert spans("class A:\n    def f(self):\n        return 1\n\n\nx = 1\n", "A", "return 1")


def test_undo_restores_compiled_files_also_those_that_the_change_removed(tmp_path, monkeypatch):
    tree = object.__new__(Tree)
    tree.root = tmp_path
    names = ("one.cu", "one.ptx.xz", "one.fatbin")
    source, packed, fatbin = (tmp_path / name for name in names)
    for path in (source, packed, fatbin):
        path.write_bytes(b"before")

    def compiled(changed):
        kept = {path: path.read_bytes() for path in (packed, fatbin)}
        packed.write_bytes(b"after")
        fatbin.unlink()
        return kept

    monkeypatch.setattr(tree, "_compile", compiled)
    undo = tree.apply(Mutant("trap", "one.cu", "", "before", "after", ()))
    assert (source.read_bytes(), packed.read_bytes(), fatbin.exists()) == (b"after", b"after", False)
    undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(names, b"before")
