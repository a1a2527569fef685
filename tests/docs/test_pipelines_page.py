"""docs/record/pipelines.md shows the recorded operations, and code that records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.cli import main
from fll_hbase.model import topology
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import Operation, Read, Transform, dataset_of, inputs_of, outputs_of
from fll_hbase.queries import acknowledgements
from fll_hbase.recorder import LineageRecorder, Recorded, Run
from fll_hbase.sources import cdap

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "record" / "pipelines.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def operation_lines(document: Any) -> Iterator[str]:
    """Yield the operations and warnings of a document in the notation of the page."""
    reading = cdap.read_document(document, namespace="etl")
    yield from map(_operation, topology.sort_operations(reading.operations.info.operations))
    yield from (f"warning {warning}" for warning in reading.warnings)


def _operation(operation: Operation) -> str:
    inputs = ", ".join(f"{inputs.origin}.{inputs.name}" for inputs in inputs_of(operation))
    outputs = ", ".join(map(_field, outputs_of(operation)))
    dataset = f" of {dataset_of(operation)}" if dataset_of(operation) else ""
    match operation:
        case Read():
            line = outputs
        case Transform():
            line = f"{inputs} -> {outputs}"
        case _:
            line = inputs
    return f"{type(operation).__name__.upper()} {operation.name}{dataset}: {line}".rstrip()


def _field(field: Field) -> str:
    return f"{field.name} {field.type}".rstrip()


@pytest.mark.parametrize(("document", "expected"), EXAMPLES)
def test_what_is_recorded_is_as_shown(document: str, expected: str) -> None:
    assert sorted(operation_lines(json.loads(document))) == sorted(expected.splitlines())


def test_each_scenario_is_shown() -> None:
    assert len(EXAMPLES) == 3
    unknown = cdap.read_document(json.loads(EXAMPLES[2][0]), namespace="etl").operations.info
    (entry,) = acknowledgements.dry_run(unknown)["lineage"]
    assert (list(entry["fieldmap"]), entry["unknown"]) == ([], True)


def test_the_python_shown_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "etl.json").write_text(
        re.search(r"etl.json <<'END'\n(.*?)^END$", PAGE, re.DOTALL | re.MULTILINE)[1]
    )
    shown: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:8080", f"sqlite:///{tmp_path}/lineage.db"), shown)
    with LineageRecorder(f"sqlite:///{tmp_path}/lineage.db", namespace="etl") as recorder:
        run = Run(application="etl", program="again")
        outcome = recorder.record_pipeline(
            shown["config"], [shown["context"]], run=run, arguments={"day": "monday"}
        )
    assert isinstance(outcome, Recorded)
    assert outcome.recorded


def test_the_command_shown_is_one() -> None:
    (command,) = re.findall(r"^\$ fll (record --pipeline .*)$", PAGE, re.MULTILINE)
    options = {option for parameter in main.all_commands()["record"].params for option in parameter.opts}
    assert set(re.findall(r"--\w+", command)) <= options
