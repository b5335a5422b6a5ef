#!/usr/bin/env python3
"""Steps through blocks in a real browser, light and dark: tests/tools/check_player.py [--pictures FOLDER].

Pages are opened from files, without a server, and in a frame as a notebook shows them. It needs Debian's
chromium and chromium-driver.
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np
from browser import Browser

import gpureduce

HERE = "document.querySelector('#source .here')?.innerText ?? ''"
STEP = "return Number(document.body.dataset.step)"
ARROW = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"


def click(browser: Browser, name: str) -> None:
    """Click a button."""
    browser.run("document.getElementById(arguments[0]).click()", name)


def slide(browser: Browser, to: int) -> None:
    """Put the slider somewhere, as a hand does."""
    browser.run("const s = document.getElementById('slider'); s.value = arguments[0]; s.oninput()", to)


def lanes(browser: Browser, warp: int) -> tuple[int, int]:
    """Return how many lanes of a warp execute the instruction, and how many are switched off."""
    row = f"document.getElementById('warps').rows[{warp + 1}]"
    return tuple(browser.run(f"return ['on', 'off'].map(e => {row}.getElementsByClassName(e).length)"))


def banks(browser: Browser) -> dict[int, list[str]]:
    """Return for each bank what its words that are touched say."""
    cells = browser.run(
        "return [...document.getElementById('banks').rows].flatMap("
        "row => [...row.cells].slice(1).map((cell, bank) => [bank, cell.textContent, cell.className]))"
    )
    found: dict[int, list[str]] = {}
    for bank, said, _ in (cell for cell in cells if cell[1]):
        found.setdefault(bank, []).append(said)
    return found


def step_through(browser: Browser) -> None:
    """Forward, back, by keys and by the slider; from the first step to the last."""
    last = browser.run("return Number(document.getElementById('slider').max)")
    assert last > 100 and browser.run("return document.getElementById('by').value") == "line"
    first = browser.run(STEP)  # behind the loads of parameters
    assert first > 0 and "i = uint64_t(blockIdx.x)" in browser.run(f"return {HERE}")
    browser.run(ARROW, "i")
    click(browser, "first")
    assert browser.run(STEP) == 0
    seen = []
    for _ in range(30):
        seen.append(browser.run(f"return document.getElementById('where').innerText + {HERE}"))
        click(browser, "forward")
    assert browser.run(STEP) == 30 and len(set(seen)) == 30
    for where in reversed(seen):
        click(browser, "back")
        assert browser.run(f"return document.getElementById('where').innerText + {HERE}") == where
    click(browser, "back")
    assert browser.run(STEP) == 0
    browser.run(ARROW, "ArrowRight")
    browser.run(ARROW, "ArrowRight")
    browser.run(ARROW, "ArrowLeft")
    assert browser.run(STEP) == 1
    browser.run(ARROW, "End")
    click(browser, "forward")
    assert browser.run(STEP) == last
    slide(browser, last // 2)
    assert browser.run(STEP) == last // 2
    click(browser, "first")
    assert browser.run(STEP) == 0
    browser.run("const of = document.getElementById('of'); of.value = '1'; of.onchange()")
    for _ in range(3):
        assert "warp 1," in browser.run("return document.getElementById('where').innerText")
        click(browser, "forward")
    browser.run("const of = document.getElementById('of'); of.value = ''; of.onchange()")
    click(browser, "play")
    browser.wait_for(f"{STEP} > {browser.run(STEP) + 2}")
    click(browser, "play")


def by_units(browser: Browser) -> None:
    """By lines, accesses and barriers, forward and back."""
    click(browser, "first")
    browser.run(ARROW, "l")
    places = []
    for _ in range(8):
        click(browser, "forward")
        places.append(browser.run("return placeOf(step)"))
    assert all(left != right for left, right in itertools.pairwise(places))
    for place in places[-2::-1]:
        click(browser, "back")
        assert browser.run("return placeOf(step)") == place
    click(browser, "first")
    browser.run(ARROW, "a")
    for _ in range(5):
        click(browser, "forward")
        assert browser.run("return trace.touches.has(step)")
    click(browser, "first")
    browser.run(ARROW, "b")
    for barriers in range(1, 6):
        click(browser, "forward")
        assert browser.run("return trace.steps[step].round") == barriers
    click(browser, "back")
    assert browser.run("return [trace.steps[step].round, trace.steps[step - 1].round]") == [4, 3]
    browser.run(ARROW, "i")
    click(browser, "first")


def values(browser: Browser, given: np.ndarray) -> None:
    """The lanes' values that a load returns and a store takes are shown without a click."""
    seen = {}
    for effect in ("load", "store"):
        slide(
            browser,
            browser.run(
                "return trace.steps.findIndex((at, i) => data.instructions[at.pc].effect === arguments[0] &&"
                " trace.touches.has(i))",
                effect,
            ),
        )
        title = browser.run("return document.getElementById('values-title').innerText")
        assert f"warp 0 {effect}s: %f" in title, title
        cells = browser.run(
            "return [...document.querySelectorAll('#lane-values .set')].map(e => e.textContent)"
        )
        seen[effect] = list(map(float, cells))
    assert len(seen["load"]) == 32 and np.allclose(seen["load"], given[:32], rtol=1e-6)
    assert seen["store"] == seen["load"]


