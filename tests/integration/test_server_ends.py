"""The server as a process: what it prints, what it leaves, and what it says when it cannot start."""

import json
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from indistinct.cli import main
from references.page_server import running_page, wait_for


def children(server):
    """Return the processes that a server has started, once there is one."""
    return wait_for(lambda: psutil.Process(server.process.pid).children(recursive=True), "a process that works")


def gone(processes):
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


def filled(server):
    """Upload something, so that there is a session with a file and a process."""
    answer = server.ask("PUT", "/upload/table?name=a.csv", cookie=server.cookie, body=b"name\nErika Mustermann\n")
    assert answer.status == 200
    [folder] = server.private_folders()
    assert [path.name for path in folder.rglob("a.csv")] == ["a.csv"]
    return children(server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_when_it_is_stopped(tmp_path, number):
    with running_page(tmp_path / "folder", temporary=tmp_path / "temporary") as server:
        processes = filled(server)
        code = server.end(number)
        wait_for(lambda: gone(processes), "processes to end")
        assert server.process.stdout.read() == ""
    assert code in (130, 143, -number, 0)
    assert "Traceback" not in "".join(server.messages)
    assert list(server.temporary.iterdir()) == []
    assert list(server.folder.iterdir()) == []


def test_after_a_kill_processes_end_and_the_next_start_cleans_up(tmp_path):
    places = {"folder": tmp_path / "folder", "temporary": tmp_path / "temporary"}
    with running_page(**places) as server:
        processes = filled(server)
        server.end(signal.SIGKILL)
        wait_for(lambda: gone(processes), "processes to end")
    [left] = server.private_folders()
    with running_page(**places) as server:
        [folder] = server.private_folders()
        assert folder != left
        assert list(folder.rglob("a.csv")) == []


@pytest.fixture
def failed(capsys):
    def run(*options, code=2):
        assert main(["serve", "--no-browser", "--json", *options]) == code
        return json.loads(capsys.readouterr().out)["error"]

    return run


def test_a_port_that_is_in_use_is_told(failed):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = failed("--port", str(taken.getsockname()[1]))
    assert "cannot be used" in told["message"]
    assert "--port" in told["hint"]


def test_bad_options_are_told(failed, tmp_path):
    assert "there is no folder" in failed("--folder", str(tmp_path / "nowhere"), code=1)["message"]
    assert "a port is a number" in failed("--port", "70000")["message"]
    for size in ("0", "-1", "nan", "inf"):
        assert "more than 0" in failed("--largest-upload", size)["message"]


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "nicegui.py").write_text("raise ModuleNotFoundError('blocked', name='nicegui')\n")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from indistinct.cli import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "serve", "--no-browser", "--json"], capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "indistinct[web]" in json.loads(ran.stdout)["error"]["hint"]
    assert "Traceback" not in ran.stderr
