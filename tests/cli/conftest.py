"""Small tables for runs of the command line."""

import pytest

from references.command_line import patients, run, unknown_width  # noqa: F401 (fixtures)

ROLES = ["--identifier", "name", "--quasi", "age,sex,zipcode,admitted", "--sensitive", "disease,cost"]


@pytest.fixture
def roles() -> list[str]:
    return list(ROLES)
