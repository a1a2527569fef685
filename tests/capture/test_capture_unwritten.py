"""Writes that did not happen, and rows that the program brings, in a real session: as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.capture import golden_capture
from tests.support.capture.golden_dumps import record, recorded, resolve

pytestmark = pytest.mark.java

DUMP = "unwritten-4.3.ndjson"


def test_jobs_have_the_recorded_events(tmp_path: Path) -> None:
    target = tmp_path / "unwritten.ndjson"
    record("unwritten", target)
    captured, expected = (list(golden_capture.jobs(recorded(name))) for name in (target, DUMP))
    assert captured == expected


def test_a_sink_without_a_name_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert resolve(recorded(DUMP)["_python_sink"]) == []
    assert caplog.messages == ["capture: lineage is not recorded: rows go to PythonTable, which has no name"]


def test_columns_of_the_program_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert len(resolve(recorded(DUMP)["_returned"])) == 6
    (message,) = caplog.messages
    assert message.startswith(
        "capture: the lineage of columns of /data/mapped, and maybe of others, is unknown: the rows come from"
    )


def test_what_the_program_brings_first_is_generated(caplog: pytest.LogCaptureFixture) -> None:
    events = resolve(recorded(DUMP)["_brought"])
    fields = [event["outputs"][0]["facets"]["columnLineage"]["fields"] for event in events]
    assert fields == [{"foo": {"inputFields": []}, "bar": {"inputFields": []}}] * 3
    assert caplog.messages == []
