"""`serve`: the web app on this machine's own address, for browsers that open the printed address.

A message on a web socket reaches only pages of the session to which its socket belongs.
"""

import asyncio
import inspect
import ipaddress
import json
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from fastapi import FastAPI
from nicegui import Client, core, ui
from nicegui import app as nicegui_app

from indistinct.errors import ParameterError
from indistinct.machine.spill import private_directory
from indistinct.tables.addresses import fence_reading
from indistinct.web import files, steps
from indistinct.web.guard import SESSION, Door, Guard
from indistinct.web.logs import quiet_logs
from indistinct.web.patience import PatientProtocol
from indistinct.web.project import save_session
from indistinct.web.sessions import Sessions, Settings, sessions_in

LOOPBACK = "127.0.0.1"
GIGABYTE = 10**9
# Seconds between two looks at whether a session was left.
SECONDS_BETWEEN_LOOKS = 30.0
FOR_A_PAGE = ("event", "javascript_response", "ack", "log", "handshake")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is, and the token that opens it once."""

    port: int
    token: str

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"


def serve(
    settings: Settings,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    started: Callable[[Address], None],
    entered: Callable[[Address], None] = lambda _address: None,
) -> None:
    """Serve the page until it is interrupted; `started` gets its address, `entered` one for another browser.

    Port 0 takes any that is free. A `host` other than the loopback address is for containers: browsers are answered
    under the names of this machine alone, whichever way they come.

    Uploads and releases lie in a private folder that is removed at the end.
    """
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    with (
        private_directory() as folder,
        fence_reading(folder, settings.folder),
        sessions_in(folder, settings, save=save_session) as sessions,
    ):
        # The framework would keep what it stores in the folder where it was started.
        nicegui_app.storage.path = folder / "framework"
        door = Door(lambda token: entered(Address(port, token)))
        app = _application(lambda: started(Address(port, door.token)), sessions)
        guard = Guard(app, sessions, door, port=port)
        quiet_logs()
        config = uvicorn.Config(
            guard,
            http=PatientProtocol,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
            server_header=False,
            # There is no proxy between a browser and this machine.
            proxy_headers=False,
        )
        _end_with_terminal()
        uvicorn.Server(config).run(sockets=[listening])


def check_host(host: str) -> None:
    """Raise `ParameterError` unless an address to listen on is one of IPv4."""
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        raise ParameterError(
            "the address to listen on is one of IPv4", hint="--host 0.0.0.0 in a container; else leave it out"
        ) from None


def _listen(host: str, port: int) -> socket.socket:
    """Open the socket of the server; raise if the port is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # a browser may open the address before the framework is ready, and waits
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"port {port} of {host} cannot be used: {error.strerror or 'refused'}",
            hint="choose another one with --port, or leave out --port and --host",
        ) from None
    return listening


def _end_with_terminal() -> None:
    """Remove the private folder also when the terminal of the server is closed."""
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def _application(ready: Callable[[], None], sessions: Sessions) -> Any:
    """Create the application, which prepares the steps and ends idle sessions."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI):  # type: ignore[no-untyped-def]
        ready()
        threading.Thread(target=steps.prepare, daemon=True).start()
        ending = asyncio.get_running_loop().create_task(_end_idle(sessions))
        yield
        ending.cancel()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    files.register(app)
    steps.register()
    ui.run_with(
        app,
        title="indistinct",
        language="en-US",
        favicon=Path(__file__).with_name("icon.svg"),
        dark=None,
        tailwind=False,
        gzip_middleware_factory=None,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=30,
    )
    separate_sessions()
    return app


async def _end_idle(sessions: Sessions) -> None:
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        sessions.end_idle()


def address_to_json(address: Address) -> str:
    """Return an address as one line of JSON.

    >>> address_to_json(Address(8080, "abc"))
    '{"url": "http://127.0.0.1:8080/?token=abc", "token": "abc", "port": 8080}'
    """
    return json.dumps({"url": address.url, "token": address.token, "port": address.port})


# Messages on web sockets


def separate_sessions() -> None:
    """Reject messages whose socket and page have different sessions.

    The framework takes from a message itself which page it is for. Names of pages cannot be guessed, and
    knowing one is of no use.
    """
    handlers = core.sio.handlers["/"]
    for name in FOR_A_PAGE:
        handlers[name] = _checked(name, handlers[name])
    handlers["connect"] = _checked_connect(handlers["connect"])


def _checked(name: str, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a handler of messages to reject pages of other sessions."""

    async def checked(sid: str, message: Any) -> Any:
        named = message.get("client_id") if isinstance(message, dict) else None
        environ = core.sio.get_environ(sid)
        if not _is_own(environ, named):
            return False
        if name == "event":
            environ["asgi.scope"][SESSION].use()
        answer = handler(sid, message)
        return await answer if inspect.isawaitable(answer) else answer

    return checked


def _checked_connect(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the handler of connections to reject pages of other sessions."""

    async def checked(sid: str, environ: dict[str, Any], *rest: Any) -> Any:
        named = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [None])[0]
        # The framework announces a forgotten page, and the browser reloads it.
        may = named not in Client.instances or _is_own(environ, named)
        return await handler(sid, environ, *rest) if may else False

    return checked


def _is_own(environ: dict[str, Any] | None, page: Any) -> bool:
    """Return whether a page is one of the session that a socket belongs to."""
    client = Client.instances.get(page) if isinstance(page, str) else None
    session = (environ or {}).get("asgi.scope", {}).get(SESSION)
    return client is not None and session is not None and client.request.scope.get(SESSION) is session
