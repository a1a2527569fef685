"""Values of rows as exports write them: times, JSON in text, names and numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.validation import Validator
from fll_hbase.sources.warehouses import rows

TIME_MS = int(datetime(2026, 1, 31, 9, 30, 0, 250_000, tzinfo=UTC).timestamp() * 1000)


def row(**members: Any) -> rows.Row:
    return rows.Row(Validator(), members, "rows.0")


@pytest.mark.parametrize(
    "given",
    [
        "2026-01-31T09:30:00.250Z",
        "2026-01-31 09:30:00.250 UTC",
        "2026-01-31 09:30:00.250 +0000",
        "2026-01-31 04:30:00.250 -0500",
        "2026-01-31 10:30:00.250+01:00",
        "2026-01-31 09:30:00.250",
        TIME_MS,
        TIME_MS / 1000,
        TIME_MS * 1000,
        TIME_MS * 1_000_000,
        str(TIME_MS / 1000),
        f"{TIME_MS / 1000:.12E}",
        str(TIME_MS),
    ],
)
def test_a_time(given: object) -> None:
    part = row(end_time=given)
    assert part.first_time_ms("start_time", "end_time") == TIME_MS
    assert not part.validator.errors


@pytest.mark.parametrize(
    "given", [None, "", "yesterday", True, [], {}, -1, 1e300, float("1e21"), "9" * 400, "1900-01-01"]
)
def test_a_bad_time_is_one_error(given: object) -> None:
    part = row(t=given)
    assert part.first_time_ms("t") == 0
    assert [error.path for error in part.validator.errors] == ["rows.0.t"]


def test_eight_digits_are_a_date() -> None:
    midnight = datetime(2026, 1, 31, tzinfo=UTC)
    assert row(t="20260131").first_time_ms("t") == midnight.timestamp() * 1000


def test_json_may_be_text() -> None:
    part = row(a='[{"b": 1}]', b=[{"b": 1}], c="", d=None)
    items = [[item.value for item in part.nested_items(name)] for name in "abcde"]
    assert items == [[{"b": 1}], [{"b": 1}], [], [], []]
    assert not part.validator.errors


@pytest.mark.parametrize("given", ["{", "[1]", '{"a": 1}', 1, "\ud800"])
def test_other_json_is_an_error(given: object) -> None:
    part = row(a=given)
    assert part.nested_items("a") == []
    assert part.validator.errors.count == 1


def test_a_number_is_a_text_and_a_list_is_not() -> None:
    part = row(a=12, b=[1], c="")
    assert (part.first_text("c", "a"), part.first_text("c")) == ("12", "")
    assert part.required_text("c") == "?"
    part.first_text("b")
    assert [error.path for error in part.validator.errors] == ["rows.0.c", "rows.0.b"]


@pytest.mark.parametrize(
    ("path", "dataset"),
    [
        ("s3://lake/a/b", ("s3://lake", "a/b")),
        ("gcs://lake/a/b", ("gs://lake", "a/b")),
        ("s3://lake/a/", ("s3://lake", "a")),
        ("s3a://lake/a/day=1", ("s3://lake", "a")),
        ("abfss://c@h.net/a", ("abfss://c@h.net", "/a")),
        ("hdfs://nn:8020/a", ("hdfs://nn:8020", "/a")),
        ("dbfs:/mnt/a", ("dbfs", "/mnt/a")),
        ("azure://h.blob.core.windows.net/c/a/", ("wasbs://c@h.blob.core.windows.net", "a")),
        ("gs://lake", ("gs://lake", "/")),
        ("/Volumes/a", ("n", "/Volumes/a")),
        ("a\nb:/c", ("n", "a\nb:/c")),
        (f"s3://{'b' * 1_020}/c", ("n", f"s3://{'b' * 1_020}/c")),
    ],
)
def test_a_path(path: str, dataset: tuple[str, str]) -> None:
    assert rows.path_dataset(path, "n") == Dataset(*dataset)


def test_a_program_is_named_by_its_tables() -> None:
    tables = [Dataset("n", name) for name in ("a", "b", "c", "d", "e")]
    assert rows.program_name("INSERT", tables) == "INSERT a, b, c and 2 more"
    assert rows.program_name("SELECT", []) == "SELECT"
    assert len(rows.program_name("x", [Dataset("n", "é" * 4_000)]).encode()) <= 4096
