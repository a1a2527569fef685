"""Golden cases of DataHub messages."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.queries import acknowledgements
from fll_hbase.sources import datahub
from fll_hbase.sources.datahub import MessageFormat
from tests.support import golden_facts
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation

NOTATION = Notation("hive", has_full_names=True)
NOW_MS = 1_800_000_000_000


def lines(case: Case) -> Iterator[str]:
    """Yield what the message of a case means."""
    form = MessageFormat(case.members["form"])
    ingested = datahub.read(case.json("document"), form=form, now_ms=NOW_MS)
    for recorded in ingested.runs:
        yield from golden_facts.run(recorded.run)
        yield from golden_facts.lineage(acknowledgements.dry_run(recorded.info), NOTATION)
    yield from golden_facts.datasets(ingested.schemas, NOTATION)
    for item, number in sorted(
        ingested.counted.items(), key=lambda counted: (counted[0].aspect, counted[0].outcome.value)
    ):
        yield f"aspect {item.aspect} {item.outcome.value}: {number}"