def conflicts(browser: Browser, found: gpureduce.Profile) -> None:
    """In v1 eight threads of a warp want words of one bank; the line and the banks say so."""
    step = browser.run(
        "for (const [i, all] of trace.touches) if (all.some(e => e.space === 2 && e.passes === 8)) return i"
    )
    slide(browser, step)
    assert "slots[left] = Op::combine" in browser.run(f"return {HERE}")
    assert "8 passes; without conflicts 1" in browser.run(
        "return document.getElementById('access').innerText"
    )
    words = banks(browser)
    assert sorted(map(len, words.values())) == [8] * 4
    assert {int(thread) for each in words.values() for thread in each} == set(range(32))
    assert lanes(browser, 0) == (32, 0)
    ways = found.timeline().ways.max()
    assert ways == 8 and browser.run("return document.querySelectorAll('#banks .a4').length") == 32


def switched_off(browser: Browser) -> None:
    """At the end one thread of the block stores the result; the other warps are elsewhere."""
    step = browser.run(
        "return Math.max(...[...trace.touches].filter(e => e[1][0].space === 1).map(e => e[0]))"
    )
    slide(browser, step)
    assert lanes(browser, 0) == (1, 0)
    assert "out[blockIdx.x] = slots[0]" in browser.run(f"return {HERE}")
    said = browser.run("return document.getElementById('access').innerText")
    assert said.startswith("store of global memory: 1 lane, 4 bytes each") and "1 sectors; at best 1" in said


def registers(browser: Browser, values: np.ndarray) -> None:
    """On demand: what was loaded is what was given."""
    assert browser.run("return document.getElementById('registers-part').hidden")
    click(browser, "show-registers")
    step = browser.run(
        "return Math.min(...[...trace.touches].filter(e => e[1][0].space === 1).map(e => e[0]))"
    )
    slide(browser, step)
    row = browser.run("return [...document.querySelector('#values .fresh').cells].map(e => e.textContent)")
    warp = browser.run("return trace.steps[arguments[0]].warp", step)
    assert row[0].startswith("%f")
    assert np.allclose(list(map(float, row[1:])), values[32 * warp : 32 * warp + 32], rtol=1e-6)


