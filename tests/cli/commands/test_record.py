"""Files of every form are recorded, refusals reported with their lines, outcomes counted."""

from __future__ import annotations

import gzip
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fll_hbase.cli.commands.record import BATCH_DOCUMENTS, WARNINGS_MAX
from tests.support import scripted_server
from tests.support.commands import complaint, complaints, fll, printed
from tests.support.scripted_server import Reply
from tests.support.small_documents import document

COUNTS = "{} recorded, {} replaced, {} repeated, {} refused\n"


def ndjson(*documents: Any) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in documents)


def record(raw: bytes, *options: str) -> Result:
    return fll("record", "-", *options, stdin=raw)


def runs(*target: str) -> list[str]:
    """The runs that wrote invoices, as listed by whoever took them."""
    body = json.loads(fll("runs", "shop", "invoices", "--start", "0", *target, "--json").stdout)
    return [run["run"] for run in body["runs"]]


@pytest.mark.slow
def test_new_replaced_repeated_and_refused_are_counted(target: tuple[str, str], name: str) -> None:
    first = [document(f"{name} {number}") for number in range(3)]
    result = record(ndjson(*first), *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(3, 0, 0, 0))
    other = {**first[0], "run": {**first[0]["run"], "state": "FAIL"}}
    result = record(ndjson(other, first[1], document(f"{name} 3"), {"namespace": "shop"}), *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(1, 1, 1, 1))
    assert {f"{name} {number}" for number in range(4)} <= set(runs(*target))


