"""The line of the cell magic ``%%cuda``: quotes in expressions, and extents."""

import pytest

from gpureduce._course import magic


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a.astype('f8') out 3", ["a.astype('f8')", "out", "3"]),
        ('a["x y"] b', ['a["x y"]', "b"]),
        ("""'a + b' "n - 1" """, ["a + b", "n - 1"]),
        ("-k 'reduce<float, 256>' a", ["-k", "reduce<float, 256>", "a"]),
        ("--kernel='reduce<float, 256>' a", ["--kernel=reduce<float, 256>", "a"]),
        ("f('a')+g('b')", ["f('a')+g('b')"]),
        ("", []),
    ],
)
def test_words(line, words):
    assert magic._words(line) == words


def test_an_open_quote_is_an_error():
    with pytest.raises(ValueError, match="closing quotation"):
        magic._words("a 'b c")


@pytest.mark.parametrize("text", ["2x2", "", "0", "4,", "1,2,3,4", "-1"])
@pytest.mark.parametrize("option", ["--grid", "--block", "--cluster"])
def test_extents_say_how_they_are_written(option, text):
    with pytest.raises(ValueError, match=r"expected up to three positive numbers, as 4 or 4,2"):
        magic._parser().parse_args([f"{option}={text}"])
    assert magic._parser().parse_args([f"{option}=4,2"])
