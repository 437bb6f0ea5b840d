"""Who gets in: nobody without the token, from another origin or under another name; and nothing leaves or stays."""

import contextlib
import re
import socket

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from references.page_server import PATIENCE

PAGES = ("/", "/open", "/columns", "/download/table", "/assets/look.css", "/favicon.ico", "/no-such-page")
POLLING = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
SAYS = b"needs the token"


@pytest.mark.parametrize("path", [*PAGES, POLLING])
def test_without_a_token_there_is_nothing_to_see(server, path):
    answer = server.ask("GET", path)
    assert (answer.status, SAYS in answer.body, len(answer.body) < 500) == (403, True, True)


@pytest.mark.parametrize("token", ["wrong", "", "%00", "%ff%fe", "a" * 20_000, "1&token=2", "[]", "%F0%9F%92%A9"])
def test_a_wrong_token_opens_nothing(server, token):
    answer = server.ask("GET", f"/?token={token}")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_a_token_opens_once(server):
    address = server.address.partition(server.host)[2]
    assert server.ask("GET", address).status == 303
    again = server.ask("GET", address)
    assert (again.status, "set-cookie" in again.headers) == (403, False)


def test_a_token_in_another_method_opens_nothing_and_is_not_used_up(server):
    path = f"/?token={server.token}"
    assert [server.ask(method, path).status for method in ("POST", "PUT", "HEAD", "OPTIONS")] == [403] * 4
    assert server.ask("GET", server.address.partition(server.host)[2]).status == 303


def test_whoever_is_in_stays_in_when_the_address_is_opened_again(server):
    for token in ("used-already", server.token):
        answer = server.ask("GET", f"/?token={token}", cookie=server.cookie)
        assert (answer.status, answer.headers["location"], "set-cookie" in answer.headers) == (303, "/open", False)


def test_the_cookie_stays_with_this_server(server):
    answer = server.ask("GET", server.address.partition(server.host)[2])
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"indistinct-{server.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert answer.headers["location"] == "/open"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("cookie", ["indistinct-{}=wrong", "indistinct-{}=", "={}", ";;;=;", '{}="\xff"'])
def test_a_wrong_cookie_opens_nothing(server, cookie):
    assert server.ask("GET", "/open", cookie=cookie.format(server.port)).status == 403


def test_cookies_of_other_programs_on_this_machine_are_in_nobodys_way(server):
    others = f'state={{"a":[1,2]}}; expires=1; {server.cookie}; é=[]'
    assert server.ask("GET", "/open", cookie=others).status == 200
    assert server.ask("GET", "/open", cookie=f"indistinct-{server.port}=old; {server.cookie}").status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost:80", "", "127.0.0.1.nip.io:{}"]
)
def test_another_name_for_this_machine_is_refused(server, host):
    answer = server.ask("GET", "/open", cookie=server.cookie, Host=host.format(server.port))
    assert answer.status in (400, 403)
    assert b"<" not in answer.body


