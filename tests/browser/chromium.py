"""A headless Chromium over its debugging pipe: pages, what they asked for, what they complained about, and pictures of them.

The pipe (descriptors 3 and 4, messages that end with NUL) needs neither a port nor a package.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 60.0


def program() -> str | None:
    """The browser of this machine."""
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


@dataclass
class Seen:
    """What a page did besides showing itself."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


class Browser:
    """One Chromium with one tab."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="logphase-chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = [
            str(program()),
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._folder}",
            "about:blank",
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        # The shell puts the pipe's ends at 3 and 4, where Chromium looks for them, by way of numbers above both.
        script = f'exec 8<&{to_read} 9>&{to_write}; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"'
        silent = subprocess.DEVNULL
        started = ["/bin/bash", "-c", script, "bash", *command]
        self._process = subprocess.Popen(started, stdout=silent, stderr=silent, pass_fds=(to_read, to_write))
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.seen = Seen()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser and forget its profile."""
        self._session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self._process.kill()
        self._process.wait(20)
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Ask for one thing and wait for its answer."""
        number = self._send(method, params)
        until = time.monotonic() + PATIENCE_S
        while True:
            answer = self._next(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._number

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise EOFError("Chromium ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        return parsed

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.seen.complaints.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.seen.complaints.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.seen.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.seen.requests.append(params["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.seen.dialogs.append(params["message"])
                self._send("Page.handleJavaScriptDialog", {"accept": True})

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page holds
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> Seen:
        """Show a page and wait until its figures are drawn; what it did on the way."""
        self.seen = Seen()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=page.as_uri())
        until = time.monotonic() + PATIENCE_S
        drawn = "!document.getElementById('figures') || document.documentElement.dataset.drawn !== undefined"
        ready = f"document.readyState === 'complete' && ({drawn})"
        while not (self.evaluate(f"location.href === {json.dumps(page.as_uri())} && {ready}")):
            if time.monotonic() > until:
                raise TimeoutError(f"{page.name} is not drawn: {self.seen}")
            time.sleep(0.02)
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.seen

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of what is shown, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
