"""What holds for all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine drawing and trying examples may be slow: that says nothing about the code.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("steady", steady)
# A change is judged by the same examples everywhere; `make laws` looks for new ones.
settings.register_profile("fresh", steady, derandomize=False)
settings.load_profile(os.environ.get("INDISTINCT_EXAMPLES", "steady"))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server that is started once, with the first test that asks for it."""
    from references.postgres_server import NoServerError, running_server

    try:
        with running_server() as server:
            yield server
    except NoServerError as error:
        pytest.skip(str(error))


def pytest_collection_modifyitems(items):
    """Put tests of a cluster first, then those of a browser and of a server.

    Where tests are shared out (`--dist worksteal`), one process has the first half and others take from its end: so
    one Java, one browser and one server are started, by the same process, and not by each.
    """

    def place(item):
        group = item.get_closest_marker("xdist_group")
        if group is not None and group.args == ("spark",):
            return 0
        asks = getattr(item, "fixturenames", ())
        return 1 if "chrome" in asks else 2 if "postgres" in asks else 3

    items.sort(key=place)
