"""After runs were recorded, the next questions are printed; they have answers as they are."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.commands import END_MS, Result, fll, printed
from tests.support.small_documents import document

DAY_MS = 86_400_000


def record(*documents: object, to: tuple[str, ...]) -> Result:
    raw = b"".join(json.dumps(item).encode() + b"\n" for item in documents)
    return fll("record", "-", *to, stdin=raw)


def questions(result: Result) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in result.stderr.splitlines() if line.startswith("  fll ")]


@pytest.mark.parametrize("age_days", [0, 1, 29, 400])
def test_the_questions_have_answers(target: tuple[str, str], name: str, age_days: int) -> None:
    payload = document(name, namespace=name)
    payload["run"]["startTime"] = END_MS - age_days * DAY_MS
    result = record(payload, to=target)
    assert result.stderr.splitlines()[0] == f"Run {name}. Ask next:"
    run, lineage = questions(result)
    assert run == ["run", name, *target]
    assert lineage[:2] == ["lineage", f"{name}/invoices"]
    if target[0] == "--store":
        window = ["--window", "2024-09-04"] if age_days == 400 else []
        assert lineage[2:] == [*window, *target]
        assert name in printed(*run)
        # A run that starts now is in windows that end later.
        shown = printed(*lineage) if age_days else printed(*lineage, "--end", "now+1s")
        assert f"{name}/orders" in shown


def test_the_number_of_ids_is_bounded(target: tuple[str, str], name: str) -> None:
    result = record(*(document(f"{name} {number}") for number in range(7)), to=target)
    first = result.stderr.splitlines()[0]
    assert first == f"Runs {name} 0, {name} 1, {name} 2 and 4 more. Ask next:"


def test_without_runs_there_is_no_question(target: tuple[str, str]) -> None:
    assert record(to=target).stderr == ""
    assert questions(record({"namespace": "shop"}, to=target)) == []


def test_a_run_beyond_the_year_9999_has_no_window_to_ask_about(target: tuple[str, str], name: str) -> None:
    payload = document(name, namespace=name)
    payload["run"]["startTime"] = END_MS * 1_000
    result = record(payload, to=target)
    assert result.stdout != ""
    assert questions(result) == [["run", name, *target]]
