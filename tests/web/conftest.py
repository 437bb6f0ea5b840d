"""One server and one browser for all tests of the page; whoever needs another server starts one."""

import pytest

from references.page_server import running_page


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server that all tests may use that leave it as it is."""
    root = tmp_path_factory.mktemp("page")
    with running_page(root / "folder", "--largest-upload", "0.001", temporary=root / "temporary") as running:
        yield running
