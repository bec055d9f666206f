"""Fixtures of the storage tests."""

from collections.abc import Iterator

import pytest

from tests.servers import S3Server, s3_server_process


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with s3_server_process() as server:
        yield server
