"""Runs that copy one field."""

from __future__ import annotations

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Window

SOURCE, DESTINATION = Dataset("ns", "source"), Dataset("ns", "destination")
DAY = Window(0, DAY_MS)


def copying(run: str, *, start_ms: int = 5, application: str = "app", field: str = "f") -> RecordedRun:
    operations = [
        Read("read", "", SOURCE, "", (Field(field),)),
        Write("write", "", DESTINATION, "", (InputField("read", field),)),
    ]
    return RecordedRun(
        ProgramRun("ns", application, "", "spark", "copy", run, start_ms), lineage.build_lineage(operations)
    )
