#!/usr/bin/env python3
"""Opens the notebooks in JupyterLab, in a real browser, untrusted: are all figures seen?

tests/tools/notebooks_seen.py [--python PYTHON] [--pictures FOLDER] [NOTEBOOK ...]

PYTHON is one that has JupyterLab: `pip install 'gpureduce[notebook]'`. It needs Debian's chromium and
chromium-driver. Nothing is run but the viewer: what is seen is what is committed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # else only the cells on the screen are there
    "apputils-extension/notification": {"fetchNews": "false"},
}
FIGURES = "Array.from(document.querySelectorAll('.jp-OutputArea-output img'))"


def main() -> int:
    """Open each notebook; return how many lack a figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pictures", type=Path, help="where to put what is seen, light and dark")
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(FOLDER.glob("*.ipynb")))
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as home:
        Path(home, "shown").mkdir()
        for notebook in arguments.notebooks:
            shutil.copy(notebook, Path(home, "shown"))
        for dark in (False, True) if arguments.pictures else (False,):
            with Lab(arguments.python, Path(home), dark) as lab, Browser(size=(1280, 2400)) as browser:
                for notebook in arguments.notebooks:
                    wanted, seen = figures_in(notebook), figures_seen(browser, lab.address, notebook.name)
                    print(f"{notebook.name}: {seen} of {wanted} figures are seen")
                    failed += seen != wanted
                    if arguments.pictures:
                        kind = "dark" if dark else "light"
                        browser.picture(arguments.pictures / f"{notebook.stem}-{kind}.png")
    return failed


class Lab:
    """JupyterLab on a folder, with settings of its own."""

    def __init__(self, python: str, folder: Path, dark: bool) -> None:
        theme = {"apputils-extension/themes": {"theme": f"JupyterLab {'Dark' if dark else 'Light'}"}}
        for name, values in {**SETTINGS, **theme}.items():
            path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        command = [python, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
        command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder / 'shown'}"]
        places = {"HOME": str(folder), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
        said = folder / "log"
        with open(said, "w") as log:
            self._server = subprocess.Popen(command, env={**os.environ, **places}, stderr=log, cwd=folder)
        end = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", said.read_text())):
            if self._server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{python} starts no JupyterLab:\n{said.read_text()}")
            time.sleep(0.1)
        self.address = found[0]

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.wait(20)


def figures_in(notebook: Path) -> int:
    """Return how many figures a notebook holds."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def figures_seen(browser: Browser, address: str, name: str) -> int:
    """Return how many of them are on the page."""
    browser.open(f"{address}/lab/tree/{name}?reset")
    browser.wait_for(f"return document.querySelector('.jp-Notebook') && {FIGURES}.length", 60)
    browser.wait_for(f"return {FIGURES}.every(each => each.complete)")
    return browser.run(
        f"return {FIGURES}.filter(each => each.naturalWidth > 300 && each.offsetWidth > 300).length"
    )


if __name__ == "__main__":
    sys.exit(main())
