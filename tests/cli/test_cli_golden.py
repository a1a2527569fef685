"""Pictures of terminals with 80 and 120 columns are those of tests/golden/terminal, letter by letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click
import pytest
from rich.cells import cell_len

from api.command import main
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.commands import END_MS, fll
from tests.support.terminal import HEIGHT, WIDTHS, Drawn, GoldenPictures, draw, files

pytestmark = pytest.mark.slow

FILES = files()
COMMANDS = [item for golden in FILES if not golden.fails for item in golden.drawn]

LONG = "a_table_with_a_name_that_is_longer_than_what_others_have/in_a_folder"
MERGE = """MERGE INTO totals t
    USING (SELECT customer, sum(net) AS net FROM orders GROUP BY customer) o
    ON t.customer = o.customer
    WHEN MATCHED THEN UPDATE SET total = t.total + o.net"""
DOCUMENT = {
    "namespace": "lake",
    "run": {
        "application": "an.application.with.a.long.package.name",
        "type": "sql",
        "program": "merge_the_totals_of_all_customers_nightly",
        "run": "merge",
        "startTime": END_MS - 40 * 86_400_000 + 7,
        "state": "FAIL",
    },
    # Not in the order in which they run.
    "operations": [
        {
            "type": "WRITE",
            "name": "a_write",
            "destination": {"name": LONG},
            "inputs": [{"origin": "merge", "name": "total"}],
        },
        {
            "type": "TRANSFORM",
            "name": "merge",
            "description": MERGE,
            "inputs": [{"origin": "sum", "name": "net"}, {"origin": "read", "name": "customer"}],
            "outputs": ["total"],
        },
        {
            "type": "TRANSFORM",
            "name": "sum",
            "inputs": [{"origin": "read", "name": "net"}],
            "outputs": ["net"],
        },
        {"type": "READ", "name": "read", "source": {"name": "orders"}, "outputs": ["customer", "net"]},
    ],
}
EVERYTHING = [
    ("runs", "bank/DailyTransactions", "--start", "now-3d"),
    ("lineage", "bank/DailyTransactions"),
    ("reach", "bank/DailyTransactions.UID", "--direction", "forward"),
    ("run", "d2f54d81-b3ab-5cff-aa8c-24b6d6a2d68c"),
    ("table", "scan", "b|bank|Statements"),
    ("report", "retention", "gdpr"),
]
"""Commands whose names are all shown, on however narrow a terminal."""

MACHINE_DEPENDENT = {"config"}
"""Commands that show paths and variables of whoever runs them."""

_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CHECKSUM = re.compile(r"\b[0-9a-f]{32}\b")
_PUT = re.compile(r"^( +)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d)?(?=  \w:)", re.MULTILINE)
_TOKEN = re.compile(r"^[0-9a-f]{16}\b", re.MULTILINE)


@pytest.fixture(scope="module")
def store(sampled: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample, with tags, a policy, a token and a run whose names are long, all at one time."""
    path = tmp_path_factory.mktemp("terminal") / "store.db"
    assert fll("store", "backup", str(path), "--store", sampled).exit_code == 0
    url = f"sqlite:///{path}"
    document = json.dumps(DOCUMENT).encode()
    assert fll("record", "-", "--store", url, stdin=document).exit_code == 0
    opened = LineageStore(open_table(url), clock=lambda: END_MS)
    with LocalClient(opened, clock=lambda: END_MS, owned=True) as client:
        client.put_tag(
            "bank", "DailyTransactions", "UID", "PII", by="ana@example.org", description="a person"
        )
        client.put_tag("bank", "DailyTransactions", "account", "PII", by="ana@example.org")
        client.put_policy(
            "gdpr", "30d", tag="PII", description="what the law says about persons and their data"
        )
        client.put_flow_policy("no-marketing", tag="PII", into="marketing/*")
        client.put_flow_policy("not-in-hospital", tag="PII", into="hospital/*", influence="any")
        grants = [Grant(Role.RECORDER, "bank"), Grant(Role.READER, "hospital*"), Grant(Role.READER, "bank*")]
        opened.access.create_token("nightly", grants, lifetime_ms=90 * 86_400_000)
        opened.access.set_grants(Subject(SubjectKind.GROUP, "etl"), grants)
    return url


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.path.stem)
def test_what_commands_draw(golden: GoldenPictures, store: str, request: pytest.FixtureRequest) -> None:
    drawn = golden.draw(store, change=_without_chance)
    if request.config.getoption("--update"):
        golden.path.write_text(str(drawn), encoding="utf-8")
        return
    expected, actual = (str(text).splitlines() for text in (golden, drawn))
    assert not (difference := "\n".join(unified_diff(expected, actual, lineterm=""))), f"\n{difference}"


