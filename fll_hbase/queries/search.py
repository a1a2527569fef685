"""Search: datasets and fields whose names contain a text."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.pages import Paged, decode_cursor, encode_cursor, invalid_cursor
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import Answer, Body, Query
from fll_hbase.queries.tables import TableShape, member_rows
from fll_hbase.store.read.name_search import MatchRank, SearchHit, SearchKind, SearchPosition

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class Hit(Body, frozen=True, kw_only=True):
    """A search hit: a dataset, or a field of it."""

    schema_name: ClassVar[str] = "Result"

    namespace: str
    name: str
    field: str = ""


class HitsAnswer(Body, frozen=True, kw_only=True):
    """A page of search hits."""

    schema_name: ClassVar[str] = "Results"

    results: tuple[Hit, ...]


@dataclass(frozen=True)
class Search(Paged, Query[HitsAnswer]):
    """List the datasets and fields whose names contain a text, ignoring case, the best match first.

    Names equal to the text come first, then names that begin with it, then names that contain it. `kind`
    selects datasets (`endpoint`) or fields. A page examines FLL_SEARCH_END_POINTS_MAX datasets, so it may
    have fewer results than its limit although a next page exists.

    >>> [hit.name for hit in client.search("risksc").body.results]
    ['RiskScores']
    """

    path: ClassVar[str] = "/v3/search"
    result: ClassVar[str] = "Whole names, prefixes, other parts of names"
    statuses: ClassVar[tuple[int, ...]] = (400, 503)
    items: ClassVar[str] = "results"
    table: ClassVar[TableShape] = TableShape(("namespace", "name", "field"), member_rows("results"))

    text: Annotated[str, About("Part of a name, ignoring case", name="q", minimum=1)]
    kind: Annotated[
        Literal["", "endpoint", "field"],
        About("Only datasets (`endpoint`) or only fields (default: both)"),
    ] = dataclasses.field(default="", kw_only=True)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[HitsAnswer]:
        """Return a page of hits."""
        page = store.catalogue.search(
            self.text,
            kind=SearchKind(self.kind) if self.kind else None,
            start_after=_position(self.cursor),
            limit=self.page_limit(store),
            # A rare text may occur only after millions of names: the bound ends the page, not the search.
            datasets_max=store.settings.search_end_points_max,
        )
        hits = (
            Hit(namespace=hit.dataset.namespace, name=hit.dataset.name, field=hit.field)
            for hit in page.results
        )
        return Answer(HitsAnswer(results=tuple(hits)), cursor=_cursor(page.next_after))


def _cursor(position: SearchPosition | None) -> str:
    """Return the cursor of a position in the search, or "" for None."""
    if position is None:
        return ""
    rank, last = position
    return encode_cursor(str(rank.value), last.dataset.namespace, last.dataset.name, last.field)


def _position(cursor: str | None) -> SearchPosition | None:
    """Return the position that `_cursor` encoded, or None for None. Raises InvalidQuery."""
    if cursor is None:
        return None
    rank, namespace, name, field = decode_cursor(cursor, 4)
    if rank not in [str(match.value) for match in MatchRank]:
        raise invalid_cursor()
    return SearchPosition(MatchRank(int(rank)), SearchHit(Dataset(namespace, name), field))
