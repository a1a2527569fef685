"""Recorded dumps of jobs with many kinds of sources and targets, and the events that they must give.

    python -m tests.capture.test_resolver_jobs

writes the expectations again; read the difference.
"""

from __future__ import annotations

import json

import pytest

from .golden_dumps import FOLDER, Json, recorded, resolve, resolver, short

VERSIONS = ("3.5", "4.3")


def events_of(version: str) -> dict[str, list[Json]]:
    """The events of each job in short. One resolver has all lines: later jobs refer to earlier ones."""
    resolving = resolver()
    return {
        job: [short(event) for event in resolve(lines, by=resolving)]
        for job, lines in recorded(f"jobs-{version}.ndjson").items()
    }


def expected(version: str) -> dict[str, list[Json]]:
    events: dict[str, list[Json]] = json.loads((FOLDER / f"jobs-{version}.json").read_text(encoding="utf-8"))
    return events


@pytest.mark.parametrize("version", VERSIONS)
def test_events_are_as_expected(version: str) -> None:
    assert events_of(version) == expected(version)


def test_releases_of_spark_agree() -> None:
    """But for the text of RAISE_ERROR, and Delta, which 3.5 alone has here."""
    old, new = (expected(version) for version in VERSIONS)
    assert {job for job in new if old[job] != new[job]} == {"_failing"}


@pytest.mark.parametrize("version", VERSIONS)
def test_neither_credentials_nor_constants_are_written(version: str) -> None:
    """The jobs have a password in a URL and in options, and constants in queries, views and failures."""
    text = (FOLDER / f"jobs-{version}.ndjson").read_text(encoding="utf-8")
    assert "STOCK" in text
    for secret in ("sesame", "joe", "4711", "secret"):
        assert secret not in text


def test_the_same_write_has_the_same_run_id() -> None:
    lines = [line for job in recorded("jobs-4.3.ndjson").values() for line in job]
    first, second = (resolve(lines) for _ in range(2))
    assert first == second
    ids = [event["run"]["runId"] for event in first]
    assert len(set(ids)) == len(ids)


def test_executions_without_the_end_of_their_root_are_resolved_at_the_end() -> None:
    lines = recorded("jobs-4.3.ndjson")["_create_as_select"]
    resolving = resolver()
    assert resolve(lines[:1], by=resolving) == []
    (event,) = resolving.finish()
    assert short(event)["output"] == "file /data/warehouse/t2"
    assert resolving.finish() == []


if __name__ == "__main__":
    for release in VERSIONS:
        text = json.dumps(events_of(release), indent=1, ensure_ascii=False)
        (FOLDER / f"jobs-{release}.json").write_text(f"{text}\n", encoding="utf-8")
