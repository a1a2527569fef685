"""Several processes share a table; one that dies or stalls does not disturb the others."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import groupby

import pytest

from fll_hbase.tables import Put, open_table
from tests.support.table_workers import (
    CELLS_A_BATCH,
    batch,
    process,
    received,
    writes_and_reads,
    writes_until_killed,
)

PROCESSES, WRITES = 3, 40


def test_several_processes_read_and_write_at_once(shared_url: str) -> None:
    table = open_table(shared_url)
    with ExitStack() as stack:
        others = [
            stack.enter_context(process(writes_and_reads, shared_url, number, WRITES))[1]
            for number in range(PROCESSES)
        ]
        assert [received(reports) for reports in others] == ["open"] * PROCESSES
        for reports in others:
            reports.send("go")
        for step in range(WRITES):
            table.write([[Put(b"process9|%04d" % step, b"d:x", b"%d" % step)]])
        assert [received(reports) for reports in others] == [WRITES] * PROCESSES
    row_keys = [key.split(b"|")[0] for key, _ in table.scan(b"process", b"procest")]
    assert {name: len(list(same)) for name, same in groupby(row_keys)} == {
        b"process%d" % number: WRITES for number in (*range(PROCESSES), 9)
    }
    last = {column: cell.value for column, cell in table.get(b"shared", columns=(b"d:",)).items()}
    assert last == {b"d:%d" % number: b"%d" % (WRITES - 1) for number in range(PROCESSES)}
    table.close()


@pytest.mark.parametrize("acknowledged", [1, 4, 9])
def test_a_killed_writer_leaves_whole_batches_and_all_that_it_acknowledged(
    shared_url: str, acknowledged: int
) -> None:
    with process(writes_until_killed, shared_url, 0) as (child, reports):
        seen = [received(reports) for _ in range(acknowledged)]
        child.kill()
        child.join()
        while reports.poll():
            try:
                seen.append(reports.recv())
            except EOFError:
                break
    table = open_table(shared_url)
    rows = list(table.scan(b"batch", b"batci"))
    cells_by_batch = {
        number: len(list(same)) for number, same in groupby(rows, key=lambda item: int(item[0][5:10]))
    }
    assert set(seen) <= cells_by_batch.keys() <= {*seen, len(seen)}
    assert {cells_by_batch[number] for number in seen} == {CELLS_A_BATCH}
    assert all(row[b"d:x"].value == b"%d" % int(key[5:10]) for key, row in rows)
    table.write([batch(len(seen))])
    assert len(list(table.scan(b"batch", b"batci"))) == (len(seen) + 1) * CELLS_A_BATCH
    table.close()
