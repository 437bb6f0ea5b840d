"""Whoever speaks slowly is cut off, and others are served meanwhile."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from indistinct.web import patience
from indistinct.web.patience import PatientProtocol, patient_receive

SHORT = 0.8
"""Seconds for which this server waits."""
LONG = 60.0
"""Seconds after which a test gives up."""
GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def answer(scope, receive, send):
    """Say how many bytes of a body came; a body that broke off is not answered."""
    patient = patient_receive(receive, seconds=LONG if scope["path"] == "/patient" else SHORT)
    size, more = 0, True
    while more:
        message = await patient()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = b"%d bytes" % size
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]},
    )
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port():
    before = patience.FOR_HEADERS
    patience.FOR_HEADERS = SHORT
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(answer, http=PatientProtocol, log_config=None, access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(LONG)
    patience.FOR_HEADERS = before


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as client:
        yield client


def ask(port):
    """Return what a client that speaks at once is answered."""
    with connected(port) as client:
        client.sendall(GET)
        return client.recv(1000)


def send_slowly(client, data):
    """Send one byte after another until the other side closes; return how many went out."""
    client.settimeout(SHORT / 20)
    for sent in range(len(data)):
        try:
            client.sendall(data[sent : sent + 1])
            if client.recv(1000) == b"":
                return sent
        except TimeoutError:
            continue
        except ConnectionError:
            return sent
    return len(data)


def test_headers_that_come_byte_by_byte_are_cut_off_and_others_are_served(port):
    endless = b"GET / HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 100_000
    sent, thread = [], None
    with connected(port) as slow:
        thread = threading.Thread(target=lambda: sent.append(send_slowly(slow, endless)))
        thread.start()
        for _ in range(5):
            assert b"200 OK" in ask(port)
        thread.join(LONG)
    assert not thread.is_alive()
    assert sent[0] < len(endless)


def test_a_body_that_comes_byte_by_byte_is_cut_off_and_others_are_served(port):
    size = 100_000
    with connected(port) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % size)
        sent = []
        thread = threading.Thread(target=lambda: sent.append(send_slowly(slow, b"x" * size)))
        thread.start()
        for _ in range(5):
            assert b"200 OK" in ask(port)
        thread.join(LONG)
    assert not thread.is_alive()
    assert sent[0] < size


def test_a_connection_that_says_nothing_is_cut_off(port):
    with connected(port) as silent:
        assert silent.recv(1) == b""


def test_a_body_that_comes_in_parts_is_taken(port):
    with connected(port) as client:
        client.sendall(b"POST /patient HTTP/1.1\r\nHost: here\r\nContent-Length: 30000\r\n\r\n")
        for _ in range(3):
            client.sendall(b"x" * 10_000)
            time.sleep(0.01)
        assert b"30000 bytes" in client.recv(1000)
