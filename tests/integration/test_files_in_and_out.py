"""Uploads and downloads: each within its session, of a size that is allowed, under a name that leads nowhere else."""

import asyncio
import socket
import stat
import threading

import pytest
from fastapi import FastAPI

from indistinct.web import files
from indistinct.web.files import MAX_UPLOADS, safe_name
from indistinct.web.guard import Door, Guard
from indistinct.web.sessions import MAX_SESSIONS, Sessions, Settings
from references.page_server import PATIENCE, wait_for

LIMIT = 1_000_000


def uploaded(server):
    return sorted(path for path in server.temporary.rglob("uploaded/**/*") if path.is_file())


@pytest.fixture(autouse=True)
def nothing_left_before(server):
    for path in uploaded(server):
        path.unlink()


def test_an_upload_lies_where_only_its_owner_can_read_it(server):
    answer = server.ask("PUT", "/upload/table?name=a%20table.csv", cookie=server.cookie, body=b"x\n1\n")
    assert (answer.status, answer.body) == (200, b'{"name":"a table.csv","bytes":4}')
    [path] = uploaded(server)
    assert path.name == "a table.csv"
    assert path.read_bytes() == b"x\n1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    while path.parent != server.temporary:
        path = path.parent
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("chunked", [False, True])
def test_an_upload_over_the_limit_is_refused_and_leaves_nothing(server, chunked):
    body = iter([b"x" * 100_000] * 11) if chunked else b"x" * (LIMIT + 1)
    answer = server.ask("PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=body)
    assert answer.status == 413
    assert b"larger than 0.001 GB" in answer.body
    assert b"--largest-upload" in answer.body
    assert uploaded(server) == []


def test_five_gigabytes_are_refused_before_they_are_read(server):
    answer = server.ask(
        "PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=b"", Content_Length=str(5 * 10**9)
    )
    assert (answer.status, uploaded(server)) == (413, [])


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99999999999999999999999999", "1, 2"])
def test_a_length_that_is_none_is_refused(server, length):
    answer = server.ask("PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=b"", Content_Length=length)
    assert answer.status in (400, 413)
    assert uploaded(server) == []


def test_a_browser_that_goes_away_in_the_middle_leaves_nothing(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = f"PUT /upload/table?name=a.csv HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\n"
        line.sendall(head.encode() + b"Content-Length: 1000\r\n\r\nhalf of it")
    server.ask("GET", "/favicon.ico", cookie=server.cookie)
    assert wait_for(lambda: uploaded(server) == [], "the half to be removed")


def test_more_uploads_at_a_time_are_refused_and_their_connections_end(server):
    head = f"PUT /upload/table?name=a.csv HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\n"
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(MAX_UPLOADS)]
    try:
        for line in lines:
            line.sendall(head.encode() + b"Content-Length: 1000\r\n\r\nslow")
        wait_for(lambda: len(uploaded(server)) == MAX_UPLOADS, "the uploads to run")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as one_more:
            one_more.sendall(head.encode() + b"Content-Length: 1000\r\n\r\nslow")
            said = b""
            while part := one_more.recv(1000):  # until the server ends the connection
                said += part
        assert b" 429 " in said
        assert server.ask("GET", "/open", cookie=server.cookie).status == 200
    finally:
        for line in lines:
            line.close()
    wait_for(lambda: uploaded(server) == [], "the halves to be removed")
    answer = server.ask("PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=b"x\n1\n")
    assert answer.status == 200


def test_the_limit_itself_may_be_uploaded(server):
    answer = server.ask("PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=b"x" * LIMIT)
    assert answer.status == 200


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../../etc/cron.d/x", "x"),
        ("%2e%2e%2fx.csv", "x.csv"),
        ("/etc/passwd", "passwd"),
        ("C:%5CUsers%5Cx.csv", "x.csv"),
        ("a%00.csv", "a.csv"),
        ("..", "table.csv"),
        ("", "table.csv"),
        (".bashrc", "bashrc"),
        ("%0d%0aSet-Cookie:%20a=b", "Set-Cookie: a=b"),
        ("%ff%fe", "��"),
    ],
)
def test_names_of_uploads_lead_nowhere(server, given, kept):
    answer = server.ask("PUT", f"/upload/table?name={given}", cookie=server.cookie, body=b"x\n1\n")
    assert answer.status == 200
    assert [path.name for path in uploaded(server)] == [kept]
    assert "set-cookie" not in answer.headers


def test_a_long_name_keeps_its_end_and_fits():
    assert safe_name("ä" * 300 + ".parquet").endswith("ä.parquet")
    assert len(safe_name("\U0001f600" * 300 + ".csv").encode()) <= 255


@pytest.mark.parametrize("kind", ["other", "..%2ftable", "table%2f..%2f..", "%00"])
def test_only_what_is_known_can_be_uploaded_and_downloaded(server, kind):
    assert server.ask("PUT", f"/upload/{kind}?name=x", cookie=server.cookie, body=b"x").status == 404
    assert server.ask("GET", f"/download/{kind}", cookie=server.cookie).status == 404
    assert uploaded(server) == []


def test_uploads_at_the_same_time_do_not_mix(server):
    bodies = [bytes([65 + number]) * 400_000 for number in range(6)]
    answers = []

    def put(body):
        answers.append(server.ask("PUT", "/upload/table?name=same.csv", cookie=server.cookie, body=body).status)

    threads = [threading.Thread(target=put, args=(body,)) for body in bodies]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answers == [200] * 6
    [path] = uploaded(server)
    assert path.read_bytes() in bodies


async def asked(app, path, *, cookie="", query=b"", port=80):
    """Ask an application without a server."""
    sent, waiting = [], [{"type": "http.request", "body": b"", "more_body": False}]

    async def send(message):
        sent.append(message)

    async def receive():
        return waiting.pop() if waiting else await asyncio.Event().wait()

    headers = [(b"host", b"127.0.0.1:%d" % port), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers}
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return sent[0]["status"], dict(sent[0]["headers"]), body


@pytest.fixture
def two(tmp_path):
    """Two sessions of which one has made a file, and the application that both see."""
    sessions = Sessions(tmp_path, Settings(tmp_path, 10))
    app = FastAPI()
    files.register(app)
    guard = Guard(app, sessions, Door(), port=80)
    cookies, opened = [], []
    for _ in range(2):
        secret, session = sessions.open()
        cookies.append(f"indistinct-80={secret}")
        opened.append(session)
    made = opened[0].folder / "Ä release.csv"
    made.write_bytes(b"age\n*\n")
    opened[0].keep("downloads", {"table": made}, rests_on=files.key_of_downloads(opened[0]))
    yield guard, cookies, made
    sessions.close()


def test_a_session_does_not_see_the_files_of_another(two):
    guard, (mine, other), _ = two
    status, headers, body = asyncio.run(asked(guard, "/download/table", cookie=mine))
    assert (status, body) == (200, b"age\n*\n")
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"content-disposition"] == b"attachment; filename*=UTF-8''%C3%84%20release.csv"
    status, _, body = asyncio.run(asked(guard, "/download/table", cookie=other))
    assert (status, b"age\n" in body) == (404, False)
    assert asyncio.run(asked(guard, "/download/table"))[0] == 403


def test_a_file_that_is_gone_is_told(two):
    guard, (mine, _), made = two
    made.unlink()
    status, _, body = asyncio.run(asked(guard, "/download/table", cookie=mine))
    assert status == 404
    assert b"is not there" in body


def test_a_server_opens_for_so_many_browsers_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("indistinct.web.sessions.Session.start", lambda _session: None)
    sessions, door = Sessions(tmp_path, Settings(tmp_path, 10)), Door()
    guard = Guard(FastAPI(), sessions, door, port=80)
    for _ in range(MAX_SESSIONS):
        assert asyncio.run(asked(guard, "/", query=b"token=" + door.token.encode()))[0] == 303
    before = door.token
    status, headers, body = asyncio.run(asked(guard, "/", query=b"token=" + before.encode()))
    assert (status, b"set-cookie" in headers, b"As many browsers" in body) == (503, False, True)
    assert door.token == before
    sessions.close()


def test_a_session_that_was_left_makes_room_for_another(tmp_path, monkeypatch):
    monkeypatch.setattr("indistinct.web.sessions.Session.start", lambda _session: None)
    saved = []
    sessions, door = Sessions(tmp_path, Settings(tmp_path, 10), save=saved.append), Door()
    guard = Guard(FastAPI(), sessions, door, port=80)
    opened = [sessions.open() for _ in range(MAX_SESSIONS)]
    for age, (_, session) in enumerate(opened):
        session.used -= 1000.0 - age
    with opened[0][1].open_tab():  # the oldest is at work
        assert asyncio.run(asked(guard, "/", query=b"token=wrong"))[0] == 403
        assert saved == []
        assert asyncio.run(asked(guard, "/", query=b"token=" + door.token.encode()))[0] == 303
        assert sessions.of(opened[0][0]) is opened[0][1]
    assert sessions.of(opened[1][0]) is None
    assert saved == [opened[1][1]]
    assert not opened[1][1].folder.exists()
    sessions.close()
