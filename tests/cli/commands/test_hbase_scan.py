"""`fll table scan` shows rows of both engines, bounded, and safe for a terminal."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.tables import Put, open_table
from tests.support.commands import complaint, fll, printed
from tests.support.engines import Hbase

ODD = [
    Put(b"e|n|a%1B%5B31m%0A", b"d:d|0", b"\x1b[31mred\nline"),
    Put(b"r|zz|run", b"d:v|00000001|x", b"no document"),
    Put(b"x\xfe|\x1b", b"d:x", b"\xff\x00"),
]


@pytest.fixture(params=["sqlite", "hbase"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "hbase":
        hbase: Hbase = request.getfixturevalue("hbase")
        return hbase.fresh()
    return f"sqlite:///{tmp_path}/odd.db"


def test_rows_of_a_sample(sampled: str) -> None:
    output = fll("table", "scan", "b|bank|Statements", "--store", sampled, "--limit", "2")
    lines = output.stdout.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("b|bank|Statements|7ffff")
    assert "[backward references] namespace bank, name Statements, start 20" in lines[0]
    last = output.stderr.split("'")[1]
    following = fll("table", "scan", "b|bank|Statements", "--store", sampled, "--limit", "1", "--after", last)
    assert following.stdout.split()[0] > last
    body = json.loads(fll("table", "scan", "r|", "--store", sampled, "--limit", "3", "--json").stdout)
    assert len(body["rows"]) == 3
    assert body["after"] == body["rows"][-1]["key"]
    assert {row["kind"] for row in body["rows"]} == {"runs"}
    assert "COMPLETE" in body["rows"][0]["cells"][0]["value"]


def test_nothing_moves_the_cursor(url: str) -> None:
    with closing(open_table(url)) as table:
        table.write([ODD])
    output = printed("table", "scan", "--store", url)
    assert all(character.isprintable() for line in output.splitlines() for character in line)
    assert "\\x1b[31mred\\nline" in output
    assert output.count("unreadable") == 4
    assert "x\\xfe|" in output
    rest = printed("table", "scan", "--store", url, "--after", "r|zz|run")
    assert rest.startswith("x\\xfe|")
    body = json.loads(printed("table", "scan", "--store", url, "--format", "json"))
    assert [row["kind"] for row in body["rows"]] == ["datasets", "runs", "other rows"]
    assert [bool(row.get("error")) for row in body["rows"]] == [False, True, True]


def test_a_name_may_be_typed_as_it_is(sampled: str) -> None:
    result = fll("table", "scan", "e|no such namespace 🙂", "--store", sampled)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "fll: no rows\n")


def test_bounds() -> None:
    assert "10000" in complaint("table", "scan", "--limit", "10001", code=2)
    assert "there is no store" in complaint("table", "scan", "--store", "sqlite:///none.db", code=2)
