"""Stored bodies of events: only their own form is read."""

from __future__ import annotations

import msgspec
import pytest

from fll_hbase.model import run_events
from fll_hbase.model.run_events import DatasetMention, EventLineage, InputColumn, OutputColumn
from fll_hbase.runtime.errors import CorruptRow


def body(written: int, column_input: int, dataset_input: int) -> bytes:
    """Return a lineage of two datasets, given the indexes of those that are written and read."""
    column = OutputColumn("c", (InputColumn(column_input, "a", True, "", ""),))
    inputs = (InputColumn(dataset_input, "b", False, "filter", ""),)
    mention = DatasetMention(written, True, columns=(column,), dataset_inputs=inputs)
    return msgspec.json.encode(EventLineage("ns", "job", "", (("ns", "x"), ("ns", "y")), (mention,)))


@pytest.mark.parametrize("index", [2, -1])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_body_that_points_beyond_its_datasets_is_corrupt(index: int, member: int) -> None:
    indexes = [1, 0, 0]
    assert run_events.decode_lineage(body(*indexes)).mentions
    indexes[member] = index
    with pytest.raises(CorruptRow, match=f"no dataset has index {index}"):
        run_events.decode_lineage(body(*indexes))
