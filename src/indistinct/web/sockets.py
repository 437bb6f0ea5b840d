"""Messages on web sockets: each reaches only pages of the session that its socket belongs to.

The framework takes from a message itself which page it is for. Names of pages cannot be guessed; whoever learns one all
the same can do nothing with it.
"""

import inspect
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, core

from indistinct.web.guard import SESSION

FOR_A_PAGE = ("event", "javascript_response", "ack", "log", "handshake")


def separate_sessions() -> None:
    """Let the framework pass on only messages whose socket and page have the same session."""
    handlers = core.sio.handlers["/"]
    for name in FOR_A_PAGE:
        handlers[name] = _checked(handlers[name])
    handlers["connect"] = _checked_connect(handlers["connect"])


def _checked(handler: Callable[..., Any]) -> Callable[..., Any]:
    async def checked(sid: str, message: Any) -> Any:
        named = message.get("client_id") if isinstance(message, dict) else None
        if not _is_own(core.sio.get_environ(sid), named):
            return False
        answer = handler(sid, message)
        return await answer if inspect.isawaitable(answer) else answer

    return checked


def _checked_connect(handler: Callable[..., Any]) -> Callable[..., Any]:
    async def checked(sid: str, environ: dict[str, Any], *rest: Any) -> Any:
        named = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [None])[0]
        # A page that is forgotten is told so by the framework, and the browser loads it anew.
        may = named not in Client.instances or _is_own(environ, named)
        return await handler(sid, environ, *rest) if may else False

    return checked


def _is_own(environ: dict[str, Any] | None, page: Any) -> bool:
    """Return whether a page is one of the session that a socket belongs to."""
    client = Client.instances.get(page) if isinstance(page, str) else None
    session = (environ or {}).get("asgi.scope", {}).get(SESSION)
    return client is not None and session is not None and client.request.scope.get(SESSION) is session
