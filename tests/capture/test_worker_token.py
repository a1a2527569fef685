"""Plans wait where a server does not take the token, with one warning; with a valid one they are recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from fll_hbase.capture.plan_delivery import send_left
from fll_hbase.capture.plan_spool import PlanSpool, open_plan_spool
from fll_hbase.capture.worker import CaptureWorker
from fll_hbase.client.remote.http_session import HttpSession
from tests.support.capture import recorded_plans
from tests.support.capture.process_listener import ProcessListener, lines
from tests.support.token_server import TokenServer
from tests.support.waiting import eventually

COUNT = 20
SECONDS = 120.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tokens") / "store.db", workers=1) as server:
        yield server


@pytest.fixture
def spool(tmp_path: Path) -> PlanSpool:
    return open_plan_spool(tmp_path / "spool")


@pytest.mark.slow
def test_a_refused_token_costs_one_warning_and_no_plan(
    server: TokenServer, spool: PlanSpool, caplog: pytest.LogCaptureFixture
) -> None:
    plan_file = spool.create(server.url, "shop", literals=False, bytes_max=10**8)
    process = recorded_plans.append(plan_file.path, lines("secured", COUNT))
    wrong = f"{server.token[:-1]}{'0' if server.token[-1] != '0' else '1'}"
    client = HttpSession(server.url, timeout_seconds=0.0, token=wrong)
    worker = CaptureWorker(spool, plan_file, ProcessListener(process), client)
    assert not worker.flush(3.0)
    assert not worker.close(1.0)
    eventually(lambda: worker.is_done, "the worker ends")
    (warning,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "token" in warning.getMessage()
    assert wrong not in caplog.text

    valid = HttpSession(server.url, timeout_seconds=SECONDS, token=server.token)
    (*_, delivery) = send_left(spool, valid, destination=server.url)
    assert delivery.sent == COUNT
    headers = {"Authorization": f"Bearer {server.token}"}
    target = f"{server.url}/v3/namespaces/shop/runs?start=0&end=2100-01-01&limit=1000"
    listed = requests.get(target, headers=headers, timeout=120).json()["runs"]
    assert len([run for run in listed if run["application"] == "secured"]) == COUNT
    assert [path.name for path in spool.path.iterdir()] == ["fll-capture"]
