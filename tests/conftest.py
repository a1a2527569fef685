"""Shared by all tests: hypothesis profiles, the same examples every time in CI, and one HBase."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.support import profiles
from tests.support.clusters import Cluster
from tests.support.commands import serving
from tests.support.engines import Hbase
from tests.support.leaks import Leaks, Tree
from tests.support.sampled_store import load_recent, load_sampled
from tests.support.url_rules import compile_once
from tests.support.waiting import patience

profiles.load()
compile_once()

TESTS = Path(__file__).parent

collect_ignore = ["spark35"]
"""Needs another Spark: `make tests-spark35` runs it, without this file."""

TEST_SECONDS_MAX = 3_600.0 if profiles.PROFILE == "long" else 1_200.0
"""Many times what the longest test takes."""

JAVA_FIXTURES = frozenset({"hbase", "spark"})
JAVA_FOLDERS = frozenset({"openapi_generator", "spark_agent"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that golden cases share."""
    parser.addoption("--update", action="store_true", help="rewrite the golden files; read the diff")


def pytest_configure(config: pytest.Config) -> None:
    """Let tests that leave something behind fail."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Leaks())
    if os.environ.get("CI") and not is_worker:
        config.pluginmanager.register(Tree())


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory that other users may read, which each pytest that starts forbids for those of all."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exempt the collected tests, most objects of this process, from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Let a test that waits for ever fail."""
    with patience(TEST_SECONDS_MAX):
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a JDK by its fixtures, parameters and folder, and leave out what this profile does."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if (
            JAVA_FIXTURES & set(getattr(item, "fixturenames", ()))
            or "hbase" in parameters
            or JAVA_FOLDERS & set(item.path.relative_to(TESTS).parts)
        ):
            item.add_marker(pytest.mark.java)
    selected, left_out = [], []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        (left_out if profiles.LEFT_OUT & marks else selected).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = selected


@pytest.fixture(scope="session")
def hbase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hbase]:
    """A real HBase: the one that FLL_TEST_HBASE names as `host:port`, else one of its own."""
    running = os.environ.get("FLL_TEST_HBASE")
    if running:
        yield Hbase(running)
        return
    with Cluster(tmp_path_factory.mktemp("hbase")) as cluster:
        (port,) = cluster.start().gateways
        yield Hbase(f"127.0.0.1:{port}")


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store with the sample, that no test writes to."""
    return load_sampled(tmp_path_factory.mktemp("sampled"))


@pytest.fixture(scope="session")
def recent(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store with the last runs of the sample, that no test writes to."""
    return load_recent(tmp_path_factory.mktemp("recent"))


@pytest.fixture(scope="session")
def server(sampled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server over that store."""
    with serving(sampled, tmp_path_factory.mktemp("server")) as url:
        yield url