def _without_chance(picture: str) -> str:
    """A picture with one id for tokens, and one time for when cells were put."""
    return _TOKEN.sub("0123456789abcdef", _PUT.sub(r"\1(when it was put)", picture))


def test_every_command_with_rows_is_drawn() -> None:
    drawn = {" ".join(item.arguments[: len(path.split())]) for item in COMMANDS for path in _listing(main)}
    assert set(_listing(main)) - MACHINE_DEPENDENT <= drawn


def _listing(group: click.Group, prefix: str = "") -> Iterator[str]:
    """The paths of commands that have --all."""
    for name, command in group.all_commands().items():
        if isinstance(command, click.Group):
            yield from _listing(command, f"{prefix}{name} ")
        elif any("--all" in parameter.opts for parameter in command.params):
            yield f"{prefix}{name}"


@pytest.mark.parametrize("item", COMMANDS, ids=lambda item: item.command)
def test_a_screen_of_unbroken_lines(item: Drawn) -> None:
    for width, picture in zip(WIDTHS, item.pictures, strict=True):
        output = [line for line in picture.splitlines() if not line.startswith("fll: ")]
        assert "--all" in item.arguments or len(output) < HEIGHT
        too_long = [line for line in output if cell_len(line) > width]
        assert [line for line in too_long if cell_len(max(line.split(), key=cell_len)) < width // 2] == []
        # A name may have line breaks, a description not.
        assert "\\n" not in picture.replace(r"two\nlines", "")
        # Keys and columns of stored rows have checksums.
        is_shown = "--verbose" in item.arguments or item.arguments[0] == "table"
        assert is_shown or not _CHECKSUM.search(picture)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", EVERYTHING, ids=" ".join)
def test_all_has_what_a_pipe_has(store: str, command: tuple[str, ...], width: int) -> None:
    piped = fll(*command, "--store", store).stdout
    shown = draw(*command, "--all", store=store, width=width)
    assert _ID.findall(piped) == _ID.findall(shown)
    names = {word for word in re.findall(r"[^\s,:]+", piped) if "/" in word}
    assert names - {*re.findall(r"[^\s,:]+", shown)} == set()
    assert names or _ID.search(shown)


def test_what_is_more_is_counted(store: str) -> None:
    piped = fll("runs", "bank/DailyTransactions", "--start", "now-3d", "--store", store).stdout
    shown = draw("runs", "bank/DailyTransactions", "--start", "now-3d", store=store, width=80)
    more, total = re.search(r"… (\d+) more of (\d+) rows", shown).groups()  # type: ignore[union-attr]
    assert int(total) == len(_ID.findall(piped))
    assert int(total) - int(more) == len(_ID.findall(shown))


def test_a_line_about_retention_is_in_the_zone(store: Any, tmp_path: Path) -> None:
    path = tmp_path / "purged.db"
    assert fll("store", "backup", str(path), "--store", store).exit_code == 0
    url = f"sqlite:///{path}"
    assert fll("retention", "--before", "now-20d", "--store", url).exit_code == 0
    result = fll("runs", "bank", "--timezone", "Asia/Kolkata", "--store", url)
    assert "fll: runs before 2025-09-19 14:23:20+05:30 may have been deleted" in result.stderr
