"""Sockets reach pages of their own session alone, whatever page they name."""

import asyncio
import re

import aiohttp
import pytest
import socketio

PAGE = re.compile(r'"client_id":\s*"([0-9a-f-]{36})"|\'client_id\':\s*\'([0-9a-f-]{36})\'')


def page_of(server, cookie):
    """Return the name of a page that a session has just loaded."""
    found = PAGE.search(server.ask("GET", "/open", cookie=cookie).body.decode())
    return found[1] or found[2]


def connects(server, cookie, page, *, origin=None):
    """Return whether a socket with a cookie may speak for a page."""

    async def run():
        async with aiohttp.ClientSession() as line:
            return await spoken(socketio.AsyncClient(reconnection=False, http_session=line))

    async def spoken(client):
        query = f"client_id={page}&implicit_handshake=true&tab_id=1&document_id=1&next_message_id=0"
        headers = {"Cookie": cookie, "Origin": origin or f"http://{server.host}"}
        try:
            address = f"http://{server.host}/_nicegui_ws/?{query}"
            await client.connect(address, headers, transports=["websocket"], socketio_path="/_nicegui_ws/socket.io")
        except socketio.exceptions.ConnectionError:
            return False
        await client.disconnect()
        return True

    return asyncio.run(run())


@pytest.fixture
def other(server):
    return server.enter()


def test_a_socket_speaks_for_pages_of_its_own_session_alone(server, other):
    assert connects(server, server.cookie, page_of(server, server.cookie))
    assert not connects(server, other, page_of(server, server.cookie))
    assert connects(server, other, page_of(server, other))


def test_a_socket_of_another_origin_is_refused(server):
    page = page_of(server, server.cookie)
    assert not connects(server, server.cookie, page, origin="http://example.org")
    assert not connects(server, "", page)
