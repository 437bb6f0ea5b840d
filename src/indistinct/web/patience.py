"""Timeouts of slow requests: a request that makes no progress is ended."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
# Seconds for all lines above a body, and between two parts of a body.
FOR_HEADERS, FOR_BODY = 20.0, 60.0
MIN_BYTES_PER_SECOND = 10_000
"""Least average speed of a body, in bytes per second; slower requests are ended."""


class PatientProtocol(H11Protocol):
    """A connection that ends when its next request is begun and not finished within some time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Wait on while a request is not whole."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        self._waiting = self.loop.call_later(FOR_HEADERS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def patient_receive(receive: Receive, *, seconds: float = FOR_BODY) -> Receive:
    """Return a receive function that treats a body without progress as a closed connection.

    A body may stop for at most `seconds`, and may lag behind the slowest accepted rate by as much. Once the body is
    whole, waiting for the end of the connection has no limit.
    """
    whole, left = False, seconds

    async def receive_in_time() -> Message:
        nonlocal whole, left
        if whole:
            return await receive()
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            whole = True
            return {"type": "http.disconnect"}
        late = time.monotonic() - began - len(message.get("body", b"")) / MIN_BYTES_PER_SECOND
        left = min(left - late, seconds)
        whole = message["type"] != "http.request" or not message.get("more_body")
        return message

    return receive_in_time
