"""A scripted API server, and a connection to it."""

from collections.abc import Iterator

import pytest
from scripted_api import ApiServer, connection_to, scripted_api

from gesscale.kubernetes.api.connection import Connection


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with scripted_api() as api:
        yield api


@pytest.fixture
def connection(server: ApiServer) -> Iterator[Connection]:
    opened = connection_to(server.url)
    yield opened
    opened.close()
