"""Several tables of the same people in a real browser: the whole walk, what keeps people out, and what is saved."""

import io
import time
import zipfile

import pytest

from indistinct.release.writing.files import write_table
from indistinct.samples.clinic import generate_clinic
from references.page_browser import Page

STEPS = ("open", "columns", "privacy", "search", "risk", "release")


@pytest.fixture
def clinic(tmp_path):
    """The files of a small clinic."""
    tables = generate_clinic(150, seed=5)
    for name in ("patients", "stays"):
        write_table(tables[name], tmp_path / f"{name}.csv")
    return [tmp_path / f"{name}.csv" for name in ("patients", "stays")]


def role_field(page: Page, column: str, table: str) -> str:
    """Return the id of the list with the roles of a column."""
    labels = "[...document.querySelectorAll('label')].find(each => each.textContent === arguments[0])?.htmlFor"
    return page.wait(f"the role of {column}", lambda: page.script(f"return {labels}", f"Role of {column} in {table}"))


def test_files_dropped_together_become_a_verified_release(page, server, clinic):
    page.complaints()
    page.upload("\n".join(map(str, clinic)))
    page.wait_for("2 tables about the same people")
    page.drawn()
    assert page.value("people-table") == "patients"
    assert page.script("return [...document.querySelectorAll('nav a')].length") == len(STEPS)
    page.at("columns")
    page.choose(role_field(page, "length", "stays"), "insensitive")
    page.wait_for("k asked")
    page.at("privacy")
    page.wait_for("An attacker who knows the columns of a person")
    page.at("search")
    page.wait_for("not said yet")
    assert not page.find("search").is_enabled()
    page.at("privacy")
    page.choose("knows-0", "1")
    page.wait("the choice", lambda: not page.script("return !!document.querySelector('#knows-0 option[value=\"\"]')"))
    page.at("search")
    page.click("search")
    page.wait_for("Tables of the release")
    seen = page.script("const box = document.querySelector('#verdict').getBoundingClientRect(); return box.top")
    assert 0 <= seen < 900, "what is new is seen"
    page.at("release")
    page.wait("the archive", lambda: page.has("take-package"))
    for step in STEPS:
        page.at(step)
        for width in (1280, 390):
            page.looks(width=width)
            assert page.barriers() == [], f"{step} at {width} pixels"
            beside = page.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beside <= 0, f"{step} is wider than {width} pixels"
    assert page.complaints() == []
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in page.chrome.get_cookies())
    answer = server.ask("GET", "/download/package", cookie=cookie)
    assert answer.status == 200
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert sorted(archive.namelist()) == ["certificate.json", "patients.csv", "stays.csv"]
    assert b"[tables.patients]" in server.ask("GET", "/download/policy", cookie=cookie).body
    assert server.ask("GET", "/download/package", cookie=server.cookie).status == 404


def test_a_search_is_stopped_and_a_change_taken_back(page, clinic):
    page.upload("\n".join(map(str, clinic)))
    page.wait_for("2 tables about the same people")
    page.at("privacy")
    page.write("k", "many")
    assert "whole number" in page.error_at("k")
    page.at("search")
    page.wait_for("Nothing is searched, assessed or prepared until this is valid")
    page.click("undo")
    page.wait("k to be valid", lambda: "until this is valid" not in page.text)
    page.at("privacy")
    page.choose("knows-0", "2")
    time.sleep(0.5)
    page.click("undo")
    page.wait("no choice", lambda: page.value("knows-0") == "")