@pytest.mark.parametrize("form", ["lines", "no newline at the end", "blank lines", "crlf", "one", "pretty"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_a_file(target: tuple[str, str], name: str, form: str, packed: bool) -> None:
    documents = [document(f"{name} {number}") for number in range(1 if form in ("one", "pretty") else 5)]
    raw = {
        "lines": ndjson(*documents),
        "no newline at the end": ndjson(*documents).rstrip(b"\n"),
        "blank lines": b"\n  \n" + ndjson(*documents).replace(b"\n", b"\n\n \n"),
        "crlf": ndjson(*documents).replace(b"\n", b"\r\n"),
        "one": json.dumps(documents[0]).encode(),
        "pretty": json.dumps(documents[0], indent=2).encode(),
    }[form]
    result = record(gzip.compress(raw) if packed else raw, *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(len(documents), 0, 0, 0))
    assert {payload["run"]["run"] for payload in documents} <= set(runs(*target))


def test_a_file_by_its_name(target: tuple[str, str], name: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.ndjson.gz"
    path.write_bytes(gzip.compress(ndjson(document(name))))
    assert fll("record", str(path), *target).stdout == COUNTS.format(1, 0, 0, 0)


def test_refusals_are_reported_with_their_line_and_every_fault(target: tuple[str, str], name: str) -> None:
    twice = document(f"{name} 2")
    twice["operations"] = twice["operations"][1:2]
    raw = (
        ndjson(document(f"{name} 1"))
        + b"\nnot JSON\n"
        + ndjson(twice, {"namespace": "shop", "run": {}, "operations": 5})
        + ndjson(document(f"{name} 3"))
    )
    result = record(raw, *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(2, 0, 0, 3))
    first, second, third = complaints(result)
    assert first.startswith("line 3: refused: not JSON")
    assert second.startswith("line 4: refused: ")
    for fault in ("no READ", "no WRITE", "origin 'read' is not an operation"):
        assert fault in second
    assert third.startswith("line 5: refused: ")
    for fault in ("run.application: missing", "run.startTime: missing", "operations: must be an array"):
        assert fault in third


def test_warnings_are_reported_once(target: tuple[str, str], name: str) -> None:
    result = record(ndjson(*(document(f"{name} {number}", extra=1) for number in range(3))), *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(3, 0, 0, 0))
    assert complaints(result) == ["line 1: warning: extra: unknown member, ignored"]


def test_the_number_of_printed_warnings_is_bounded(target: tuple[str, str], name: str) -> None:
    many = [document(f"{name} {number}", **{f"extra{number}": 1}) for number in range(WARNINGS_MAX + 50)]
    lines = complaints(record(ndjson(*many), *target))
    assert lines[0] == "line 1: warning: extra0: unknown member, ignored"
    assert lines[WARNINGS_MAX:] == ["line 101: warning: there are others, which are not printed"]


def test_the_number_of_printed_errors_is_bounded(
    target: tuple[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_BATCH_ERRORS_MAX", "3")
    result = record(b"{\n" * 50 + ndjson(document(name)), *target)
    assert result.stdout == COUNTS.format(1, 0, 0, 50)
    *refused, last = complaints(result)
    assert [line.partition(":")[0] for line in refused] == ["line 1", "line 2", "line 3"]
    assert last == "further refused documents are counted, not printed (FLL_BATCH_ERRORS_MAX)"


def test_the_option_is_the_namespace_of_documents_without_one(target: tuple[str, str], name: str) -> None:
    nameless = document(name)
    del nameless["namespace"]
    result = record(ndjson(nameless), *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(0, 0, 0, 1))
    assert "line 1: refused: namespace: missing" in result.stderr
    other = document(f"{name} other", namespace=f"of {name}")
    assert record(ndjson(nameless, other), "--namespace", "shop", *target).exit_code == 0
    body = json.loads(printed("runs", f"of {name}", "invoices", "--start", "0", *target, "--json"))
    assert [run["run"] for run in body["runs"]] == [f"{name} other"]
    assert name in runs(*target)


@pytest.mark.parametrize("namespace", ["", "x" * 1025, 7, None, ["shop"]])
def test_a_namespace_that_is_none_is_refused(target: tuple[str, str], namespace: Any) -> None:
    result = record(ndjson(document(namespace=namespace)), "--namespace", "shop", *target)
    assert result.exit_code == 1
    assert result.stderr.startswith("line 1: refused: namespace: ")


def test_one_run_of_several_namespaces_keeps_its_order(target: tuple[str, str], name: str) -> None:
    run = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    same = [document(run, namespace=namespace) for namespace in ("shop", "mall", "shop", "mall")]
    assert record(ndjson(*same), "--replace", *target).stdout == COUNTS.format(1, 3, 0, 0)


def test_a_run_id_of_another_program_is_refused_by_its_name(target: tuple[str, str], name: str) -> None:
    """It names the program that it would replace and exits 1; another document of the file is recorded."""
    run = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    assert record(ndjson(document(run, namespace="shop")), *target).exit_code == 0
    both = ndjson(document(run, namespace="mall"), document(f"{name} 2", namespace="mall"))
    result = record(both, *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(1, 0, 0, 1))
    assert "line 1: refused: run " in result.stderr
    assert "in namespace 'shop'" in result.stderr
    result = record(both, "--replace", *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(0, 1, 1, 0))


def test_the_items_of_an_array_are_documents(target: tuple[str, str], name: str) -> None:
    for number, indent in enumerate((None, 1)):
        raw = json.dumps([document(f"{name} {number} {item}") for item in range(3)] + [5], indent=indent)
        result = record(raw.encode(), *target)
        assert (result.exit_code, result.stdout) == (1, COUNTS.format(3, 0, 0, 1))
        (line,) = complaints(result)
        assert "refused: must be an object, is a number" in line


def test_nothing_is_nothing(target: tuple[str, str]) -> None:
    for raw in (b"", b"\n \n", gzip.compress(b"")):
        assert record(raw, *target).stdout == COUNTS.format(0, 0, 0, 0)


@pytest.mark.slow
def test_broken_gzip_is_reported_and_whole_lines_are_recorded(target: tuple[str, str], name: str) -> None:
    packed = gzip.compress(ndjson(*(document(f"{name} {number}") for number in range(2000))))
    result = record(packed[: len(packed) // 2], *target)
    assert result.exit_code == 1
    assert result.stdout.endswith(", 1 refused\n")
    assert "broken gzip" in result.stderr
    assert f"{name} 0" in runs(*target)


def test_a_document_that_is_too_large_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_DOCUMENT_BYTES_MAX", "2000")
    large = document("large", padding="x" * 3000)
    for size in (1, 1000):
        raw = ndjson(document("one"), {**large, "padding": "x" * 2000 * size}, document("two"))
        result = record(raw, "--store", f"sqlite:///{tmp_path}/{size}.db")
        assert result.stdout == COUNTS.format(2, 0, 0, 1)
        assert "line 2: refused: longer than 2000 bytes" in result.stderr
    pretty = json.dumps(large, indent=2).encode()
    assert "line 1: refused: longer than 2000" in record(pretty, "--store", "sqlite:///:memory:").stderr


@pytest.mark.slow
def test_many_documents_of_several_namespaces(target: tuple[str, str], name: str) -> None:
    many = [
        document(f"{name} {number}", namespace=("shop", "mall", "market")[number % 3])
        for number in range(1201)
    ]
    assert record(ndjson(*many), *target).stdout == COUNTS.format(1201, 0, 0, 0)
    assert record(ndjson(*many), *target).stdout == COUNTS.format(0, 0, 1201, 0)


def test_no_file_and_no_server() -> None:
    assert "No such file" in complaint("record", "nowhere.json", code=2)
    assert "names no engine" in complaint("record", "/dev/null", "--store", "x", code=2)


def test_a_store_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = complaint("record", "/dev/null", "--store", f"sqlite:///{tmp_path}/file/store.db", code=1)
    assert "check the file and its disk" in line


def test_a_server_that_becomes_unavailable_is_reported_with_the_progress() -> None:
    many = ndjson(*(document(str(number)) for number in range(BATCH_DOCUMENTS + 1)))
    good = b'{"status": 201, "checksum": "c", "run": "r", "recorded": true}\n' * BATCH_DOCUMENTS
    with scripted_server.serving(Reply(200, good), Reply(503, headers={"Retry-After": "3600"})) as server:
        result = record(many, "--server", server.url)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert "is busy: 503" in line
    assert "documents before line 501 are done: 500 recorded" in line


@pytest.mark.slow
def test_a_proposal_of_datahub_is_a_line_as_any_other(target: tuple[str, str], name: str) -> None:
    source, destination = (
        f"urn:li:dataset:(urn:li:dataPlatform:hive,{name}.{end},PROD)" for end in ("a", "b")
    )
    lineage = {"upstreams": [{"dataset": source, "type": "TRANSFORMED", "auditStamp": {"time": 5}}]}
    proposal = {
        "entityType": "dataset",
        "entityUrn": destination,
        "changeType": "UPSERT",
        "aspectName": "upstreamLineage",
        "aspect": {"json": lineage},
    }
    raw = ndjson(document(name), proposal, {**proposal, "aspect": {"json": {"upstreams": 1}}})
    result = record(raw, *target)
    assert result.stdout.endswith(COUNTS.format(2, 0, 0, 1))
    assert "aspect.json.upstreams: must be an array, is a number" in result.output
    assert record(raw, *target).stdout.endswith(COUNTS.format(0, 0, 2, 1))
