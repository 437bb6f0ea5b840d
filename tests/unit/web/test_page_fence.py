"""Whatever a steward or a policy names, the page reads in its own folders only."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import InputError, ParameterError, PolicyError
from indistinct.tables.addresses import fence_reading, read_ordinary
from indistinct.web.files import UPLOADED, uploaded_path
from indistinct.web.sessions import Session, Settings
from indistinct.web.steps.columns import ids_of
from indistinct.web.tasks.looking import Allowed, look_by_policy
from indistinct.web.worker import Desk, TaskError


@pytest.fixture
def places(tmp_path):
    """A folder that may be read, with a link that leads out of it, and a file outside."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside, outside):
        each.mkdir()
        (each / "queries.txt").write_text("age >= 30\n")
    (inside / "link.txt").symlink_to(outside / "queries.txt")
    (inside / "people.csv").write_text("age,sex\n30,f\n31,m\n")
    return SimpleNamespace(inside=inside, outside=outside)


def test_files_outside_are_not_read_and_links_are_followed(places):
    with fence_reading(places.inside):
        assert read_ordinary(places.inside / "queries.txt")
        for path in (
            places.outside / "queries.txt",
            places.inside / "link.txt",
            places.inside / "../outside/queries.txt",
        ):
            with pytest.raises(PermissionError, match="outside the folders"):
                read_ordinary(places.inside / path)
    assert read_ordinary(places.outside / "queries.txt")


@pytest.mark.parametrize(
    "spelled",
    [
        'mondrian:workload="{}"',
        'refine:start="mondrian:workload={}"',
        'cell-suppression:start="mondrian:workload={}"',
        'slicing:generalizer="mondrian:workload={}"',
        'optimal:metric="workload-error:workload={}"',
    ],
)
def test_algorithms_read_no_file_outside_however_they_are_nested(places, spelled):
    refused = "outside the folders|no full-domain algorithm|must be one of"
    with fence_reading(places.inside), pytest.raises((InputError, ParameterError), match=refused):
        parse_algorithm(spelled.format(places.outside / "queries.txt"))


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("population = '{}'\n", "population"),
        ("[output]\npath = 'open.csv'\nledger = '{}'\n", "ledger"),
        ("[output]\npath = 'open.csv'\nreport = '{}'\n", "report"),
        (
            "[columns]\nage = {{role = 'quasi', hierarchy = {{file = '{}'}}}}\n",
            "hierarchy",
        ),
        (
            "[columns]\nage = {{role = 'person', pseudonym = {{key = '{}'}}}}\n",
            "pseudonym",
        ),
    ],
)
@pytest.mark.parametrize("file", ["{outside}/queries.txt", "{inside}/link.txt", "../outside/queries.txt"])
def test_a_policy_names_no_file_outside(places, section, told, file):
    named = file.format(inside=places.inside, outside=places.outside)
    (places.inside / "policy.toml").write_text("[input]\npath = 'people.csv'\n" + section.format(named))
    allowed = Allowed(places.inside, places.inside / "uploaded")
    with pytest.raises(PolicyError, match=rf"{told}.* leads out of the folder"):
        look_by_policy(Desk(), places.inside / "policy.toml", allowed)


def test_a_process_of_the_page_has_the_fence(places, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    session = Session(private, Settings(places.inside, 1000))
    try:
        with pytest.raises(TaskError, match="cannot be read"):
            asyncio.run(session.ask(_read_workload, places.outside / "queries.txt"))
    finally:
        session.close()


def _read_workload(_desk, path):
    from indistinct.metrics.queries.workload import Workload

    return len(Workload.read(path).queries)


@pytest.mark.parametrize("name", ["../../../secret.txt", "/etc/passwd", "..\\..\\secret.txt", ".."])
def test_an_upload_that_a_browser_tells_of_is_one(tmp_path, name):
    session = SimpleNamespace(folder=tmp_path)
    found = uploaded_path(session, "external", {"name": name})
    assert found.parent == tmp_path / UPLOADED / "external"
    assert found.name not in ("", ".", "..")


@pytest.mark.parametrize("told", [{}, {"name": 7}, {"name": None, "message": ["x"]}])
def test_an_upload_without_a_name_is_refused(told):
    with pytest.raises(TaskError, match="the upload was refused"):
        uploaded_path(SimpleNamespace(folder=Path()), "table", told)


def test_ids_of_columns_differ_whatever_their_names_are():
    names = [
        "a",
        "x",
        "a-3",
        "a ",
        "a  ",
        "",
        "<img src=x onerror=alert(1)>",
        "}}",
        "{{",
        "\u202eevil",
        "a-4",
        "n" * 500,
    ]
    found = ids_of(names)
    assert len(set(found.values())) == len(names)
    assert all(each.replace("-", "").replace("_", "").isalnum() and each.isascii() for each in found.values())
