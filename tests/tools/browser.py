"""A real browser, Debian's chromium without a window, driven by its chromedriver: what a reader sees.

with served(folder) as address, Browser() as browser:
    browser.open(f"{address}/index.html")
    assert browser.run("return document.title")
    assert not browser.errors() and not browser.broken_pictures()
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing of a browser that goes on to another page before it has all of this one."""


@contextlib.contextmanager
def served(folder: Path | str) -> Iterator[str]:
    """Serve the files of a folder on this machine; give the address."""
    handler = functools.partial(_Quiet, directory=os.fspath(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def is_there() -> bool:
    """Return whether both programs are installed: ``apt-get install chromium chromium-driver``."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window, light unless it is to be dark."""

    def __init__(self, *, dark: bool = False, size: tuple[int, int] = (1280, 1000)) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._at = f"http://127.0.0.1:{port}"
        self._driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [f"--window-size={size[0]},{size[1]}", "--hide-scrollbars"]
        arguments += ["--blink-settings=preferredColorScheme=0"] if dark else []
        wanted = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            self._wait_for_driver()
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._stop()
            raise
        self._session = f"/session/{made['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._ask("DELETE", self._session)
        finally:
            self._stop()

    def _stop(self) -> None:
        self._driver.terminate()
        self._driver.wait(20)

    def _wait_for_driver(self) -> None:
        end = time.monotonic() + 30
        while True:
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                if time.monotonic() > end or self._driver.poll() is not None:
                    raise
            time.sleep(0.05)

    def _ask(self, method: str, path: str, data: dict | None = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(
            self._at + path, body, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, address: str) -> None:
        """Go to a page; return when it is loaded."""
        self._ask("POST", f"{self._session}/url", {"url": address})

    def run(self, script: str, *arguments: object) -> Any:
        """Run JavaScript in the page; give what it returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script: str, seconds: float = 30) -> Any:
        """Run JavaScript until what it returns is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"not in {seconds} s: {script}")
            time.sleep(0.1)
        return found

    def errors(self) -> list[str]:
        """Return what was said at the console since the last time, of errors and warnings."""
        said = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [each["message"] for each in said if each["level"] in ("SEVERE", "WARNING")]

    def broken_pictures(self) -> list[str]:
        """Return the addresses of pictures that are to be seen in the page, and are not."""
        return self.run(
            "return Array.from(document.images).filter(each => each.offsetParent &&"
            " !(each.complete && each.naturalWidth > 1)).map(each => each.currentSrc || each.src)"
        )

    def picture(self, path: Path | str) -> None:
        """Write what is to be seen into a PNG file."""
        Path(path).write_bytes(base64.b64decode(self._ask("GET", f"{self._session}/screenshot")))
