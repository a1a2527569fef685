"""A client that openapi-generator makes from the OpenAPI document asks, pages and sees truncation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module  # noqa: TID251 (of a module that the test makes)
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.runtime.config import Settings
from tests.support.threaded_server import serving_in_thread

JARS = Path(__file__).parent / "target" / "jars"
PACKAGE = "openapi_generator_client"
WINDOW = {"start": "0", "end": "now"}
DATASET = "s3://bucket/a b"


class Client:
    """The functions of all groups of routes, by operation id; each returns status, headers and data."""

    def __init__(self, package: Any, url: str) -> None:
        self.package = package
        client = package.ApiClient(package.Configuration(host=url))
        groups = [getattr(package, name)(client) for name in dir(package) if name.endswith("Api")]
        self._functions = {
            name: getattr(group, name)
            for group in groups
            for name in dir(group)
            if name.endswith("_with_http_info")
        }

    def ask(self, operation: str, *arguments: Any, **query: Any) -> Any:
        return self._functions[f"{operation}_with_http_info"](*arguments, **query)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server whose answers have at most two pairs."""
    with serving_in_thread(Settings(pairs_max=2)) as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The client, with three runs recorded by it."""
    folder = tmp_path_factory.mktemp("client")
    (jar,) = JARS.glob("openapi-generator-cli-*.jar")
    command = ["java", "-jar", str(jar), "generate", "-g", "python", "--package-name", PACKAGE]
    subprocess.run(
        [*command, "-i", f"{url}/openapi.json", "-o", str(folder)], capture_output=True, check=True
    )
    sys.path.insert(0, str(folder))
    client = Client(import_module(PACKAGE), url)
    for number in range(3):
        body = client.package.RecordRunRequest.from_dict(_document(f"r{number}"))
        assert client.ask("record_run", "shop", body).status_code == 201
    yield client
    sys.path.remove(str(folder))


def test_it_answers_a_question(client: Client) -> None:
    answer = client.ask("get_field_lineage", "shop", DATASET, "price", **WINDOW)
    assert {node.label for node in answer.data.nodes} == {"price"}
    assert answer.data.truncated is False
    assert float(answer.headers["Window-Start"]) == 0


def test_it_pages_a_list(client: Client) -> None:
    first = client.ask("list_runs", "shop", DATASET, limit=2, **WINDOW)
    cursor = first.headers["Link"].partition("cursor=")[2].partition(">")[0]
    second = client.ask("list_runs", "shop", DATASET, limit=2, cursor=cursor, **WINDOW)
    assert sorted(run.run for page in (first, second) for run in page.data.runs) == ["r0", "r1", "r2"]


def test_it_sees_that_an_answer_is_truncated(client: Client) -> None:
    answer = client.ask("get_dataset_lineage", "shop", DATASET, **WINDOW)
    assert [len(entry.fieldmap) for entry in answer.data] == [2]
    assert (answer.headers["Truncated"], answer.headers["Truncated-By"]) == ("true", "pairs_max=2")


def test_it_sees_a_problem(client: Client) -> None:
    with pytest.raises(client.package.exceptions.NotFoundException, match="never") as raised:
        client.ask("get_dataset_lineage", "shop", "never")
    assert raised.value.data.status == 404


def _document(run: str) -> dict[str, Any]:
    fields = ["id", "price", "day"]
    return {
        "run": {
            "application": "app",
            "type": "spark",
            "program": "copy",
            "run": run,
            "startTime": 1_700_000_000_000,
        },
        "operations": [
            {"type": "READ", "name": "read", "source": {"name": "orders"}, "outputs": fields},
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"name": DATASET},
                "inputs": [{"origin": "read", "name": name} for name in fields],
            },
        ],
    }
