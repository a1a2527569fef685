"""Any rows give runs or input errors, never another exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.registry import ROW_FORMATS
from fll_hbase.model import lineage
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.errors import InputError
from tests.support import document_mutations, golden_cases, golden_rows

NAMES = [document_format.name for document_format in ROW_FORMATS]
EXAMPLES = {
    name: [
        [json.loads(line) for text in case.texts("rows") for line in text.splitlines() if line]
        for case in golden_cases.read_cases(name)
    ]
    for name in NAMES
}
"""Rows of the golden cases of each source."""


def check(source: str, rows: Any) -> None:
    """Read rows: runs that the model takes, or errors."""
    try:
        parsed = golden_rows.read(source, rows)
    except InputError:
        return
    for recorded in parsed.runs:
        assert isinstance(recorded, RecordedRun)
        run = recorded.run
        json.dumps([run.run, run.program, run.application, run.details], ensure_ascii=False).encode()
        assert run.run
        assert run.program
        assert run.type
        assert lineage.build_lineage_lenient(recorded.info.operations) == recorded.info


@pytest.mark.parametrize("source", NAMES)
@given(data=st.data())
def test_rows_with_a_few_changes(source: str, data: st.DataObject) -> None:
    rows = data.draw(st.sampled_from(EXAMPLES[source]))
    check(source, data.draw(document_mutations.mutations(rows)))


@pytest.mark.parametrize("source", NAMES)
@given(rows=document_mutations.values)
def test_any_rows(source: str, rows: Any) -> None:
    check(source, rows)
