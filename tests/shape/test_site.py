"""The site of the documentation has every page once, in the order of its tables, and needs no other host."""

import importlib.util
import subprocess
import sys
import tomllib

import pytest
from tools import site_pages

from references.documentation import PAGES, ROOT, name_of


def pages_in(navigation):
    for entry in navigation:
        if isinstance(entry, str):
            yield entry
        else:
            for pages in entry.values():
                yield from pages_in(pages)


def test_every_page_is_in_the_navigation_once():
    listed = list(pages_in(site_pages.navigation()))
    assert sorted(listed) == sorted({*map(name_of, PAGES), site_pages.MEASUREMENTS})


def test_guides_come_in_the_order_of_their_table():
    guides = [page for page in pages_in(site_pages.navigation()) if page.startswith("docs/guides/")]
    assert guides[:3] == ["docs/guides/README.md", "docs/guides/steward-quick-start.md", "docs/guides/web-app.md"]


@pytest.fixture
def folder(tmp_path):
    assert site_pages.main(tmp_path / "site") == 0
    return tmp_path / "site"


def test_settings_are_read_and_name_pages_that_are_there(folder):
    settings = tomllib.loads((folder / "zensical.toml").read_text(encoding="utf-8"))["project"]
    listed = list(pages_in(settings["nav"]))
    assert listed
    assert [page for page in listed if not (folder / settings["docs_dir"] / page).is_file()] == []
    assert all((folder / settings["docs_dir"] / path).is_file() for path in (*settings["extra_css"], site_pages.WORKER))
    assert settings["theme"]["font"] is False


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "cdn.example/a.js"),
        ('<img alt="x" src="//cdn.example/a.png">', "cdn.example/a.png"),
        ('<link rel="stylesheet" href="https://fonts.example/a.css">', "fonts.example/a.css"),
        ('<a href="https://semver.org/">versions</a><script src="../a.js"></script>', None),
        ('<link rel="canonical" href="https://indistinct.example/">', None),
    ],
)
def test_what_a_page_would_fetch_from_another_host_is_found(tmp_path, text, host):
    page = tmp_path / "page.html"
    page.write_text(text)
    assert site_pages.fetched_from_elsewhere(page) == ([] if host is None else [host])


def test_the_site_that_is_finished_has_our_worker_and_fails_on_another_host(tmp_path, capsys):
    built = tmp_path / "build" / "site"
    (built / "docs").mkdir(parents=True)
    worker = '<script src="https://unpkg.com/iframe-worker/shim" type="text/javascript"></script>'
    (built / "docs" / "page.html").write_text(worker)
    assert site_pages.finish(tmp_path / "build", tmp_path / "first") == 0
    assert (tmp_path / "first" / "docs" / "page.html").read_text() == '<script src="../docs/site-worker.js"></script>'
    (built / "docs").mkdir(parents=True)
    (built / "docs" / "page.html").write_text('<script src="https://cdn.example/a.js"></script>')
    assert site_pages.finish(tmp_path / "build", tmp_path / "second") == 1
    assert "cdn.example" in capsys.readouterr().out


def test_the_site_is_built_without_a_warning(folder):
    """`make site` does the same with what its lock file installs."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed: `make site` installs it and builds the same")
    ran = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout
    assert site_pages.finish(folder, folder.parent / "finished") == 0


def test_every_tutorial_is_listed():
    text = (ROOT / "docs" / "tutorials" / "README.md").read_text(encoding="utf-8")
    wanted = (
        "steward",
        "gate-in-ci",
        "releases-over-time",
        "studying",
        "from-arx",
        "from-sdcmicro",
        "which-protection",
    )
    assert [name for name in wanted if name not in text] == []
