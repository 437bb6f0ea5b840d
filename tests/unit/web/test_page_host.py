"""Where the server listens: the loopback address, or another one in a container."""

import pytest

from indistinct.errors import ParameterError
from indistinct.web.server import LOOPBACK, _listen, check_host


def test_the_server_listens_where_it_is_told():
    for host in (LOOPBACK, "0.0.0.0"):  # noqa: S104 (in a container)
        with _listen(host, 0) as listening:
            assert listening.getsockname()[0] == host


@pytest.mark.parametrize("host", ["", "localhost", "::", "example.org", "127.0.0.1:80"])
def test_a_host_is_an_address_of_ipv4(host):
    with pytest.raises(ParameterError, match="IPv4"):
        check_host(host)
