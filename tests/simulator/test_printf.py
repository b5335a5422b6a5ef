"""printf and assert in kernels: the text, its order, and what a failed assert says."""

import contextlib
import io
import re
import sys

import numpy as np
import pytest

from gpureduce import SimulationError, simulate
from gpureduce.course import exercise

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")

# The format, the arguments in C, and the same values for Python's `%`.
CONVERSIONS = [
    ("%d|%i|%5d|%-5d|%05d|%+d|% d|%.4d", "-7, 7, 42, 42, 42, 42, 42, 42", (-7, 7, 42, 42, 42, 42, 42, 42)),
    ("%u|%x|%X|%#x|%o|%08X", "4000000000u, 255, 255, 255, 8, 0xabc", (4 * 10**9, 255, 255, 255, 8, 0xABC)),
    ("%ld|%lld|%lu|%llu", "-1l << 40, -1ll << 62, ~0ul, ~0ull", (-(2**40), -(2**62), 2**64 - 1, 2**64 - 1)),
    ("%hd|%hu", "70000, 70000", (4464, 4464)),
    ("%f|%.3f|%10.2e|%E|%g|%G|%-9.1f|", "1 / 3.0, 2 / 3.0, 1e-5, 1e300, 1e-9, 1e20, -0.05f",
     (1 / 3, 2 / 3, 1e-5, 1e300, 1e-9, 1e20, float(np.float32(-0.05)))),
    ("%c%c|%3c|%s|%6s|%-6s|%.2s", "'a', 98, 'c', \"one\", \"two\", \"three\", \"four\"",
     ("a", "b", "c", "one", "two", "three", "four")),
    ("%*d|%-*d|%.*f", "6, 1, 6, 2, 2, 3.14159", (6, 1, 6, 2, 2, 3.14159)),
    ("100%%|%d%%", "5", (5,)),
]  # fmt: skip


def run(statements, *, grid=1, block=1, args=(), before="", **options):
    parameters = ", ".join(f"float *a{i}" for i in range(len(args)))
    source = f"{before}\n__global__ void k({parameters}) {{\n{statements}\n}}\n"
    return simulate(source, "k", grid, block, args, **options)


@pytest.mark.parametrize(("form", "given", "same"), CONVERSIONS)
def test_conversions(form, given, same, capsys):
    profile = run(f'printf("{form}\\n", {given});')
    expected = re.sub(r"(?:h|ll?)(?=[diuoxX])", "", form) % same
    assert profile.printed == f"{expected}\n" == capsys.readouterr().out


def test_conversions_that_python_does_not_have(capsys):
    run('printf("%a|%p|%A|%p", 1.5, (void *)0x1234, -0.0, (void *)0);')
    assert capsys.readouterr().out == "0x1.8p+0|0x1234|-0X0P+0|(nil)"


def test_result_is_the_number_of_arguments():
    a = np.zeros(3, np.float32)
    run(
        'a0[0] = printf("%d %s %f\\n", 1, "x", 2.0); a0[1] = printf("none"); a0[2] = printf(nullptr);',
        args=[a],
    )
    np.testing.assert_array_equal(a, [3, 0, -1])


def test_strings_of_all_kinds_of_memory(capsys):
    run(
        "__shared__ char s[4]; char l[4]; for (int i = 0; i < 3; ++i) { s[i] = 'a' + i + threadIdx.x;"
        "l[i] = 'x' - i; } s[3] = l[3] = 0;"
        'printf("%s %s %s %s\\n", s, l, constant, threadIdx.x ? "yes" : "no");',
        before='__constant__ char constant[] = "const";',
        races=False,
    )
    assert capsys.readouterr().out == "abc xwv const no\n"


@pytest.mark.parametrize("threads", ["1", "3"])
def test_text_is_in_the_order_of_the_blocks(threads, monkeypatch, capsys):
    monkeypatch.setenv("GPUREDUCE_SIM_THREADS", threads)
    run('printf("%d,%d,%d ", blockIdx.y, blockIdx.x, threadIdx.x);', grid=(5, 3), block=2)
    expected = [f"{y},{x},{t}" for y in range(3) for x in range(5) for t in range(2)]
    assert capsys.readouterr().out.split() == expected


def test_numbers_do_not_depend_on_the_locale(capsys):
    locale = pytest.importorskip("locale")
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    except locale.Error:
        pytest.skip("the locale de_DE.UTF-8 is not installed")
    try:
        run('printf("%.2f", 0.25);')
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    assert capsys.readouterr().out == "0.25"


def test_text_that_is_no_utf_8_and_a_missing_stdout(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert run('printf("\\xff\\xe4 ok");').printed == "\ufffd\ufffd ok"


def test_failed_assert_names_file_line_function_and_expression(tmp_path, capsys):
    path = tmp_path / "mine.cu"
    path.write_text(
        "__global__ void k(float *a) {\n"
        '    printf("thread %d\\n", threadIdx.x);\n'
        "    assert(threadIdx.x < 2);\n"
        "    a[threadIdx.x] = 1;\n"
        "}\n"
    )
    a = np.zeros(4, np.float32)
    with pytest.raises(
        SimulationError, match=r"mine\.cu:3: .*k.*: assertion 'threadIdx\.x < 2' failed"
    ) as caught:
        simulate(path, "k", 1, 4, [a])
    assert "lane 2" in str(caught.value)
    text = "".join(f"thread {i}\n" for i in range(4))
    assert capsys.readouterr().out == text == caught.value.profile.printed
    simulate(path, "k", 1, 4, [a], options=["-DNDEBUG"])
    np.testing.assert_array_equal(a, 1)


def test_a_profile_shown_again_prints_nothing(capsys):
    profile = run('printf("once");')
    assert capsys.readouterr().out == "once"
    profile.timeline(0)
    assert capsys.readouterr().out == ""
    assert profile.kernels[0].printed == "once"


def test_what_prints_too_much_is_stopped():
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SimulationError, match="prints more than 64 MiB"):
        run('for (;;) printf("%1000000d", 1);')
    assert len(out.getvalue()) == 67_000_000


def test_exercise_reports_are_not_mixed_with_text(capsys):
    first = exercise(1)
    report = first.check((first.folder / "solution.cu").read_text().replace("{", '{ printf("here");', 1))
    assert report.passed
    assert capsys.readouterr().out == ""
