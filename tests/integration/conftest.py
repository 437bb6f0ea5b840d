"""One server and one browser for all tests of the page; whoever needs another server starts one."""

import re

import pytest

from references.command_line import patients, run, unknown_width  # noqa: F401 (fixtures)
from references.page_server import running_page


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server that all tests may use. Whatever was tried, it says nothing but the next address."""
    root = tmp_path_factory.mktemp("page")
    with running_page(root / "folder", "--largest-upload", "0.001", temporary=root / "temporary") as running:
        yield running
    said = [line for line in running.messages if not re.match(r"opened; for another browser: http://127", line)]
    assert said == [], "".join(said)


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    from references.page_browser import NoBrowserError, running_browser

    try:
        with running_browser(str(tmp_path_factory.mktemp("downloads"))) as driver:
            yield driver
    except NoBrowserError as error:
        pytest.skip(str(error))


@pytest.fixture
def page(chrome, server):
    """A steward who has just opened the page."""
    from references.page_browser import Page

    steward = Page(chrome, server)
    steward.looks()
    steward.enter()
    yield steward
    chrome.get("about:blank")


@pytest.fixture(scope="module")
def cookies_of_demo():
    """The cookie of a session in which the invented patients are open, once there is one."""
    return []


@pytest.fixture
def demo(chrome, server, cookies_of_demo):
    """A steward who has opened the invented patients, and whom tests share that change nothing.

    A session that gave way to others is replaced.
    """
    from references.page_browser import Page

    steward = Page(chrome, server)
    steward.looks()
    if any(server.is_open(f"{each['name']}={each['value']}") for each in cookies_of_demo):
        [cookie] = cookies_of_demo
        steward.leave()
        chrome.get(f"http://{server.host}/favicon.ico")
        chrome.add_cookie({key: cookie[key] for key in ("name", "value", "path", "httpOnly", "sameSite")})
    else:
        steward.enter()
        steward.demo()
        cookies_of_demo[:] = chrome.get_cookies()
    steward.at("open")
    yield steward
    chrome.get("about:blank")
