"""Questions answered by a store of this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase import openlineage_export, rest_json, time_window
from fll_hbase.cli.options import WindowText
from fll_hbase.client.queries import MORE, Answer, FieldAsked, LineageAsked, bounded_by
from fll_hbase.model.operations import Dataset
from fll_hbase.model.runs import Direction, Window
from fll_hbase.store.lineage_store import BOTH, LineageStore
from fll_hbase.store.read.catalogue import Found

PAGE_RUNS = 1_000


class StoreSide:
    """A store, asked at one moment: that is `now` in all its windows."""

    def __init__(self, store: LineageStore, *, now_ms: int, end_points_max: int) -> None:
        self._store = store
        self._now_ms = now_ms
        self._end_points_max = end_points_max

    def lineage(self, asked: LineageAsked) -> Answer:
        found = self._store.lineage(
            asked.end_point,
            self._window(asked.window),
            directions=BOTH if asked.direction == "both" else (Direction(asked.direction),),
            level=asked.level,
            indirect=asked.indirect,
            failed=asked.failed,
        )
        return Answer(rest_json.high_level(found), bounded_by(found.truncated_by))

    def field(self, asked: FieldAsked) -> Answer:
        found = self._store.field_lineage(
            asked.field,
            self._window(asked.window),
            direction=Direction(asked.direction),
            simple=asked.view == "simple",
            indirect=asked.indirect,
            failed=asked.failed,
        )
        return Answer(rest_json.field_lineage(found), bounded_by(found.truncated_by))

    def runs(self, end_point: Dataset, window: WindowText, *, limit: int) -> Answer:
        page = self._store.runs(end_point, self._window(window), limit=limit)
        told = [rest_json.run(run, now_ms=self._now_ms) for run in page.runs]
        return Answer({"runs": told}, MORE if page.after else "")

    def export(self, end_point: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        asked, after = self._window(window), b""
        while True:
            page = self._store.runs(end_point, asked, limit=PAGE_RUNS, after=after)
            told = self._store.told(page)
            yield from openlineage_export.events(
                told, self._store.catalogue.aliases(openlineage_export.end_points(told))
            )
            after = page.after
            if not after:
                return

    def find(self, text: str, *, limit: int) -> Answer:
        results: list[Found] = []
        after: Found | None = None
        while True:
            page = self._store.catalogue.search(
                text, after=after, limit=limit - len(results), end_points_max=self._end_points_max
            )
            results += page.results
            after = page.after
            if after is None or len(results) == limit:
                return Answer(
                    {"results": [rest_json.found(found) for found in results]}, MORE if after else ""
                )

    def _window(self, asked: WindowText) -> Window:
        return time_window.window(asked.start, asked.end, now_ms=self._now_ms)
