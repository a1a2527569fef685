"""DataHub's own clients send a token, and report a wrong one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from tests.support.datahub_client import ConfigurationError, DataHubClient, DatahubRestEmitter, Dataset
from tests.support.token_server import TokenServer

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::datahub.errors.IngestionAttributionWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tokens") / "store.db", workers=1) as server:
        yield server


@pytest.mark.slow
def test_the_token_is_sent(server: TokenServer) -> None:
    with DatahubRestEmitter(server.url, token=server.token, retry_max_times=1) as emitter:
        emitter.test_connection()
    client = DataHubClient(server=server.url, token=server.token)
    client.entities.upsert(
        Dataset(platform="postgres", name="shop.orders", schema=[("price", "numeric")], description="Orders")
    )
    answer = requests.get(
        f"{server.url}/v3/search?q=orders",
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=120,
    )
    assert answer.json()["results"]


def test_a_wrong_token_is_an_error(server: TokenServer) -> None:
    with (
        pytest.raises(ConfigurationError, match=r"401|Unauthorized|token"),
        DatahubRestEmitter(server.url, token="wrong", retry_max_times=1) as emitter,
    ):
        emitter.test_connection()
