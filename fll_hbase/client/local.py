"""Client of a store in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from fll_hbase import openlineage_export, rest_json, time_window
from fll_hbase.client.base import (
    LIMIT_REACHED,
    Answer,
    FieldQuery,
    LineageClient,
    LineageQuery,
    WindowText,
    truncation_hint,
)
from fll_hbase.clock import now_ms
from fll_hbase.config import Settings
from fll_hbase.errors import LineageError
from fll_hbase.ingest import DocumentReader, RecordResult, ingest
from fll_hbase.ingest.batches import LocatedDocument
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction, Window
from fll_hbase.sources import name_rules
from fll_hbase.store.lineage_store import BOTH, LineageStore
from fll_hbase.store.read.catalogue import SearchHit

PAGE_RUNS = 1_000


class LocalClient(LineageClient):
    """Client of a store in this process; `close` closes the store if it is `owned`.

    `clock` returns the `now` of windows in milliseconds since 1970; it is called once for each query.
    """

    def __init__(
        self,
        store: LineageStore,
        *,
        settings: Settings | None = None,
        clock: Callable[[], int] = now_ms,
        owned: bool = False,
    ) -> None:
        self._store = store
        self._settings = settings or Settings()
        self._clock = clock
        self._owned = owned

    def record(
        self, documents: Sequence[LocatedDocument], *, wait_seconds: float | None = None
    ) -> list[RecordResult | LineageError]:
        now = self._clock()
        return ingest(
            self._store,
            [
                document.line.error
                or self._reader.try_read(
                    document.line.raw, document.head, namespace=document.namespace or None, now_ms=now
                )
                for document in documents
            ],
        )

    # Built on first use: an invalid FLL_NAME_RULES must not stop queries, which need no reader.
    @cached_property
    def _reader(self) -> DocumentReader:
        return DocumentReader(
            columns=self._store.catalogue.field_names,
            name_rules=name_rules.parse_rules(self._settings.name_rules),
        )

    def lineage(self, query: LineageQuery) -> Answer:
        result = self._store.lineage(
            query.dataset,
            self._window(query.window),
            directions=BOTH if query.direction == "both" else (Direction(query.direction),),
            level=query.level,
            indirect=query.indirect,
            failed=query.failed,
        )
        return Answer(rest_json.dataset_lineage(result), truncation_hint(result.truncated_by))

    def field(self, query: FieldQuery) -> Answer:
        result = self._store.field_lineage(
            query.field,
            self._window(query.window),
            direction=Direction(query.direction),
            simple=query.view == "simple",
            indirect=query.indirect,
            failed=query.failed,
        )
        return Answer(rest_json.field_lineage(result), truncation_hint(result.truncated_by))

    def runs(self, dataset: Dataset, window: WindowText, *, limit: int) -> Answer:
        # One `now` for the window and for the state of a running run, which is left out after long silence.
        now = self._clock()
        page = self._store.runs(dataset, _parse(window, now), limit=limit)
        runs = [rest_json.run(run, now_ms=now) for run in page.runs]
        return Answer({"runs": runs}, LIMIT_REACHED if page.next_after else "")

    def export(self, dataset: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        # The window is parsed once: if `now` moved between pages, the pages would be of different windows.
        bounds, next_after = self._window(window), b""
        while True:
            page = self._store.runs(dataset, bounds, limit=PAGE_RUNS, start_after=next_after)
            runs = self._store.run_details(page)
            aliases = self._store.catalogue.aliases(openlineage_export.datasets_of_runs(runs))
            yield from openlineage_export.run_events(runs, aliases)
            next_after = page.next_after
            if not next_after:
                return

    def find(self, text: str, *, limit: int) -> Answer:
        hits: list[SearchHit] = []
        next_after: SearchHit | None = None
        # A search page may be short of hits and not be the last: it ends after `datasets_max` datasets, too.
        while True:
            page = self._store.catalogue.search(
                text,
                start_after=next_after,
                limit=limit - len(hits),
                datasets_max=self._settings.search_end_points_max,
            )
            hits += page.results
            next_after = page.next_after
            if next_after is None or len(hits) == limit:
                results = [rest_json.search_hit(hit) for hit in hits]
                return Answer({"results": results}, LIMIT_REACHED if next_after else "")

    def close(self) -> None:
        if self._owned:
            self._store.close()

    def _window(self, window: WindowText) -> Window:
        return _parse(window, self._clock())


def _parse(window: WindowText, now_ms: int) -> Window:
    return time_window.parse_window(window.start, window.end, now_ms=now_ms)
