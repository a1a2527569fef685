"""Fixtures: apps over empty stores of each engine, and one real server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table, open_table
from tests.support.api_client import record_new
from tests.support.api_process import fll_program, wait_until_ready
from tests.support.engines import ENGINES, Hbase
from tests.support.lineage_documents import copying, run
from tests.support.ports import free_port
from tests.support.raw_http import Server
from tests.support.waiting import PATIENCE_SECONDS

MakeClient = Callable[..., FlaskClient]
MakeTable = Callable[[], Table]
MakeUrl = Callable[[], str]

DOCUMENT_BYTES_MAX = 2**20
BATCH_BYTES_MAX = 4 * 2**20
"""Limits of the real server, small enough to go beyond."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave HBase to long runs where a module does not ask for it on each push.

    The contract tests of tests/tables hold the engines equal on each push; modules marked `hbase` test what
    the store writes, pages, searches and deletes. In all others the engine is far below what is tested.
    """
    for item in items:
        engine = item.callspec.params.get("engine") if hasattr(item, "callspec") else None
        if engine == "hbase" and item.get_closest_marker("hbase") is None:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine under the store of a test."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def fresh_url(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> MakeUrl:
    """Makes URLs of stores that were never used."""
    if engine == "hbase":
        hbase: Hbase = request.getfixturevalue("hbase")
        return hbase.fresh
    return lambda: f"sqlite:///{tmp_path_factory.mktemp('fresh')}/store.db"


@pytest.fixture
def make_table(engine: str, request: pytest.FixtureRequest) -> Iterator[MakeTable]:
    """Makes empty tables, for this test alone."""
    numbers = count()
    opened: list[Table] = []

    def make() -> Table:
        if engine == "hbase":
            url = request.getfixturevalue("hbase").emptied(next(numbers))
        else:
            url = "sqlite:///:memory:"
        opened.append(open_table(url, timeout_ms=int(1_000 * PATIENCE_SECONDS)))
        return opened[-1]

    yield make
    for table in opened:
        table.close()


@pytest.fixture
def make_client(make_table: MakeTable) -> MakeClient:
    """Makes clients of an app over an empty store each, with these settings and limits."""

    def make(store_settings: Settings | None = None, **settings: int) -> FlaskClient:
        app_settings = Settings(**settings)  # type: ignore[arg-type]
        # As `fll serve` does: the store has the settings of the app.
        store = LineageStore(make_table(), store_settings or app_settings)
        return create_app(store, app_settings).test_client()

    return make


@pytest.fixture
def client(make_client: MakeClient) -> FlaskClient:
    """A client of an app over an empty store, with all defaults."""
    return make_client()


@pytest.fixture
def thousands(client: FlaskClient) -> FlaskClient:
    """Runs that start at 1, 1.001, 2 and 3 seconds after 1970 began."""
    starts = (1_000, 1_001, 2_000, 3_000)
    record_new(client, *(copying("a", "b", "x", run=run(f"r{ms}", start_ms=ms)) for ms in starts))
    return client


@pytest.fixture(scope="session")
def server(fresh_url: MakeUrl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`fll serve` in a process of its own, over a store of its own."""
    directory = tmp_path_factory.mktemp("server")
    port = free_port()
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [fll_program(), "serve", "--store", fresh_url(), "--port", str(port)],
            env={
                **os.environ,
                "FLL_DOCUMENT_BYTES_MAX": str(DOCUMENT_BYTES_MAX),
                "FLL_BATCH_BYTES_MAX": str(BATCH_BYTES_MAX),
            },
            stdout=log,
            stderr=log,
        )
    served = Server(port, directory / "log")
    try:
        wait_until_ready(served, process)
        yield served
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
