"""The page as a steward starts it: a process of its own, in a folder and with a temporary directory of its own."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 240.0
"""Seconds to wait for something that comes at once on a machine that has nothing else to do."""
NO_ROOM = 503
"""The status of a server at which as many browsers as it takes are at work; its token opens it a little later."""
COMMAND = [sys.executable, "-m", "indistinct.cli", "serve", "--port", "0", "--no-browser", "--json"]


@dataclass
class PageServer:
    process: subprocess.Popen
    folder: Path
    """Where it was started, and what paths may lead to."""
    temporary: Path
    told: dict[str, Any]
    """The line that it printed."""
    messages: list[str] = field(default_factory=list)
    """What it wrote to stderr."""
    _readers: list[threading.Thread] = field(default_factory=list)
    _cookie: str = ""

    @property
    def port(self) -> int:
        return self.told["port"]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The token that opens the next session."""
        wait_for(lambda: len(self._tokens()) == self._opened, "the address for another browser")
        return self._tokens()[-1] if self._opened else self.told["token"]

    _opened: int = 0

    def _tokens(self) -> list[str]:
        return re.findall(r"token=([\w-]+)", "".join(self.messages))

    @property
    def address(self) -> str:
        """An address that opens a new session; it can be used once."""
        token = self.token
        self._opened += 1
        return f"http://{self.host}/?token={token}"

    def enter(self) -> str:
        """Return the cookie of a new session; it waits where the server has no room for one more yet."""
        path = self.address.partition(self.host)[2]

        def entered() -> "Answer | None":
            answer = self.ask("GET", path)
            return None if answer.status == NO_ROOM else answer

        answer = wait_for(entered, "room for one more session")
        assert answer.status == 303, answer
        return answer.headers["set-cookie"].partition(";")[0]

    @property
    def cookie(self) -> str:
        """The cookie of a session for tests that leave nothing behind; one that gave way to others is replaced."""
        if not self.is_open(self._cookie):
            self._cookie = self.enter()
        return self._cookie

    def is_open(self, cookie: str) -> bool:
        """Return whether a cookie has a session, which may have given way to others."""
        return bool(cookie) and self.ask("GET", "/download/nothing", cookie=cookie).status == 404

    def ask(self, method: str, path: str, *, cookie: str = "", body: Any = None, **headers: str) -> "Answer":
        """Return what the server answers; headers are named with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Host": self.host, **({"Cookie": cookie} if cookie else {}), **named}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if isinstance(body, bytes) and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            chunked = body is not None and not isinstance(body, bytes)
            if chunked:
                connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders(body, encode_chunked=chunked)
            return Answer.of(connection.getresponse())
        finally:
            connection.close()

    def private_folders(self) -> list[Path]:
        return sorted(self.temporary.glob("indistinct-rows-*"))

    def end(self, number: int) -> int:
        """Send a signal and return how the process ended."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """By name in small letters; of several of one name the last."""
    body: bytes

    @classmethod
    def of(cls, response: http.client.HTTPResponse) -> "Answer":
        return cls(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


@contextmanager
def running_page(folder: Path, *options: str, temporary: Path, **environment: str) -> Iterator[PageServer]:
    """Give the page, started in a folder; it is killed at the end."""
    folder.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*COMMAND, "--jobs", str(temporary / "jobs"), *options],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    messages: list[str] = []
    reader = threading.Thread(target=lambda: messages.extend(iter(process.stderr.readline, "")), daemon=True)
    reader.start()
    try:
        line = process.stdout.readline()
        assert line, f"the server did not start: {''.join(messages)}"
        yield PageServer(process, folder, temporary, json.loads(line), messages, [reader])
    finally:
        process.kill()
        process.wait()
        reader.join(PATIENCE)
        process.stdout.close()
        process.stderr.close()


def wait_for(is_so: Callable[[], Any], what: str) -> Any:
    """Return what becomes true within some time; a test fails if it does not."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")
