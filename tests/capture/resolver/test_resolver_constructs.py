"""Constructs that are easily resolved wrongly, by their recorded dumps."""

from __future__ import annotations

import json

import pytest

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.capture.api_answers import answered_edges, captured_edges, captured_kinds, indirect_kinds
from tests.support.capture.golden_dumps import FOLDER, recorded, resolve
from tests.support.capture.more_cases import CASES, captured, expected

VERSIONS = ("3.5", "4.3")

DUMPS = [
    pytest.param(case, lines, id=f"{version}-{case}")
    for version in VERSIONS
    for case, lines in recorded(f"more-cases-{version}.ndjson").items()
    if case in CASES
]


@pytest.mark.parametrize(("case", "lines"), DUMPS)
def test_a_case_is_exact(case: str, lines: list[bytes]) -> None:
    (event,) = resolve(lines)
    assert captured(event) == expected(CASES[case])


def test_dumps_of_earlier_releases_number_no_keys() -> None:
    """Any key may then have any value; which are keys and which are values is known."""
    (line,) = recorded("more-cases-4.3.ndjson")["map_of_constant_keys"]
    members = json.loads(line)
    for row in members["plan"]["expressions"]:
        if row[0] in ("CreateMap", "ElementAt", "GetMapValue"):
            del row[4:]
    (event,) = resolve([json.dumps(members).encode()])
    both = ["ev.ev_id TRANSFORMATION", "ev.payload.score TRANSFORMATION"]
    fields = captured(event)["fields"]
    assert {name: fields[name] for name in "abtvko"} == dict.fromkeys("abtvo", both) | {"k": []}


@pytest.mark.slow
def test_the_api_answers_with_exactly_these_inputs() -> None:
    """Each case is recorded and asked back: pairs of fields, and the kinds of influences."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    for case, lines in recorded("more-cases-4.3.ndjson").items():
        for event in resolve(lines):
            answer = client.post("/api/v1/lineage", json=event)
            assert answer.status_code == 201, answer.text
            (output,) = event["outputs"]
            assert answered_edges(client, output) == captured_edges(output), case
            assert indirect_kinds(client, event["run"]["runId"]) == captured_kinds(output), case
    store.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_case_is_recorded(version: str) -> None:
    names = {name for name, case in CASES.items() if case.get("min_spark", "") <= version}
    assert set(recorded(f"more-cases-{version}.ndjson")) == names | {"application"}


@pytest.mark.parametrize("version", VERSIONS)
def test_dumps_have_no_directories_of_a_machine(version: str) -> None:
    assert "/tmp/" not in (FOLDER / f"more-cases-{version}.ndjson").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", VERSIONS)
def test_dumps_have_no_constants(version: str) -> None:
    """Spark puts them into the names of columns without one."""
    text = (FOLDER / f"more-cases-{version}.ndjson").read_text(encoding="utf-8")
    assert "constants_in_names" in text
    assert [constant for constant in ("s3same", "4711") if constant in text] == []
