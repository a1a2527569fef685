"""Events of runs that write one dataset."""

from __future__ import annotations

from fll_hbase.model import run_events
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.run_events import (
    DatasetMention,
    EventLineage,
    EventRunFacts,
    EventType,
    IncomingEvent,
    InputColumn,
    OutputColumn,
)
from fll_hbase.model.window import DAY_MS

SOURCE, TARGET, ALIAS = Dataset("db", "orders"), Dataset("db", "daily"), Dataset("hive", "daily")
NOW_MS = 20_000 * DAY_MS


def part(*fields: str, job: str = "nightly", aliases: tuple[Dataset, ...] = ()) -> EventLineage:
    """Each field of the target is made of that of the source."""
    columns = tuple(
        OutputColumn(name, (InputColumn(1, name, True, "", "IDENTITY"),)) for name in sorted(fields)
    )
    alias_names = tuple((alias.namespace, alias.name) for alias in aliases)
    written = DatasetMention(
        0, True, fields=tuple((name, "int") for name in fields), columns=columns, aliases=alias_names
    )
    return EventLineage(
        "jobs", job, "SPARK", (("db", "daily"), ("db", "orders")), (written, DatasetMention(1, False))
    )


def event(kind: EventType, content: EventLineage, *, run: str = "run", later_ms: int = 0) -> IncomingEvent:
    return run_events.make_event(run, NOW_MS + later_ms, kind, content, EventRunFacts())
