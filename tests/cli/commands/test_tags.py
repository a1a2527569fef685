"""Tags, policies and the retention report, by commands and from Python, in a store and through a server."""

from __future__ import annotations

import csv
import doctest
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.client import connection
from fll_hbase.client.connection import Connection
from fll_hbase.client.opening import open_client
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import InvalidQuery, NotFound
from tests.support.commands import END_MS, complaint, fll, printed
from tests.support.small_documents import document

Target = tuple[str, str]


@pytest.fixture
def chain(target: Target, name: str) -> Target:
    """A store or server in which `f` of one dataset was copied to another, in 1970 and again later."""
    for source, destination in ((f"{name}/a", f"{name}/b"), (f"{name}/b", f"{name}/c")):
        for start_ms in (86_400_000, 1_700_000_000_000):
            payload = document()
            payload["run"] |= {"run": f"{source} {start_ms}", "startTime": start_ms}
            payload["operations"] = [
                {"type": "READ", "name": "r", "source": {"name": source}, "outputs": ["f"]},
                {
                    "type": "WRITE",
                    "name": "w",
                    "destination": {"name": destination},
                    "inputs": [{"origin": "r", "name": "f"}],
                },
            ]
            result = fll("record", "-", *target, stdin=json.dumps(payload).encode())
            assert result.exit_code == 0, result.stderr
    return target


@pytest.mark.slow
def test_a_tag_is_put_listed_and_removed(chain: Target, name: str) -> None:
    field, tag = f"shop/{name}/a.f", f"PII {name}"
    stored = json.loads(printed("tag", "set", field, tag, "--by", "ana", *chain, "--json"))
    again = json.loads(printed("tag", "set", field, tag, "--by", "ana", *chain, "--json"))
    assert again == stored
    assert (stored["name"], stored["field"], stored["by"]) == (f"{name}/a", "f", "ana")
    assert tag in printed("tag", "list", *chain).splitlines()
    for words in (("--tag", tag), (field,), ("shop", f"{name}/a"), ("shop", f"{name}/a", "f")):
        assert "ana" in printed("tag", "list", *words, *chain)
    assert json.loads(printed("tag", "list", field, *chain, "--json")) == {"tags": [stored]}
    assert fll("tag", "remove", field, tag, *chain).exit_code == 0
    assert "No tags" in printed("tag", "list", field, *chain)
    assert "does not have the tag" in complaint("tag", "remove", field, tag, *chain, code=1)


def test_a_tag_is_inherited_with_its_path(chain: Target, name: str) -> None:
    printed("tag", "set", f"shop/{name}/a.f", name, *chain)
    listed = printed(
        "tag", "list", f"shop/{name}/c.f", "--inherited", "--start", "0", *chain, "--format", "csv"
    )
    [row] = csv.DictReader(io.StringIO(listed))
    assert row["path"] == f"shop/{name}/a.f > shop/{name}/b.f > shop/{name}/c.f"
    near = printed("tag", "list", f"shop/{name}/c.f", "--inherited", "--start", "0", "--level", "1", *chain)
    assert "No tags" in near


def test_a_policy_and_its_retention_report(chain: Target, name: str) -> None:
    printed("tag", "set", f"shop/{name}/a.f", name, *chain)
    policy = json.loads(printed("policy", "set", name, "--max-age", "1000w", "--tag", name, *chain, "--json"))
    assert (policy["maxAge"], policy["tag"]) == ("1000w", name)
    assert name in printed("policy", "list", *chain)
    body = json.loads(printed("report", "retention", name, *chain, "--json"))
    assert [(item["name"], item["runs"]) for item in body["fields"]] == [(f"{name}/b", 1), (f"{name}/c", 1)]
    table = printed("report", "retention", name, *chain)
    assert "Fields with data older than the policy allows: 2" in table
    rows = list(csv.DictReader(io.StringIO(printed("report", "retention", name, *chain, "--format", "csv"))))
    assert [(row["name"], row["hops"], row["runs"]) for row in rows] == [
        (f"{name}/b", "1", "1"),
        (f"{name}/c", "2", "1"),
    ]
    page = printed("report", "retention", name, *chain, "--format", "html")
    assert page.startswith("<!doctype html>")
    assert f"<dd>fields with the tag {name}</dd>" in page
    assert f"<td>shop/{name}/b.f</td><td>shop/{name}/a.f</td><td>directly</td>" in page
    assert fll("policy", "remove", name, *chain).exit_code == 0
    assert "not found" in complaint("report", "retention", name, *chain, code=1)


