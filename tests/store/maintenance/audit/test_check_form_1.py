"""Contents in form 1 are read as they are, reported as a note, and put in the newest form by a repair."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.keys import layout
from fll_hbase.model.datasets import DatasetField, Field
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.tables import Put, Table, open_table
from tests.support import content_form_1 as form_1
from tests.support.audit_runner import findings, kinds, repaired
from tests.support.copy_runs import DESTINATION, SOURCE
from tests.support.table_cells import ALWAYS, comparable_cells

OPERATIONS: list[Operation] = [
    Read("read", "", SOURCE, "", (Field("f"), Field("g"), Field("h", "int"))),
    Transform("add", "", (InputField("read", "f"), InputField("read", "g")), (Field("sum"),)),
    Transform("drop", "", (InputField("read", "h"),), ()),
    Write("write", "", DESTINATION, "", (InputField("add", "sum"), InputField("read", "g"))),
]
INFO = build_lineage(OPERATIONS)
ROW = layout.content_row(INFO.checksum)


def stored() -> Table:
    table = open_table("sqlite:///:memory:")
    run = ProgramRun("ns", "app", "", "spark", "nightly", "run", 5)
    LineageStore(table).record([RecordedRun(run, INFO)])
    return table


def stored_in_form_1() -> Table:
    table = stored()
    table.write([form_1.puts_1(INFO)])
    return table


def answers(table: Table) -> Iterator[object]:
    """Every question that reads the content."""
    store = LineageStore(table)
    for dataset in (SOURCE, DESTINATION):
        yield store.lineage(dataset, ALWAYS, level=1)
        for name in store.catalogue.field_names(dataset) or ():
            for direction in Direction:
                yield store.field_lineage(DatasetField(dataset, name), ALWAYS, direction=direction)
    yield store.field_derivations(DatasetField(DESTINATION, "sum"), ALWAYS)


def test_answers_are_the_same() -> None:
    assert list(answers(stored_in_form_1())) == list(answers(stored()))


def test_recording_again_is_the_same_run() -> None:
    table = stored_in_form_1()
    run = ProgramRun("ns", "app", "", "spark", "nightly", "run", 5)
    (outcome,) = LineageStore(table).record([RecordedRun(run, INFO)])
    assert not outcome.recorded


def test_it_is_a_note() -> None:
    (finding,) = findings(stored_in_form_1())
    assert (finding.kind, finding.row, finding.repair.row) == (Kind.OLD_FORM, ROW, ROW)
    assert not finding.kind.is_error


def test_a_repair_puts_the_newest_form() -> None:
    table = stored_in_form_1()
    assert not repaired(table)
    newest = comparable_cells(stored())
    assert {cell: value for cell, value in comparable_cells(table).items() if cell in newest} == newest
    assert list(answers(table)) == list(answers(stored()))


def test_a_wrong_field_map_of_form_1_is_an_error() -> None:
    table = stored_in_form_1()
    write = Write("write", "", DESTINATION, "", (InputField("add", "sum"),))
    other = build_lineage([*OPERATIONS[:-1], write])
    table.write([[Put(ROW, layout.FIELD_MAP, form_1.field_map_1(other.field_map))]])
    assert kinds(table) == {Kind.WRONG_CELLS}
    assert not repaired(table)


def test_an_unreadable_field_map_of_form_1_is_an_error() -> None:
    table = stored_in_form_1()
    table.write([[Put(ROW, layout.FIELD_MAP, b"x")]])
    assert kinds(table) == {Kind.WRONG_CELLS}
    assert not repaired(table)


def test_a_wrong_graph_is_an_error() -> None:
    table = stored_in_form_1()
    column = next(put.column for put in form_1.puts_1(INFO) if put.column.startswith(layout.GRAPHS))
    table.write([[Put(ROW, column, b"0")]])
    assert Kind.WRONG_CELLS in kinds(table)
