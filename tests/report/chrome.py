"""Headless Chromium through its driver's own HTTP protocol: enough to open a page, click, look and listen."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--window-size=1280,900",
]


class Chrome:
    """One browser; `close` ends it."""

    def __init__(self, profile: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [str(DRIVER), f"--port={port}", "--log-level=OFF"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._root = f"http://127.0.0.1:{port}"
        try:
            self._wait_until_ready()
            chrome = {"binary": BROWSER, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            self._root += f"/session/{session}"
            self._call("POST", "/timeouts", {"script": 110_000})
        except BaseException:
            self._process.kill()
            raise

    def _wait_until_ready(self) -> None:
        for _ in range(150):
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except (URLError, ConnectionError):
                pass
            time.sleep(0.1)
        raise TimeoutError("chromedriver does not answer")

    def _call(self, verb: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = Request(self._root + path, content, {"Content-Type": "application/json"}, method=verb)
        try:
            with urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, path: Path) -> None:
        self._call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's `return`, awaited where it is a promise."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        """As a mouse would: in the middle of the screen, where nothing covers it."""
        self._call("POST", f"/element/{self._found(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._call("POST", f"/element/{self._found(selector)}/value", {"text": text})

    def _found(self, selector: str) -> str:
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        return str(next(iter(self._call("POST", "/element", {"using": "css selector", "value": selector}).values())))

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def viewport(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def scheme(self, name: str) -> None:
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("POST", "/print", {"page": {"width": 21.0, "height": 29.7}})))

    def messages(self) -> list[str]:
        """What the console got since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Every address asked for since the last call, of the page and of what it made.

        Without those of the browser's own first tab, which may still be loading and which no page can ask for.
        """
        entries = self._call("POST", "/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome")]

    def close(self) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._process.terminate()
            self._process.wait(timeout=20)
