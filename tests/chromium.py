"""Drives a headless Chromium over its debugging pipe: JSON on two file descriptors, parted by NUL."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
)
PATIENCE = 60.0


class Browser:
    """One page: commands, and the events that came meanwhile."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive, self._pending, self._number = send, receive, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._read(deadline)
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, fragment: str = "") -> None:
        self.call("Page.navigate", url=f"file://{path}{fragment}")
        self.wait(lambda: self.run("document.readyState") == "complete")

    def run(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("the page did not get there")
            time.sleep(0.05)

    def centre(self, selector: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """A place within an element that was scrolled into view."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        return box[0] + across * box[2], box[1] + down * box[3]

    def mouse(self, kind: str, x: float, y: float) -> None:
        button = "none" if kind == "mouseMoved" else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def click(self, selector: str) -> None:
        place = self.centre(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, *place)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def named(self, *methods: str) -> list[dict[str, Any]]:
        self.call("Runtime.evaluate", expression="0")
        return [event for event in self.events if event.get("method") in methods]

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions and whatever was written to the console or the log."""
        return self.named("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")

    def requests(self) -> list[str]:
        """What was asked for beyond the files and pictures that are in the page itself."""
        urls = [event["params"]["request"]["url"] for event in self.named("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("file:", "data:"))]

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._receive], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._receive, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("Chromium does not answer")
            self._pending += chunk
        message, self._pending = self._pending.split(b"\0", 1)
        return json.loads(message)


@contextmanager
def browse(width: int = 1100, height: int = 900) -> Iterator[Browser]:
    """A browser with an empty profile, which it reads on descriptor 3 and answers on 4; ended with the block."""
    if PROGRAM is None:
        raise FileNotFoundError("no Chromium is installed")
    to_browser, from_browser = os.pipe(), os.pipe()
    profile = tempfile.mkdtemp(prefix="chromium-")
    command = [PROGRAM, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}", "about:blank"]
    joined = f'exec "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
    process = subprocess.Popen(
        ["bash", "-c", joined, "bash", *command],
        pass_fds=(to_browser[0], from_browser[1]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        browser = Browser(to_browser[1], from_browser[0])
        browser.attach()
        yield browser
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_browser[1])
        os.close(from_browser[0])
        shutil.rmtree(profile, ignore_errors=True)
