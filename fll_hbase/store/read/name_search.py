"""Search by parts of names: how well names match, and the hits of a scan in order, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from fll_hbase.model.datasets import Dataset


class MatchRank(IntEnum):
    """How well a name matches a string, best first; stored in cursors."""

    EXACT = 0
    PREFIX = 1
    INSIDE = 2


class SearchKind(Enum):
    """The kind of name to search for."""

    ENDPOINT = "endpoint"
    FIELD = "field"


@dataclass(frozen=True, slots=True, order=True)
class SearchHit:
    """A search result: a field of a dataset, or the dataset itself if the field is empty."""

    dataset: Dataset
    field: str = ""


class SearchPosition(NamedTuple):
    """A place in the order of results: after `hit` within one rank."""

    rank: MatchRank
    hit: SearchHit


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits in order; `next_after` is the `start_after` of the next page, None on the last one."""

    results: tuple[SearchHit, ...]
    next_after: SearchPosition | None


BEFORE_ALL = SearchHit(Dataset("", ""))
"""Sorts before every hit, since names are not empty."""


def match_rank(name: str, folded: str) -> MatchRank | None:
    """Return how a name matches a string that is already case-folded, or None if it does not contain it."""
    name = name.casefold()
    if folded not in name:
        return None
    if name == folded:
        return MatchRank.EXACT
    return MatchRank.PREFIX if name.startswith(folded) else MatchRank.INSIDE


class HitCollector:
    """Collects the hits of one scan, from a position in the order of results.

    A scan that begins at the first dataset also finds the hits of all later ranks. It collects as many of
    them as a page may have, so a page scans a catalogue at most twice. `searched` is the position reached.
    """

    def __init__(self, text: str, kind: SearchKind | None, start: SearchPosition, *, limit: int) -> None:
        self._folded = text.casefold()
        self._kind = kind
        self._start = start
        self._limit = limit
        self._by_rank: dict[MatchRank, list[SearchHit]] = {
            rank: [] for rank in MatchRank if rank >= start.rank
        }
        self.searched = start

    @property
    def count(self) -> int:
        """Return the number of hits collected for the rank at which the scan began: at most `limit` + 1."""
        return len(self._by_rank[self._start.rank])

    @property
    def finds_all_ranks(self) -> bool:
        """Return whether the hits of all later ranks are complete once the scan has ended.

        That is the case if the scan began at the first dataset, or if there is no later rank.
        """
        return self._start.hit == BEFORE_ALL or self._start.rank == MatchRank.INSIDE

    def add(self, dataset: Dataset, fields: Sequence[str]) -> None:
        """Add the hits among a dataset and its fields, which must be sorted; move `searched` past them."""
        candidates = [SearchHit(dataset), *(SearchHit(dataset, field) for field in fields)]
        for candidate in candidates:
            rank = self._rank(candidate)
            # One hit more than a page can have shows that there is a next page.
            if rank in self._by_rank and len(self._by_rank[rank]) <= self._limit:
                self._by_rank[rank].append(candidate)
        self.searched = SearchPosition(self._start.rank, candidates[-1])

    def hits(self, *, all_ranks: bool) -> list[SearchPosition]:
        """Return the hits in order, of the rank at which the scan began, or of it and all later ranks."""
        ranks = self._by_rank if all_ranks else [self._start.rank]
        return [SearchPosition(rank, hit) for rank in ranks for hit in self._by_rank[rank]]

    def _rank(self, candidate: SearchHit) -> MatchRank | None:
        """Return the rank of a candidate, or None if it does not match or was on an earlier page."""
        if self._kind is not None and (self._kind is SearchKind.FIELD) != bool(candidate.field):
            return None
        rank = match_rank(candidate.field or candidate.dataset.name, self._folded)
        return None if rank == self._start.rank and candidate <= self._start.hit else rank


def build_page(
    hits: Sequence[SearchPosition], *, limit: int, next_after: SearchPosition | None = None
) -> SearchPage:
    """Return the first `limit` hits; if there are more, the next page follows them, else `next_after`."""
    if len(hits) > limit:
        hits, next_after = hits[:limit], hits[limit - 1]
    return SearchPage(tuple(position.hit for position in hits), next_after)
