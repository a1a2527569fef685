"""docs/reference/row-keys.md agrees with the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from fll_hbase.keys import access_rows, calendars, layout, retention
from fll_hbase.keys.codec import day_of
from fll_hbase.model import checksum, lineage
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, State
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.rows import calendar_rows, content_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from tests.docs import row_keys as page
from tests.support.run_keys import committed_run

TOKEN = b"9f86d081884c7d65"
"""The token of the page, which is random otherwise."""


def _key(*pieces: bytes) -> tuple[bytes, ...]:
    return (b"".join(pieces),)


MAKES: dict[str, Callable[..., tuple[bytes, ...]]] = {
    "data_row": lambda checksum: _key(layout.content_row(checksum)),
    "run_row": lambda *run: _key(layout.run_row(*run)),
    "reference": lambda way, ns, name, start, *run: _key(
        layout.reference_prefix(Direction(way), Dataset(ns, name)), layout.reference_tail(start, *run)
    ),
    "reference_tail": lambda start, *run: _key(layout.reference_tail(start, *run)),
    "way_row": lambda way, ns, name, start, checksum: _key(
        calendars.ways_prefix(Direction(way), Dataset(ns, name)),
        calendars.way_tail(calendars.period_of(day_of(start)), checksum),
    ),
    "ways_window": lambda way, ns, name, start, stop: calendars.ways_range(
        Direction(way), Dataset(ns, name), Window(start, stop)
    ),
    "way_horizon_row": lambda ns, name: _key(calendars.horizon_row(Dataset(ns, name))),
    "calendar_row": lambda checksum, start: _key(
        calendars.calendar_row(checksum, calendars.period_of(day_of(start)))
    ),
    "token_column": lambda start: _key(calendars.day_column(calendars.TOKEN, day_of(start))),
    "seal_column": lambda start: _key(calendars.day_column(calendars.SEAL, day_of(start))),
    "day_runs_column": lambda start: _key(calendars.day_column(calendars.STARTS, day_of(start))),
    "calendars_row": lambda: _key(calendars.MARK_ROW),
    "request_column": lambda before_ms, *names: _key(
        retention.request_column(retention.RetentionRequest(Dataset(*names) if names else None, before_ms))
    ),
    "purge_columns": lambda all_ms, ns, ms: tuple(retention.purge_columns(RetentionPolicy(all_ms, {ns: ms}))),
    "run_index_row": lambda ns, start, *run: _key(
        layout.run_index_prefix(ns), layout.run_index_tail(start, *run)
    ),
    "run_index_column": lambda program: _key(layout.run_index_column(program)),
    "end_point_row": lambda ns, name: _key(layout.dataset_row(Dataset(ns, name))),
    "end_points": lambda ns: _key(layout.dataset_prefix(ns)),
    "window": lambda way, ns, name, start, stop: layout.window_range(
        Direction(way), Dataset(ns, name), Window(start, stop)
    ),
    "operation_column": lambda name: _key(layout.operation_column(name)),
    "graph_column": lambda way, ns, name, field: _key(
        layout.graph_column(Direction(way), Dataset(ns, name), field)
    ),
    "horizon_column": lambda start: _key(layout.horizon_column(start)),
    "document_column": lambda number, digest: _key(layout.document_column(number, digest)),
    "event_column": lambda time_ms, digest: _key(layout.event_column(time_ms, digest)),
    "part_row": lambda digest: _key(layout.event_body_row(digest)),
    "alias_row": lambda ns, name: _key(layout.alias_row(Dataset(ns, name))),
    "alias_column": lambda ns, name: _key(layout.alias_column(Dataset(ns, name))),
    "tags_row": lambda ns, name, field: _key(layout.tags_row(DatasetField(Dataset(ns, name), field))),
    "tags_of_dataset": lambda ns, name: _key(layout.tags_prefix(Dataset(ns, name))),
    "tag_column": lambda tag: _key(layout.tag_column(tag)),
    "tag_index_row": lambda tag, ns, name, field: _key(
        layout.tag_index_row(tag, DatasetField(Dataset(ns, name), field))
    ),
    "fields_of_tag": lambda *names: _key(layout.tag_index_prefix(*names)),
    "policy_row": lambda *names: _key(layout.policy_row(*names)),
    "token_row": lambda token: _key(access_rows.token_row(token)),
    "grants_row": lambda kind, name: _key(access_rows.grants_row(Subject(SubjectKind(kind), name))),
    "grant_column": lambda role, pattern: _key(access_rows.grant_column(Grant(Role(role), pattern))),
    "stated_column": lambda field: _key(layout.declared_field_column(field)),
    "truth_column": lambda count, digest: _key(layout.commit_column(count, digest)),
    "field_column": lambda way, field: _key(layout.field_column(Direction(way), field)),
    "type_column": lambda way, field, digest: _key(
        layout.typed_value_column(layout.field_column(Direction(way), field), digest)
    ),
}


@pytest.mark.parametrize(
    "vector", page.vectors(), ids=lambda vector: f"{vector.name}-{vector.keys[0].decode()}"
)
def test_a_vector_of_the_page_is_what_the_code_makes(vector: page.Vector) -> None:
    assert MAKES[vector.name](*vector.arguments) == vector.keys


def test_the_page_has_a_vector_of_every_kind() -> None:
    vectors = page.vectors()
    assert {vector.name for vector in vectors} == MAKES.keys()
    rows_of_keys = {vector.keys[0][:1] for vector in vectors if vector.keys[0][1:2] == b"|"}
    assert rows_of_keys == {
        b"c",
        b"r",
        b"b",
        b"f",
        b"w",
        b"e",
        b"a",
        b"p",
        b"n",
        b"t",
        b"g",
        b"y",
        b"k",
        b"u",
        b"v",
    }


def test_the_worked_example_is_what_recording_puts() -> None:
    source, target = Dataset("ns1", "user_data"), Dataset("ns1", "people")
    info = lineage.build_lineage(
        [
            Read("read", "Reading the file", source, "", (Field("offset"), Field("body", "string"))),
            Transform("parse", "", (InputField("read", "body"),), (Field("first_name"), Field("last_name"))),
            Transform("drop", "", (InputField("read", "offset"),), ()),
            Write(
                "store",
                "",
                target,
                "People we know",
                (InputField("parse", "first_name"), InputField("parse", "last_name")),
            ),
        ]
    )
    run = ProgramRun("ns1", "shop", "1.4", "spark", "nightly", "0b6f", 1_442_863_938_000)
    committed = committed_run(info.checksum, run)
    content = content_rows.encode_content(info)
    day = calendar_rows.day_of_run(committed)
    key, value = layout.run_row(run.run, run.namespace), run_rows.encode_run(committed)
    puts = [
        *content.catalogue,
        *content.data,
        run_rows.document_put(key, 1, value),
        *calendar_rows.way_puts(info.checksum, calendars.period_of(day.day), content.endpoints),
        *calendar_rows.touch_puts({day}, TOKEN),
        *run_rows.reference_puts(committed, content.endpoints, program=run_rows.encode_program(run)),
        run_rows.run_index_put(committed),
        run_rows.commit_put(key, 1, value),
    ]
    assert {tuple(put) for put in puts} == page.example()


def test_the_seal_of_the_page_is_what_sealing_puts() -> None:
    run = ProgramRun("ns1", "shop", "1.4", "spark", "nightly", "0b6f", 1_442_863_938_000)
    failed = replace(run, run="0b70", start_ms=run.start_ms + 5_000, state=State.FAIL)
    day = ContentDay("79655ecae1889b9a7c9d61af2fd3489b", day_of(run.start_ms))
    runs = [committed_run(day.checksum, listed) for listed in (run, failed)]
    (put,) = calendar_rows.seal_puts(day, TOKEN, runs)
    assert page.seal() == put.value


def test_the_checksum_can_be_computed_from_the_cells_of_the_example() -> None:
    cells = {column: (row, value) for row, column, value in page.example()}
    operations = sorted(column for column in cells if column.startswith(layout.OPERATION))
    text = b"\n".join([b"1", *(cells[column][1] for column in operations)])
    assert b"c|" + checksum.digest(text).encode() == cells[operations[0]][0]


def test_the_page_names_every_column_of_the_code() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    for column in (*vars(layout).values(), *vars(calendars).values()):
        if isinstance(column, bytes) and re.fullmatch(rb"[do]:.+", column):
            assert f"`{column.decode()}" in text, f"{column!r} is not described"
