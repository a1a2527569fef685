"""Reads of a check of a flow policy: they follow the new contents, not the runs of the history."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import run_index
from bench.documents import DAY_MS, DAYS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.flow_policy import VALUE, FlowPolicy
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.tags import TagNote
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store
from fll_hbase.store.flow_check import FlowCheck, FlowChecker
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.sealing import seal_old_days
from fll_hbase.tables import Row, Scan, Table
from fll_hbase.tables.base import Columns
from fll_hbase.tables.observed import ObservedTable

NEW_CONTENTS = 1_000
TAGGED = DatasetField(Dataset(run_index.NAMESPACE, "orders_raw"), "id")
POLICY = FlowPolicy("no-export", "PII", "partner/*", "", VALUE, False, "", 0)


def bench(sizes: Sequence[int]) -> None:
    """Count the calls and rows of the check after NEW_CONTENTS further contents, for each history."""
    rows = {size: _rows_of_check(size) for size in sizes}
    smallest, largest = sizes[0], sizes[-1]
    label = f"rows of a check, {largest:,} runs / {smallest:,} runs"
    print_figure(label, rows[largest] / rows[smallest], "x", target="at most 1.1")


def _rows_of_check(size: int) -> int:
    """Return the rows read by a check of new contents after a checked history of `size` runs."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'runs.db')}"
        run_index.record_history(url, size)
        with closing(open_store(Settings(store=url))) as store:
            store.tags.put(TAGGED, POLICY.tag, TagNote())
            _seal(store)
            assert not _check(store, store.table).truncated_by
            store.record([_new_run(number) for number in range(NEW_CONTENTS)])
            _seal(store)
            table = _CountedTable(store.table)
            began = time.process_time()
            check = _check(LineageStore(table, store.settings), store.table)
            seconds = time.process_time() - began
    assert (check.contents, check.reported, check.truncated_by) == (NEW_CONTENTS, 1, ()), check
    label = f"check of {NEW_CONTENTS:,} new contents after {size:,} runs"
    for title, value, unit in (("calls", table.calls, ""), ("rows", table.read, ""), ("CPU", seconds, "s")):
        print_figure(f"{label}: {title}", value, unit)
    return table.read


def _seal(store: LineageStore) -> None:
    """Seal all days, as happens to those whose last run was recorded some hours ago."""
    seal_old_days(store.table, clock=lambda: now_ms() + DAY_MS, grace_ms=store.settings.grace_ms)


def _check(store: LineageStore, states: Table) -> FlowCheck:
    """Check the policy without sending its violations."""
    return FlowChecker(store.components, states, grace_ms=0).check(POLICY, lambda *_: None)


def _new_run(number: int) -> RecordedRun:
    """Return a run of a new content, which copies the tagged field; run 0 copies it to a partner."""
    target = Dataset(run_index.NAMESPACE if number else "partner", f"copy{number}")
    operations = lineage.build_lineage(
        [
            Read("read", "", TAGGED.dataset, "", (Field(TAGGED.name),)),
            Write("write", "", target, "", (InputField("read", TAGGED.name),)),
        ]
    )
    start_ms = FIRST_DAY_MS + DAYS * DAY_MS + number
    program = ProgramRun(run_index.NAMESPACE, "shop", "1.4", "spark", "copies", f"copy-{number}", start_ms)
    return RecordedRun(program, operations)


class _CountedTable(ObservedTable):
    """A table that counts its calls and the rows they read."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.calls = self.read = 0

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return what the table returns."""
        return self.rows([row], columns=columns).get(row, {})

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return what the table returns."""
        answer = super().rows(keys, columns=columns)
        self.calls += 1
        self.read += len(answer)
        return answer

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield what the table yields."""
        self.calls += 1
        for item in super().scan(start, stop, columns=columns, limit=limit):
            self.read += 1
            yield item

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return what the table returns."""
        answer = super().scan_many(scans)
        self.calls += 1
        self.read += sum(map(len, answer))
        return answer