def test_a_policy_of_one_field(chain: Target, name: str) -> None:
    field = f"shop/{name}/c.f"
    printed("policy", "set", name, "--max-age", "1d", "--field", field, *chain)
    body = json.loads(printed("report", "retention", name, "--end", "2024-01", *chain, "--json"))
    assert [(item["name"], item["runs"], len(item["path"])) for item in body["fields"]] == [
        (f"{name}/c", 2, 1)
    ]
    assert body["policy"]["field"] == {"namespace": "shop", "name": f"{name}/c", "field": "f"}


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        (("tag", "set", "shop/nowhere.f", "PII"), 1, "not found"),
        (("tag", "set", "shop/nowhere.f", ""), 2, "0 bytes long"),
        (("tag", "list", "shop/a", "--tag", "PII"), 2, "not both"),
        (("tag", "list", "--inherited"), 2, "needs a field"),
        (("policy", "set", "p", "--max-age", "3q", "--tag", "PII"), 2, "'3q' is not an age"),
        (("policy", "set", "p", "--max-age", "3d"), 2, "either --tag or --field"),
        (("policy", "set", "p", "--max-age", "3d", "--tag", "t", "--field", "a/b.c"), 2, "either --tag or"),
        (("policy", "set", "p", "--max-age", "3d", "--field", "shop/nowhere.f"), 1, "was never recorded"),
        (("policy", "set", "p", "--max-age", "3d", "--tag", "PPI"), 1, "--allow-unknown"),
        (("policy", "remove", "never put"), 1, "not found"),
    ],
)
def test_what_is_not_possible_is_one_line(
    chain: Target, command: tuple[str, ...], code: int, text: str
) -> None:
    assert text in complaint(*command, *chain, code=code)


@pytest.fixture
def copy(sampled: str, tmp_path: Path) -> Iterator[Connection]:
    """A client of a copy of the sample, to write to."""
    url = f"sqlite:///{tmp_path}/copy.db"
    shutil.copy(sampled.removeprefix("sqlite:///"), tmp_path / "copy.db")
    with open_client(url, settings=Settings(store=url), clock=lambda: END_MS) as client:
        yield client


def test_the_examples_of_docstrings(copy: Connection) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    finder = doctest.DocTestFinder()
    examples = [
        example
        for name in ("put_tag", "remove_tag", "put_policy", "put_flow_policy", "remove_policy")
        for example in finder.find(getattr(Connection, name), name, module=connection, globs={"client": copy})
    ]
    ran = [runner.run(example) for example in examples if example.examples]
    assert len(ran) == 5
    assert runner.failures == 0


def test_from_python_arguments_are_checked(copy: Connection) -> None:
    wrong: list[tuple[type[Exception], Any]] = [
        (InvalidQuery, lambda: copy.put_tag("bank", "DailyTransactions", "UID", "")),
        (InvalidQuery, lambda: copy.put_tag("bank", "DailyTransactions", "UID", "PII", by="a" * 1_025)),
        (InvalidQuery, lambda: copy.put_policy("p", "3d")),
        (InvalidQuery, lambda: copy.put_policy("p", "3 days", tag="PII")),
        (InvalidQuery, lambda: copy.field_tags("bank", "DailyTransactions", "UID", level=0)),
        (NotFound, lambda: copy.put_tag("bank", "DailyTransactions", "nothing", "PII")),
        (NotFound, lambda: copy.retention_report("nothing")),
    ]
    for kind, call in wrong:
        with pytest.raises(kind):
            call()
    assert copy.tags().rows == []


@pytest.mark.slow
def test_lists_are_cut_at_the_limit_and_say_so(copy: Connection) -> None:
    for tag in ("a", "b", "c"):
        copy.put_tag("bank", "DailyTransactions", "UID", tag)
        copy.put_tag("bank", "Customers", "UID", tag)
    answers = [
        copy.tags(limit=2),
        copy.field_tags("bank", "DailyTransactions", "UID", limit=2),
        copy.dataset_tags("bank", "DailyTransactions", limit=2),
    ]
    assert [(len(answer), bool(answer.incomplete)) for answer in answers] == [(2, True)] * 3
    assert [row["name"] for row in copy.tagged_fields("a", limit=2)] == ["Customers", "DailyTransactions"]
    assert copy.tagged_fields("a", limit=1).incomplete
