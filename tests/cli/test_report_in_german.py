"""`report --language de`: the page, what is refused, and that documents stay English."""

import json

import pytest

from references.command_line import POLICY


@pytest.fixture
def folder(run, patients, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    assert run("anonymize", "policy.toml").code == 0
    return tmp_path


def test_the_external_edition_is_written_in_german(folder, run):
    flags = ["--policy", "policy.toml", "--edition", "external", "--seconds", "0.1"]
    ran = run("report", "release.csv", *flags, "--language", "de", "-o", "extern.html", "--json")
    assert ran.code in (0, 4), ran.err
    assert "no translation" not in ran.err
    page = (folder / "extern.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    assert "Bericht über die Veröffentlichung release.csv" in page
    assert "Quasi-Identifikator" in page
    assert json.loads(ran.out)["sections"][0] == "Verdict"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--language", "de"], "the internal edition of a report is in English alone"),
        (["--language", "fr", "--edition", "external"], "`language` must be one of en, de; got 'fr'"),
        (["--language", "de", "--edition", "external", "--for", "gdpr"], "forms are in English alone"),
    ],
)
def test_what_is_not_there_in_german_is_refused_before_any_work(folder, run, flags, words):
    ran = run("report", "release.csv", "--policy", "policy.toml", *flags, "-o", "page.html")
    assert ran.code == 2
    assert words in ran.err
    assert not (folder / "page.html").exists()
