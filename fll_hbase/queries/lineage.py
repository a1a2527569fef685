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
    """A source and a destination field. A generated field has no source, a dropped field no destination."""

    source: str | None = msgspec.field(name="from")
    destination: str | None = msgspec.field(name="to")
    influence: Influence = "direct"
    scope: Literal["dataset"] | None = None
    failed: Annotated[bool, Failed] = False


class LineageEntry(Body, frozen=True, kw_only=True):
    """The field pairs between two datasets; `level` is the hop, from 1, at which they were reached.

    `source` is None for generated fields, and `destination` is None for dropped fields. `unknown` is true if
    the datasets are related but no field is known.
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
        """Return the source and the destination as text, `(generated)` or `(dropped)` for None."""
        return str(self.source or "(generated)"), str(self.destination or "(dropped)")


def _rows(entries: Sequence[Json]) -> list[Row]:
    """Return a row for each field pair of all entries, and for each entry with unknown fields."""
    return [row for entry in entries for row in _entry_rows(entry)]


def _entry_rows(entry: Json) -> Iterator[Row]:
    """Yield a row for the entry itself if its fields are unknown, then a row for each of its field pairs."""
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

    Each entry has the field pairs between two datasets. `level` bounds the hops in each direction, up to
    FLL_LEVEL_MAX. A pair whose destination is `*` influences every row of the dataset. Without `indirect`,
    pairs from filters, joins and the like are left out. `failed` adds the pairs of failed and aborted runs.
    Datasets whose fields relate in an unknown way have an entry without pairs, marked `unknown`. All entries
    together have at most FLL_PAIRS_MAX pairs.

    >>> answer = client.lineage("bank", "RiskScores", direction="backward", level=2)
    >>> sorted({str(entry.source) for entry in answer.body if entry.level == 1})
    ['bank/CustomerAccounts', 'bank/FraudFeatures']
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

    level: Annotated[int, About("Maximum number of hops in each direction", minimum=1)] = 1
    direction: AnyDirection = "both"
    indirect: Annotated[bool, About(INDIRECT_HELP)] = True

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[tuple[LineageEntry, ...]]:
        """Return the lineage. Raises InvalidQuery, NotFound for an unknown dataset, and store errors."""
        window = self.window(now_ms)
        # Read first: the lineage may use up the time of the request, after which nothing can be read.
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        result = store.lineage(
            self.dataset,
            window,
            directions=directions(self.direction),
            level=self.level,
            indirect=self.indirect,
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
    """Return an entry of the store in the form of an answer."""
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
    """Yield the sorted pairs of an entry, None first. `failed` marks pairs that only failed runs have."""
    relation, complete = entry.relation, entry.complete
    failed: frozenset[FieldPair] = frozenset()
    failed_wide: frozenset[str] = frozenset()
    if complete is not None:
        # A pair that a complete run has is not marked as failed, whatever its influence.
        failed = (relation.direct | relation.indirect) - complete.direct - complete.indirect
        failed_wide = relation.dataset_wide - complete.dataset_wide
    by_source: dict[str, list[FieldPair]] = defaultdict(list)
    # A pair that is direct and indirect is listed as direct.
    for pairs in (relation.direct, relation.indirect - relation.direct):
        for pair in pairs:
            by_source[pair[0] or ""].append(pair)
    for source in relation.dataset_wide - by_source.keys():
        by_source[source] = []
    # Sort source by source: one sort of 250,000 pairs would block all other requests for half a second.
    for source in sorted(by_source):
        wide = (
            [_dataset_pair(source, failed=source in failed_wide)] if source in relation.dataset_wide else []
        )
        for pair in sorted(by_source[source], key=_destination):
            # The pair with `*` is sorted among the others, and after a field that is named `*`.
            if wide and _destination(pair) > WHOLE_DATASET:
                yield wide.pop()
            influence: Influence = "direct" if pair in relation.direct else "indirect"
            yield Pair(source=pair[0], destination=pair[1], influence=influence, failed=pair in failed)
        yield from wide


def _destination(pair: FieldPair) -> str:
    """Return the destination of a pair, "" for None, which Python cannot compare with text."""
    return pair[1] or ""


def _dataset_pair(source: str, *, failed: bool) -> Pair:
    """Return the pair of a field that influences a whole dataset."""
    return Pair(
        source=source, destination=WHOLE_DATASET, influence="indirect", scope="dataset", failed=failed
    )
