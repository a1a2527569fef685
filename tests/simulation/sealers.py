"""Sealing as steps of a schedule, not in a thread: what readers offer is sealed later, or never."""

from __future__ import annotations

from random import Random

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_days import DaysByContent
from fll_hbase.store.write.sealing import DaySealer, SealRequest, requests_of


class OfferedDays:
    """Notes the unsealed days that queries offer, and which days the latest query of a dataset read."""

    def __init__(self, sealer: DaySealer) -> None:
        self.sealer = sealer
        self._latest: dict[tuple[Direction, Dataset], DaysByContent] = {}
        self._requests: dict[SealRequest, None] = {}

    def offer(self, query: WindowQuery, contents: DaysByContent) -> None:
        self._latest[query.direction, query.dataset] = contents
        self._requests |= dict.fromkeys(requests_of(query, contents, self.sealer.old_ms()))

    def close(self) -> None:
        self._requests.clear()

    def latest(self, direction: Direction, dataset: Dataset) -> DaysByContent:
        """Return the sealed and unsealed days as the latest query of a dataset read them."""
        return self._latest[direction, dataset]

    def seal(self, random: Random) -> int:
        """Seal what was offered, in any order; return how many days were. What a fault interrupts is lost."""
        requests, self._requests = list(self._requests), {}
        random.shuffle(requests)
        return self.sealer.seal(requests)


def offered(store: LineageStore) -> OfferedDays:
    """Return what queries of a store of a schedule offered."""
    sealer = store.components.sealer
    assert isinstance(sealer, OfferedDays)
    return sealer
