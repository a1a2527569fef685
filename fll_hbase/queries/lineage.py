"""Dataset lineage: pairs of fields between a dataset and others, over several hops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from fll_hbase.model.dataset_lineage import FieldPair
from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.queries.names import DatasetName, Influence, dataset_name
from fll_hbase.queries.parameters import About, AnyDirection, FlowDirection
from fll_hbase.queries.query import (
    INDIRECT_HELP,
    Answer,
    Body,
    DatasetQuery,
    Failed,
    FirstReads,
    WindowedWithFailed,
    directions,
    flow_word,
)
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore


# Without garbage collection: there are hundreds of thousands in an answer, and none has a cycle.
class Pair(Body, frozen=True, kw_only=True, gc=False):
    """A source and a destination field, or None for a generated or a dropped one."""

    source: str | None = msgspec.field(name="from")
    destination: str | None = msgspec.field(name="to")
    influence: Influence = "direct"
    scope: Literal["dataset"] | None = None
    failed: Annotated[bool, Failed] = False


class LineageEntry(Body, frozen=True, kw_only=True):
    """The field pairs between two datasets; `level` is the hop, from 1, at which they were reached.

    The source of generated fields is None, and the destination of dropped ones. `unknown` is set if the
    datasets are related but no field is known.
    """

    schema_name: ClassVar[str] = "Entry"

    source: DatasetName | None
    destination: DatasetName | None
    fieldmap: tuple[Pair, ...]
    level: int
    direction: FlowDirection
    unknown: bool = False

    @property
    def has_no_fields(self) -> bool:
        """Return whether no field is known, as always for hidden datasets."""
        ends = (self.source, self.destination)
        return self.unknown or (not self.fieldmap and any(end and end.hidden for end in ends))

    def ends(self) -> tuple[str, str]:
        """Return the source and the destination as text."""
        return str(self.source or "(generated)"), str(self.destination or "(dropped)")


def _rows(entries: Sequence[Json]) -> list[Row]:
    """Return a row for each field pair of all entries, and one for each entry that is unknown."""
    return [row for entry in entries for row in _entry_rows(entry)]


def _entry_rows(entry: Json) -> Iterator[Row]:
    """Yield a row for the entry itself if it is unknown, then one for each of its field pairs."""
    common = {
        "level": entry["level"],
        "direction": entry["direction"],
        **_prefixed("source", entry["source"]),
        **_prefixed("destination", entry["destination"]),
        "unknown": False,
    }
    if entry.get("unknown"):
        yield {**common, "unknown": True}
    for pair in entry["fieldmap"]:
        fields = {"sourceField": pair["from"], "destinationField": pair["to"]}
        yield {**common, **fields, "influence": pair.get("influence", "direct")}


def _prefixed(prefix: str, dataset: Json | None) -> Json:
    """Return the names of a dataset as columns such as `sourceName`, or {} for None."""
    return {f"{prefix}{name.title()}": dataset[name] for name in ("namespace", "name")} if dataset else {}


@dataclass(frozen=True, kw_only=True)
class Lineage(WindowedWithFailed, DatasetQuery[tuple[LineageEntry, ...]]):
    """Return the column-level lineage upstream and downstream of a dataset, over several hops.

    >>> answer = client.lineage("bank", "RiskScores", direction="backward")
    >>> str(answer.body[0].source)
    'bank/CustomerAccounts'
    >>> answer.columns[2:5]
    ('sourceNamespace', 'sourceName', 'sourceField')
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage"
    result: ClassVar[str] = "By level, source and destination"
    table: ClassVar[TableShape] = TableShape(
        (
            *("level", "direction", "sourceNamespace", "sourceName", "sourceField"),
            *("destinationNamespace", "destinationName", "destinationField", "influence", "unknown"),
        ),
        _rows,
    )

    level: Annotated[int, About("Greatest number of hops in each direction", minimum=1)] = 1
    direction: AnyDirection = "both"
    indirect: Annotated[bool, About(INDIRECT_HELP)] = True

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[tuple[LineageEntry, ...]]:
        """Return the lineage. Raises NotFound for names that were never recorded."""
        window = self.window(now_ms)
        # First: the lineage may be what was read until the deadline, after which nothing can be read.
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        result = store.lineage(
            self.dataset,
            window,
            directions=directions(self.direction),
            level=self.level,
            indirect=self.indirect,
            failed=self.failed,
        )
        datasets = {
            end
            for entry in result.entries
            for end in (entry.relation.source, entry.relation.destination)
            if end is not None
        }
        retained_from_ms = store.retained_with_ms(datasets, window, retained_from_ms)
        entries = tuple(map(lineage_entry, result.entries))
        return Answer(entries, window, retained_from_ms, result.truncated_by)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the windows of the dataset in the directions of the query."""
        return FirstReads(contents=self.window_queries(self.dataset, self.direction, now_ms=now_ms))


def lineage_entry(entry: results.LineageEntry) -> LineageEntry:
    """Return an entry of the store as one of an answer."""
    relation = entry.relation
    return LineageEntry(
        source=None if relation.source is None else dataset_name(relation.source),
        destination=None if relation.destination is None else dataset_name(relation.destination),
        fieldmap=tuple(_pairs(entry)),
        level=entry.level,
        direction=flow_word(entry.direction),
        unknown=relation.unknown,
    )


def _pairs(entry: results.LineageEntry) -> Iterator[Pair]:
    """Yield the pairs of an entry, sorted, null first, with `failed` if only failed runs have them."""
    relation, complete = entry.relation, entry.complete
    failed: frozenset[FieldPair] = frozenset()
    failed_wide: frozenset[str] = frozenset()
    if complete is not None:
        # What complete runs have with another influence has not failed.
        failed = (relation.direct | relation.indirect) - complete.direct - complete.indirect
        failed_wide = relation.dataset_wide - complete.dataset_wide
    by_source: dict[str, list[FieldPair]] = defaultdict(list)
    # A pair that is both is direct.
    for pairs in (relation.direct, relation.indirect - relation.direct):
        for pair in pairs:
            by_source[pair[0] or ""].append(pair)
    for source in relation.dataset_wide - by_source.keys():
        by_source[source] = []
    # Source by source: while one sort of 250,000 pairs runs, no other request does, for half a second.
    for source in sorted(by_source):
        wide = (
            [_dataset_pair(source, failed=source in failed_wide)] if source in relation.dataset_wide else []
        )
        for pair in sorted(by_source[source], key=_destination):
            # Not before the pairs, which it follows where a field has this name.
            if wide and _destination(pair) > WHOLE_DATASET:
                yield wide.pop()
            influence: Influence = "direct" if pair in relation.direct else "indirect"
            yield Pair(source=pair[0], destination=pair[1], influence=influence, failed=pair in failed)
        yield from wide


def _destination(pair: FieldPair) -> str:
    """Return the destination of a pair, "" for null, which Python does not compare with text."""
    return pair[1] or ""


def _dataset_pair(source: str, *, failed: bool) -> Pair:
    """Return the pair of a field that influences a whole dataset."""
    return Pair(
        source=source, destination=WHOLE_DATASET, influence="indirect", scope="dataset", failed=failed
    )
