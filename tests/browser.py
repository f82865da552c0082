"""Chromium, driven through chromedriver by the WebDriver protocol (W3C), which is JSON over HTTP."""

import base64
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OPTIONS = {
    "browserName": "chrome",
    "timeouts": {"script": 300_000},
    "goog:loggingPrefs": {"browser": "ALL"},
    "goog:chromeOptions": {
        "binary": shutil.which("chromium"),
        "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    },
}


class Browser:
    """One session of the browser."""

    def __init__(self, driver: str) -> None:
        self.driver = driver
        self.session = ""
        self.session = f"/session/{self._ask('/session', {'capabilities': {'alwaysMatch': OPTIONS}})['sessionId']}"

    def open(self, page: Path | str, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Show a file or an address in a window of this width; below 600 px it is that of a phone."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **screen)
        self.emulate("screen", dark=dark)
        self._ask(f"{self.session}/url", {"url": page if isinstance(page, str) else page.as_uri()})

    def emulate(self, media: str, *, dark: bool = False) -> None:
        """Show the page as on a screen or in print."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def run(self, script: str) -> Any:
        """Return what a script returns on the page."""
        return self._ask(f"{self.session}/execute/sync", {"script": script, "args": []})

    def wait(self, script: str) -> Any:
        """Return what a script hands to its last argument, a function, when it is done."""
        return self._ask(f"{self.session}/execute/async", {"script": script, "args": []})

    def console(self) -> list[str]:
        """Return what the page has written to the console since the last call."""
        return [entry["message"] for entry in self._ask(f"{self.session}/se/log", {"type": "browser"})]

    def picture(self, *, whole: bool = True) -> bytes:
        """Return the page as PNG."""
        taken = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def printed(self) -> bytes:
        """Return the page as PDF, A4."""
        self.emulate("print")
        paper = self.devtools("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        return base64.b64decode(paper["data"])

    def devtools(self, command: str, **arguments: object) -> Any:
        """Return the answer of Chromium's own protocol."""
        return self._ask(f"{self.session}/goog/cdp/execute", {"cmd": command, "params": arguments})

    def quit(self) -> None:
        """End the session."""
        self._ask(self.session, method="DELETE")

    def _ask(self, path: str, body: Mapping[str, Any] | None = None, method: str = "POST") -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.driver + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(asked, timeout=300) as answer:
            return json.load(answer)["value"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a browser that is ended afterwards."""
    with subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        try:
            started = next(line for line in driver.stdout if "started successfully on port" in line)
            browser = Browser(f"http://127.0.0.1:{started.split()[-1].rstrip('.')}")
            try:
                yield browser
            finally:
                browser.quit()
        finally:
            driver.terminate()
