"""What a tab says whose server is gone, was started again, or has ended its session."""

import pytest

from references.page_browser import Page
from references.page_server import running_page

SAID = "const box = document.getElementById('popup'); return box.ariaHidden === 'false' ? box.textContent : ''"


@pytest.fixture
def opened(chrome):
    """Return a tab on a server that has opened the invented patients."""

    def open_demo(server):
        steward = Page(chrome, server)
        steward.looks()
        steward.enter()
        steward.demo()
        return steward

    yield open_demo
    chrome.get("about:blank")


def test_a_server_that_is_gone_is_told_and_the_next_one_has_the_job(opened, chrome, tmp_path):
    folder, temporary = tmp_path / "folder", tmp_path / "temporary"
    with running_page(folder, temporary=temporary) as server:
        page = opened(server)
        page.at("privacy")
        page.write("suppression", "3")
        page.wait("the job to be saved", lambda: list((temporary / "jobs").glob("*/policy.toml")))
        server.process.kill()
        page.wait("the loss to be told", lambda: "The server does not answer" in page.script(SAID))
        said = page.script(SAID)
        assert "start it again with indistinct serve" in said
        assert "What was decided is saved" in said
    with running_page(folder, "--port", str(server.port), temporary=temporary) as again:
        page.wait("the end of the session to be told", lambda: "This session has ended" in page.script(SAID))
        heading = "Go on with a job of before"
        assert heading in page.script(SAID)
        steward = Page(chrome, again)
        steward.enter()
        steward.wait_for(heading)
        assert "patients" in steward.text.partition(heading)[2]


def test_a_session_that_ends_while_its_tab_is_open_says_so(opened, tmp_path):
    options = ("--idle", "0.001", "--no-save")
    with running_page(tmp_path / "folder", *options, temporary=tmp_path / "temporary") as server:
        page = opened(server)
        page.wait_for("This session has ended")
        assert "Nothing is saved here (--no-save)" in page.text
        assert page.barriers() == []
