"""Clients send the token of FLL_TOKEN: our own, the recorder, and that of OpenLineage."""

from __future__ import annotations

import os
import subprocess
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from openlineage.client import OpenLineageClient
from openlineage.client import event_v2 as ol

from fll_hbase.client.opening import connect, open_client
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.problems import Refused
from fll_hbase.queries.catalogue import NamespacesAnswer
from fll_hbase.recorder import Destination, Field, FieldOperation, LineageRecorder, Run, Source
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from tests.support.commands import FLL, fll
from tests.support.scripted_server import Reply, serving
from tests.support.token_server import TokenServer

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tokens") / "store.db", workers=1) as server:
        yield server


OPERATIONS = [
    FieldOperation("read", "", [Source("ns1", "a")], ["x"]),
    FieldOperation("copy", "", [Field("x")], ["y"]),
]


class TestOurs:
    def test_the_command_line(self, server: TokenServer, monkeypatch: pytest.MonkeyPatch) -> None:
        command = ("ls", "--server", server.url)
        without = fll(*command)
        assert without.exit_code == 1
        assert "FLL_TOKEN" in without.stderr
        monkeypatch.setenv("FLL_TOKEN", server.token + "\n")
        assert fll(*command).exit_code == 0

    @pytest.mark.slow
    def test_the_command_line_shows_it_nowhere(self, server: TokenServer) -> None:
        wrong = server.token[:-1] + "\n" + server.token
        for token in (wrong, server.token[:-1], "é" + server.token):
            done = subprocess.run(
                [FLL, "ls", "--server", server.url],
                env={**os.environ, "FLL_TOKEN": token},
                capture_output=True,
                text=True,
                check=False,
            )
            assert len(done.stderr.splitlines()) == 1
            assert "token" in done.stderr
            assert server.token.split("_")[2] not in done.stdout + done.stderr

    def test_connect_and_the_recorder(self, server: TokenServer, monkeypatch: pytest.MonkeyPatch) -> None:
        with connect(server.url) as client, pytest.raises(LineageError, match="FLL_TOKEN"):
            client.namespaces()
        monkeypatch.setenv("FLL_TOKEN", server.token)
        recorder = LineageRecorder(server.url, namespace="ns1")
        recorder.record(Destination("ns1", "b"), OPERATIONS, run=Run(application="a", program="p"))
        with connect(server.url) as client, open_client(server.url) as other:
            assert (
                client.namespaces().body == other.namespaces().body == NamespacesAnswer(namespaces=("ns1",))
            )

    def test_it_goes_before_the_user_of_the_url_and_netrc(
        self, server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        for url in (server.url, server.url.replace("//", "//user:password@")):
            session = HttpSession(url, token=server.token)
            assert session.request("GET", "v3", "namespaces").status_code == 200

    def test_it_is_not_sent_elsewhere(self, server: TokenServer) -> None:
        with serving(Reply()) as other, serving(Reply(302, b"", {"Location": other.url})) as first:
            with pytest.raises(Refused):
                HttpSession(first.url, token=server.token).request("GET", "v3")
            assert other.requests == []

    @pytest.mark.parametrize("token", ["a b", "a\nb", "a\r\nX-Other: 1", "é", "\x00", "a,b"])
    def test_what_no_header_can_have(self, token: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            HttpSession("http://127.0.0.1:1", token=token)
        assert token not in "".join(traceback.format_exception(caught.value)).split("Error: ")[-1]


class TestOthers:
    def test_openlineage(self, server: TokenServer) -> None:
        for kind in ("http", "async_http"):
            name = f"job-{uuid4().hex}"
            auth = {"type": "api_key", "apiKey": server.token}
            client = OpenLineageClient(config={"transport": {"type": kind, "url": server.url, "auth": auth}})
            client.emit(
                ol.RunEvent(
                    eventTime=datetime.now(UTC).isoformat(),
                    producer="https://example.com/agent",
                    run=ol.Run(str(uuid4())),
                    job=ol.Job("shop", name),
                    eventType=ol.RunState.COMPLETE,
                    inputs=[ol.InputDataset("shop", "orders")],
                    outputs=[ol.OutputDataset("shop", name)],
                )
            )
            assert client.close(timeout=120)
            answer = requests.get(
                f"{server.url}/v3/namespaces/shop/endpoints/{name}",
                headers={"Authorization": f"Bearer {server.token}"},
                timeout=120,
            )
            assert answer.status_code == 200, answer.text

    def test_openlineage_without_one(self, server: TokenServer) -> None:
        client = OpenLineageClient(config={"transport": {"type": "http", "url": server.url}})
        with pytest.raises(requests.HTTPError, match="401"):
            client.emit(
                ol.RunEvent(
                    eventTime=datetime.now(UTC).isoformat(),
                    producer="https://example.com/agent",
                    run=ol.Run(str(uuid4())),
                    job=ol.Job("shop", "job"),
                )
            )
