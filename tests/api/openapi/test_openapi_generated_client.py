"""A client that is generated from the OpenAPI document asks, pages and sees truncation at a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module  # noqa: TID251 (of modules that the test makes)
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from api.openapi.completion import OPERATION_IDS
from fll_hbase.runtime.config import Settings
from tests.support.lineage_documents import copying, run
from tests.support.threaded_server import serving_in_thread

pytestmark = pytest.mark.slow

PACKAGE = "generated_lineage_client"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server whose answers have at most two pairs."""
    with serving_in_thread(Settings(pairs_max=2)) as url:
        yield url


@pytest.fixture(scope="module")
def generated(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The modules of the client, by name of operation, with `client` and its `models`."""
    folder = tmp_path_factory.mktemp("client")
    generator = str(Path(sys.executable).with_name("openapi-python-client"))
    options = ["--url", f"{url}/openapi.json", "--meta", "none", "--output-path", str(folder / PACKAGE)]
    done = subprocess.run([generator, "generate", *options], capture_output=True, text=True, check=True)
    report = done.stdout + done.stderr
    # It knows no NDJSON, so that batches are left out; anything else would be a schema that it cannot read.
    assert re.findall(r"WARNING parsing (\S+ \S+)", report) == [
        "POST /v3/namespaces/{namespace}/lineage/batch"
    ]
    assert "Unable to process" not in report
    sys.path.insert(0, str(folder))
    modules = {
        path.stem: import_module(f"{PACKAGE}.api.{path.parent.name}.{path.stem}")
        for path in (folder / PACKAGE / "api").glob("*/*.py")
        if path.stem != "__init__"
    }
    client = import_module(f"{PACKAGE}.client").Client(base_url=url)
    yield SimpleNamespace(**modules, client=client, models=import_module(f"{PACKAGE}.models"))
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def recorded(generated: Any) -> Any:
    """The client, with three runs recorded by it."""
    for number in range(3):
        document = copying("orders", "s3://bucket/a b", "id", "price", "day", run=run(f"r{number}"))
        answer = generated.record_run.sync_detailed(
            "shop", client=generated.client, body=generated.models.LineageDocument.from_dict(document)
        )
        assert answer.status_code == 201
        assert answer.parsed.recorded is True
    return generated


WINDOW = {"start": "0", "end": "now"}


@pytest.mark.slow
def test_it_has_a_function_for_every_route(generated: Any) -> None:
    assert set(OPERATION_IDS.values()) - vars(generated).keys() == {"record_runs"}


def test_it_answers_a_question(recorded: Any) -> None:
    answer = recorded.get_field_lineage.sync_detailed(
        "shop", "s3://bucket/a b", "price", client=recorded.client, **WINDOW
    )
    assert answer.status_code == 200
    assert {node.label for node in answer.parsed.nodes} == {"price"}
    assert answer.parsed.truncated is False
    assert float(answer.headers["Window-Start"]) == 0


def test_it_pages_a_list(recorded: Any) -> None:
    runs, cursor = [], {}  # type: list[str], dict[str, Any]
    while True:
        page = recorded.list_runs.sync_detailed(
            "shop", "orders", client=recorded.client, **(WINDOW | {"limit": 2} | cursor)
        )
        runs += [item.run for item in page.parsed.runs]
        link = re.fullmatch(r'<([^>]*)>; rel="next"', page.headers.get("Link", ""))
        if link is None:
            break
        cursor = {name: values[0] for name, values in parse_qs(urlsplit(link[1]).query).items()}
        cursor["limit"] = int(cursor["limit"])
    assert sorted(runs) == ["r0", "r1", "r2"]


def test_it_sees_that_an_answer_is_truncated(recorded: Any) -> None:
    answer = recorded.get_dataset_lineage.sync_detailed("shop", "orders", client=recorded.client, **WINDOW)
    assert [len(entry.fieldmap) for entry in answer.parsed] == [2]
    assert (answer.headers["Truncated"], answer.headers["Truncated-By"]) == ("true", "pairs_max=2")


def test_it_sees_a_problem(recorded: Any) -> None:
    answer = recorded.get_dataset_lineage.sync_detailed("shop", "never", client=recorded.client)
    assert (answer.status_code, answer.parsed.status) == (404, 404)
    assert "never" in answer.parsed.detail


def test_it_asks_a_batch(recorded: Any) -> None:
    question = recorded.models.Question(path="/v3/namespaces/shop/endpoints/orders/runs/counts?buckets=1")
    answer = recorded.ask_questions.sync(
        client=recorded.client, body=recorded.models.Questions(questions=[question])
    )
    assert [item.status for item in answer.answers] == [200]
    assert answer.answers[0].body["buckets"]