def look(browser: Browser, folder: Path, dark: bool, pictures: Path | None) -> None:
    """Open and step through a page; AssertionError where it is not as it should be."""
    given = np.random.default_rng(1).random(4096, np.float32)
    found = gpureduce.profile(given, "v1", block_size=256)
    found.player().save(folder / "v1.html")
    browser.open((folder / "v1.html").as_uri())
    browser.wait_for("return document.body.dataset.ready")
    red = int(browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red < 128) == dark
    step_through(browser)
    by_units(browser)
    values(browser, given)
    conflicts(browser, found)
    if pictures:
        browser.picture(pictures / f"player-{'dark' if dark else 'light'}.png")
    switched_off(browser)
    registers(browser, given)
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    shown = folder / "notebook.html"
    shown.write_text(f"<!doctype html><body>{found.player()._repr_html_()}</body>", encoding="utf-8")
    browser.open(shown.as_uri())
    inside = "document.querySelector('iframe').contentDocument"
    browser.wait_for(f"return {inside}?.body?.dataset.ready")
    opened = int(browser.run(f"return {inside}.body.dataset.step"))
    browser.run(f"{inside}.getElementById('forward').click()")
    assert int(browser.run(f"return {inside}.body.dataset.step")) > opened
    assert not browser.errors()


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry k()
{
.reg .b32 %r<3>;
mov.u32 %r1, %tid.x;
add.u32 %r2, %r1, 40;
ret;
}
"""


def of_ptx(browser: Browser, folder: Path) -> None:
    """Without source lines the PTX is what is shown."""
    gpureduce.simulate(PTX, "k", 1, 40).player().save(folder / "k.html")
    browser.open((folder / "k.html").as_uri())
    browser.wait_for("return document.body.dataset.ready")
    assert browser.run("return document.getElementById('file').innerText") == "PTX"
    click(browser, "forward")
    assert "add.u32 %r2, %r1, 40" in browser.run(f"return {HERE}")
    click(browser, "show-registers")
    assert browser.run("return document.querySelector('#values .fresh').innerText").split()[:3] == [
        *("%r2", "40", "41")
    ]
    assert not browser.errors()


def on_a_phone(browser: Browser, folder: Path, pictures: Path | None) -> None:
    """Nothing is wider than a page of 360 pixels."""
    page = folder / "phone.html"
    frame = gpureduce.profile(4096, "v1", block_size=256).player()._repr_html_()
    page.write_text(f'<!doctype html><body style="width:360px;margin:0">{frame}</body>', encoding="utf-8")
    browser.open(page.as_uri())
    inside = "document.querySelector('iframe').contentDocument"
    browser.wait_for(f"return {inside}?.body?.dataset.ready")
    for _ in range(12):
        browser.run(f"{inside}.getElementById('forward').click()")
    wide = browser.run(f"return {inside}.documentElement.scrollWidth")
    if pictures:
        browser.picture(pictures / "player-phone.png")
    assert wide <= 360, wide
    assert not browser.errors()


def large(browser: Browser, folder: Path) -> None:
    """As many steps as are kept, of 1,024 threads: a step takes no time that one notices."""
    player = gpureduce.profile(4 * 10**5, "v7", block_size=1024, grid_size=1, races=False).player()
    assert player.steps == 10_000 and player.lost
    player.save(folder / "v7.html")
    browser.open((folder / "v7.html").as_uri())
    browser.wait_for("return document.body.dataset.ready")
    click(browser, "show-registers")
    took = browser.run(
        "const t = performance.now(); for (let i = 0; i < 20; i++) go(500 * i); return performance.now() - t"
    )
    assert took / 20 < 250, f"{took / 20:.0f} ms a step"
    assert "further steps are not kept" in browser.run("return document.getElementById('note').innerText")
    assert not browser.errors()


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, help="where to put what is seen, light and dark")
    pictures = parser.parse_args().pictures
    with tempfile.TemporaryDirectory() as folder:
        for dark in (False, True):
            with Browser(dark=dark, size=(1400, 1000)) as browser:
                look(browser, Path(folder), dark, pictures)
        with Browser(size=(500, 900)) as browser:  # the narrowest window
            on_a_phone(browser, Path(folder), pictures)
        with Browser() as browser:
            of_ptx(browser, Path(folder))
            large(browser, Path(folder))
    print("blocks are stepped through, light and dark, as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
