"""A project of ARX on the page: its job, its table, and what could not be taken over."""

import pytest

from indistinct.errors import InputError
from indistinct.models import DistinctLDiversity, KAnonymity
from indistinct.tables.addresses import fence_reading
from indistinct.web.tasks.looking import look_at_project
from indistinct.web.worker import Desk
from references.arx_projects import clinic_project


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "uploads"
    made.mkdir()
    return made


def test_a_project_becomes_a_job_whose_files_are_in_its_own_folder(tmp_path, folder):
    project = clinic_project(tmp_path / "clinic.deid")
    with fence_reading(tmp_path):
        looked, lost = look_at_project(Desk(), project, folder / "clinic.toml", most=1 << 30)
    assert looked.policy.models == (KAnonymity(k=5), DistinctLDiversity("disease", l=2))
    assert looked.policy.source == folder / "clinic-data.csv"
    assert looked.policy.hierarchies["zip"].to_json()["rows"][0] == ["04100", "041**", "*"]
    assert looked.inspection["rows"] == 60
    assert [each.partition(",")[0] for each in lost] == ["the utility measure"]


def test_a_project_that_inflates_without_end_is_refused_without_its_path(tmp_path, folder):
    project = clinic_project(tmp_path / "clinic.deid", entries={"data/output.dat": b"0" * (4 << 20)})
    with pytest.raises(InputError, match="decompresses to more than") as caught:
        look_at_project(Desk(), project, folder / "clinic.toml", most=2 << 20)
    assert str(tmp_path) not in str(caught.value)
    assert list(folder.iterdir()) == []
