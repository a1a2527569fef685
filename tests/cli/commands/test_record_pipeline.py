"""A file with a pipeline config is one run, to a store and to a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from tests.support.commands import complaint, fll, printed
from tests.support.pipelines import SINK, chain, record, source
from tests.support.small_documents import START_MS, document

COUNTS = "{} recorded, {} replaced, {} repeated, {} refused\n"
NAMES = ("--namespace", "shop", "--application", "a", "--program", "p")
MASK = {"name": "mask", "fieldMutations": [{"mutation": "mask", "inputFields": ["x"], "outputField": "x"}]}
CONFIG: dict[str, Any] = chain(source("people", ["id", "x"]), MASK, {**SINK, "endPoint": "${to}"})["config"]


def pipeline(content: Any, *options: str) -> Result:
    raw = content if isinstance(content, bytes) else json.dumps(content, indent=1).encode()
    return fll("record", "--pipeline", "-", *NAMES, *options, stdin=raw)


def runs(end_point: str, *target: str) -> list[dict[str, Any]]:
    output = printed("runs", "shop", end_point, "--start", "0", "--end", "now+9999d", *target, "--json")
    return list(json.loads(output)["runs"])


@pytest.mark.parametrize("exported", [False, True])
def test_a_config_is_one_run(target: tuple[str, str], name: str, exported: bool) -> None:
    content = (
        {"name": "etl", "artifact": {"name": "cdap-data-pipeline"}, "config": CONFIG} if exported else CONFIG
    )
    options = ("--run", name, "--start", "1759999000", "--argument", f"to={name}")
    assert pipeline(content, *options, *target).stdout == COUNTS.format(1, 0, 0, 0)
    assert pipeline(content, *options, *target).stdout == COUNTS.format(0, 0, 1, 0)
    (run,) = runs(name, *target)
    assert (run["application"], run["type"], run["program"]) == ("a", "pipeline", "p")
    assert (run["run"], run["startTime"]) == (name, START_MS)
    assert "mask.mask" in printed("field", "shop", name, "x", "--start", "0", *target)


def test_what_is_not_known_is_reported(target: tuple[str, str], name: str) -> None:
    result = pipeline(CONFIG, "--run", name, *target)
    assert result.stdout.endswith(COUNTS.format(1, 0, 0, 0))
    assert "config.stages.2.endPoint: no argument is given for ${to}" in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "config: must be an object"),
        (b'{"stages": []}', "no source"),
        (b'{"config": 1}', "config: must be an object"),
    ],
)
def test_other_content_is_refused(target: tuple[str, str], name: str, content: bytes, message: str) -> None:
    result = pipeline(content, "--run", name, *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(0, 0, 0, 1))
    assert "line 1: refused: " in result.stderr
    assert message in result.stderr


def test_documents_of_every_form_in_one_file(target: tuple[str, str], name: str) -> None:
    run = document(name)["run"]
    documents = [
        document(f"{name} 1"),
        {
            "namespace": "shop",
            "run": {**run, "run": f"{name} 2"},
            "config": CONFIG,
            "arguments": {"to": name},
        },
        {
            "namespace": "shop",
            "run": {**run, "run": f"{name} 3"},
            "sql": "CREATE TABLE t AS SELECT s.a FROM s",
        },
        {**document(f"{name} 4"), "config": "an unknown member"},
    ]
    raw = b"".join(json.dumps(payload).encode() + b"\n" for payload in documents)
    assert fll("record", "-", *target, stdin=raw).stdout == COUNTS.format(4, 0, 0, 0)
    assert [run["run"] for run in runs(name, *target)] == [f"{name} 2"]


def test_a_config_is_detected_by_its_member() -> None:
    lines = [
        InputLine(1, b'{"run": {"run": "1"}, "config": {"stages": []}}'),
        InputLine(2, b'{"run": {"run": "2"}, "operations": [], "config": {}}'),
        InputLine(3, b'{"run": {"run": "3"}, "operations": [{"name": "config"}]}'),
    ]
    (batch,) = batch_documents(lines, namespace="shop", documents_max=9)
    assert [document.head.format.name for document in batch] == ["pipelines", "lineage", "lineage"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pipeline",), "--pipeline needs --namespace, --application, --program too"),
        (("--pipeline", "--sql"), "Give --sql or --pipeline, not both"),
        (("--pipeline", *NAMES, "--dialect", "hive"), "--dialect: only with --sql"),
        (("--sql", *NAMES, "--argument", "a=b"), "--argument: only with --pipeline"),
        (("--argument", "a=b"), "--argument: only with --sql or --pipeline"),
        (("--pipeline", *NAMES, "--argument", "a"), "--argument a: give KEY=VALUE"),
        (("--pipeline", *NAMES, "--argument", "=a"), "--argument =a: give KEY=VALUE"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], message: str) -> None:
    assert message in complaint("record", "/dev/null", *options, code=2)


@pytest.mark.slow
def test_a_schema_may_be_an_argument(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    file = {"name": "people", "plugin": {"type": "batchsource", "properties": {"schema": "${schema}"}}}
    config = chain(file, MASK, SINK)["config"]
    schema = json.dumps(record(["x", "y=z"]))
    assert pipeline(config, "--argument", f"schema={schema}", *store).stdout == COUNTS.format(1, 0, 0, 0)
    assert "y=z" in printed("find", "y=z", *store)
