"""The Chromium that is installed, driven by Selenium through the chromedriver that is installed."""

import base64
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

PAGE = Path(__file__).parents[1] / "target" / "studio"
"""The studio as a page, as `make page` leaves it."""

needs_chromium = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)",
)
on_the_page = [pytest.mark.nightly, pytest.mark.skipif(not PAGE.exists(), reason="make page builds it"), needs_chromium]
"""Marks of tests that look at the studio as a page."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, as `python -m http.server` does, and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; return its address without a slash at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Browser(Chrome):
    """Chromium without a window; `with` ends it."""

    def __init__(self) -> None:
        options = ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.timeouts = {"script": 100_000}
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        super().__init__(options, ChromeService(shutil.which("chromedriver")))

    def open(self, page: Path | str, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Show a file or an address in a window of this width; below 600 px it is that of a phone."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.emulate("screen", dark=dark)
        self.get(page if isinstance(page, str) else page.as_uri())

    def emulate(self, media: str, *, dark: bool = False) -> None:
        """Show the page as on a screen or in print."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def run(self, script: str) -> Any:
        """Return what a script returns on the page."""
        return self.execute_script(script)

    def console(self) -> list[str]:
        """Return what the page has written to the console since the last call."""
        return [entry["message"] for entry in self.get_log("browser")]

    def printed(self) -> bytes:
        """Return the page as PDF, A4."""
        self.emulate("print")
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
        return base64.b64decode(self.execute_cdp_cmd("Page.printToPDF", paper)["data"])
