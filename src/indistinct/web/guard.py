"""Access control: only this machine's own address, pages of this server, and browsers that came with the token.

All requests pass here, pages and web sockets alike. Requests under another name for this machine (DNS rebinding), from
other sites, or without the cookie obtained with a one-time token are refused.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from indistinct.document.catalogue import read_catalogue
from indistinct.web.language import preferred_language
from indistinct.web.patience import patient_receive
from indistinct.web.sessions import Session, Sessions

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

SESSION = "indistinct.session"
"""Where a request keeps its session."""
FIRST = "/open"
# Scripts and styles of the framework, which say nothing about a table.
FRAMEWORK = re.compile(r"/_nicegui/[^/]+/(static|libraries|components|esm|resources)/")
REFUSED = {
    "host": "This server answers on this machine only, under its own address.",
    "origin": "This server answers its own pages only.",
    "token": "This address needs the token that the server printed when it started, and each token opens it once. "
    "The server prints a new address whenever one was used. A session that was not used for a while, or whose server "
    "was started again, has ended: what was decided in it is saved, and the first browser that opens the server anew "
    "finds it.",
    "sessions": "As many browsers as this server takes are at work. Close one of them and try again in a minute, or "
    "stop the server and start it again.",
}
STATUS = {"sessions": 503}
# What a proxy would tell. There is none here, and the framework would believe it.
OF_PROXIES = re.compile(rb"x-forwarded-.*|forwarded|x-real-ip|x-original-.*|x-rewrite-url")
WITH_EVERYTHING = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    (b"x-robots-tag", b"noindex"),
)


class Door:
    """The token that opens the next session; each one opens once."""

    def __init__(self, opened: Callable[[str], None] = lambda _token: None) -> None:
        self.token = secrets.token_urlsafe(32)
        self._opened = opened

    def knows(self, token: str) -> bool:
        """Return whether a token is the one."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def opens(self, token: str) -> bool:
        """Return whether a token is valid; it is then replaced by a new one, which is announced."""
        if not self.knows(token):
            return False
        self.token = secrets.token_urlsafe(32)
        self._opened(self.token)
        return True


class Guard:
    """An application that lets only the stewards of this server reach another one."""

    def __init__(self, app: App, sessions: Sessions, door: Door, *, port: int) -> None:
        self._app, self._sessions, self._door = app, sessions, door
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"indistinct-{port}"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        scope["headers"] = [(name, value) for name, value in scope["headers"] if not OF_PROXIES.fullmatch(name.lower())]
        refused = self._refused(scope)
        if refused is not None:
            await _refuse(scope, receive, send, refused)
            return
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        session = self._session(scope)
        if session is None and token is not None and scope["type"] == "http":
            await self._enter(scope, receive, send, token[0])
            return
        if session is None:
            await _refuse(scope, receive, send, "token")
            return
        scope[SESSION] = session
        session.use()
        # An admitted browser stays admitted: a token in the address is removed from it.
        if scope["type"] == "http" and (scope["path"] == "/" or token is not None):
            await _redirect(send)
            return
        if scope["type"] == "http":
            await self._app(scope, patient_receive(receive), _Sealed(scope, send))
        else:
            with session.open_tab():
                await self._app(scope, receive, send)

    def _refused(self, scope: Message) -> str | None:
        """Return why a request is refused by its host or origin, None if it is not."""
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return "host"
        own = [f"http://{hosts[0].lower()}"]
        if (origins or scope["type"] == "websocket") and [each.lower() for each in origins] != own:
            return "origin"
        sites = _values(scope, b"sec-fetch-site")
        return None if set(sites) <= {"none", "same-origin"} else "origin"

    def _session(self, scope: Message) -> Session | None:
        """Return the session of the cookie that a request has; programs on other ports may have set others."""
        for cookies in _values(scope, b"cookie"):
            for each in cookies.split(";"):
                name, _, value = each.strip().partition("=")
                session = self._sessions.of(value) if name == self._cookie else None
                if session is not None:
                    return session
        return None

    async def _enter(self, scope: Message, receive: Receive, send: Send, token: str) -> None:
        """Open a session for a valid token, and redirect to the first page."""
        if scope["method"] != "GET" or not self._door.knows(token):
            await _refuse(scope, receive, send, "token")
            return
        if not self._sessions.make_room():
            await _refuse(scope, receive, send, "sessions")
            return
        self._door.opens(token)
        secret, _ = self._sessions.open()
        cookie = f"{self._cookie}={secret}; Path=/; HttpOnly; SameSite=Strict"
        await _redirect(send, (b"set-cookie", cookie.encode()))


def _values(scope: Message, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]


class _Sealed:
    """A way back on which every answer gets the headers that keep it here."""

    def __init__(self, scope: Message, send: Send) -> None:
        self._scope, self._send = scope, send
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            page = any(name == b"x-nicegui-content" for name, _ in message["headers"])
            nonce = secrets.token_urlsafe(16)
            message["headers"] = _seal(message["headers"], self._scope, nonce)
            if page:
                self._start, self._nonce = message, nonce
            else:
                await self._send(message)
        elif self._start is not None and message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                body = re.sub(rb"<script(?=[\s>])", b'<script nonce="%s"' % self._nonce.encode(), b"".join(self._parts))
                kept = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
                self._start["headers"] = [*kept, (b"content-length", b"%d" % len(body))]
                await self._send(self._start)
                await self._send({"type": "http.response.body", "body": body})
                self._start = None
        else:
            await self._send(message)


def _seal(headers: Any, scope: Message, nonce: str) -> list[tuple[bytes, bytes]]:
    """Replace the headers of an answer by those that protect the page."""
    ours = {name for name, _ in WITH_EVERYTHING} | {b"cache-control", b"content-security-policy"}
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in ours and not name.lower().startswith(b"access-control-")
    ]
    host = _values(scope, b"host")[0]
    stays = b"private, max-age=86400" if FRAMEWORK.match(scope["path"]) else b"no-store"
    policy = content_policy(nonce, host).encode()
    return [*kept, *WITH_EVERYTHING, (b"cache-control", stays), (b"content-security-policy", policy)]


def content_policy(nonce: str, host: str) -> str:
    """Return the Content-Security-Policy of a page. The framework compiles templates and sets styles in the page."""
    parts = (
        "default-src 'none'",
        f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        f"connect-src 'self' ws://{host}",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


async def _redirect(send: Send, *headers: tuple[bytes, bytes]) -> None:
    """Answer with a redirect to the first page."""
    start = [(b"location", FIRST.encode()), (b"cache-control", b"no-store"), *WITH_EVERYTHING, *headers]
    await send({"type": "http.response.start", "status": 303, "headers": start})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Message, receive: Receive, send: Send, why: str) -> None:
    """Answer that a request is refused, in a language that the browser accepts."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    asked = preferred_language(",".join(_values(scope, b"accept-language")))
    body = (read_catalogue(asked).translate(REFUSED[why]) or REFUSED[why]).encode() + b"\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        *WITH_EVERYTHING,
    ]
    await send({"type": "http.response.start", "status": STATUS.get(why, 403), "headers": headers})
    await send({"type": "http.response.body", "body": body})