def test_two_names_at_once_are_refused(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        names = f"Host: {server.host}\r\nHost: evil.example\r\n"
        line.sendall(f"GET /open HTTP/1.1\r\n{names}Cookie: {server.cookie}\r\n\r\n".encode())
        assert line.recv(4096).split()[1] in (b"400", b"403")


FOREIGN = [
    "http://evil.example",
    "null",
    "http://127.0.0.1:1",
    "https://{}",
    "http://localhost:{}",
    "http://{}.evil.example",
]


@pytest.mark.parametrize("origin", FOREIGN)
def test_pages_of_others_get_nothing(server, origin):
    origin = origin.format(server.host)
    for method, path in (
        ("GET", "/open"),
        ("PUT", "/upload/table?name=x.csv"),
        ("POST", POLLING),
        ("OPTIONS", "/open"),
    ):
        answer = server.ask(method, path, cookie=server.cookie, body=b"a\n1\n", Origin=origin)
        assert (answer.status, b"own pages only" in answer.body) == (403, True)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_answer_lets_another_origin_read_it(server):
    answer = server.ask("GET", POLLING, cookie=server.cookie, Origin=f"http://{server.host}")
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_a_browser_that_says_who_asked_is_believed(server, site):
    assert server.ask("GET", "/open", cookie=server.cookie, Sec_Fetch_Site=site).status == 403
    assert server.ask("GET", f"/?token={server.token}", Sec_Fetch_Site=site).status == 403
    assert server.ask("GET", "/open", cookie=server.cookie, Sec_Fetch_Site="same-origin").status == 200


def opens(server, *, origin, cookie="", host=None):
    headers = {"Cookie": cookie} if cookie else {}
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        try:
            with connect(f"ws://{host or server.host}{SOCKET}", sock=line, origin=origin, additional_headers=headers):
                return True
        except InvalidStatus as refused:
            return refused.response.status_code != 403


def test_web_sockets_open_for_pages_of_this_server_with_the_cookie(server):
    own = f"http://{server.host}"
    assert opens(server, origin=own, cookie=server.cookie)
    assert not opens(server, origin=own)
    assert not opens(server, origin=own, cookie=f"indistinct-{server.port}=wrong")
    assert not opens(server, origin=None, cookie=server.cookie)
    assert not opens(server, origin="null", cookie=server.cookie)
    assert not opens(server, origin="http://evil.example", cookie=server.cookie)
    assert not opens(server, origin="http://evil.example", cookie=server.cookie, host=f"evil.example:{server.port}")


@pytest.mark.parametrize("path", ["/open", "/download/table", "/no-such-page", POLLING, "/assets/look.css"])
def test_nothing_is_framed_sniffed_or_kept(server, path):
    for cookie in (server.cookie, ""):
        headers = server.ask("GET", path, cookie=cookie).headers
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_only_scripts_of_this_server_run(server):
    pages = [server.ask("GET", "/open", cookie=server.cookie) for _ in range(2)]
    nonces = []
    for page in pages:
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert "'unsafe-inline'" not in policy["script-src"]
        assert "http" not in page.headers["content-security-policy"]
        nonces.append(re.search(r"'nonce-([\w-]{20,})'", policy["script-src"])[1])
        tags = re.findall(rb"<script[^>]*>", page.body)
        assert tags
        assert all(b'nonce="%s"' % nonces[-1].encode() in tag for tag in tags)
    assert nonces[0] != nonces[1]


def test_a_page_names_no_other_machine(server):
    body = server.ask("GET", "/open", cookie=server.cookie).body
    named = set(re.findall(rb"https?://([^/\"'`\s\\<]+)", body))
    assert named <= {b"www.w3.org"}


@pytest.mark.parametrize("name", ["X-Forwarded-Prefix", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"])
def test_what_a_proxy_would_tell_is_not_believed(server, name):
    answer = server.ask("GET", "/open", cookie=server.cookie, **{name: "//planted.example"})
    assert answer.status == 200
    assert b"planted" not in answer.body
    assert "planted" not in str(answer.headers)


def test_a_page_that_is_not_there_repeats_nothing(server):
    answer = server.ask("GET", "/%3Cscript%3Eplanted%3C/script%3E?q=<planted>", cookie=server.cookie)
    assert answer.status == 404
    assert b"planted" not in answer.body


@pytest.mark.parametrize(
    "path",
    ["../guard.py", "..%2fguard.py", "%2e%2e/guard.py", "..%5cguard.py", "%2fetc%2fpasswd", "%00"],
)
def test_assets_lead_nowhere_else(server, path):
    answer = server.ask("GET", f"/assets/{path}", cookie=server.cookie)
    assert answer.status == 404
    assert b"def " not in answer.body
    assert b"root:" not in answer.body


def test_it_listens_on_this_machine_only(server):
    others = [
        each.address.partition("%")[0]
        for addresses in psutil.net_if_addrs().values()
        for each in addresses
        if each.family in (socket.AF_INET, socket.AF_INET6) and each.address != "127.0.0.1"
    ]
    listening = {
        each.laddr.ip for each in psutil.Process(server.process.pid).net_connections() if each.status == "LISTEN"
    }
    assert listening == {"127.0.0.1"}
    for address in others:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out|assign|Invalid"):
            socket.create_connection((address, server.port), timeout=2)


def test_nonsense_does_not_end_the_server(server):
    for garbage in (
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"a" * 200_000 + b"\r\n\r\n",
    ):
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line,
            contextlib.suppress(OSError),  # it may have hung up already,
        ):
            line.sendall(garbage)
            line.shutdown(socket.SHUT_WR)
            line.recv(4096)
    assert server.ask("GET", "/open", cookie=server.cookie).status == 200
