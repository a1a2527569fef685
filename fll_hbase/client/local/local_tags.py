"""Tags and policies of a store in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from fll_hbase.client.base import LIMIT_REACHED, Answer, truncation_hint
from fll_hbase.client.tag_base import FieldTagsQuery, RetentionQuestion, TagClient
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import FieldTag
from fll_hbase.queries import retention_json, tags_json, time_window
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import tag_bodies
from fll_hbase.store.inherited_tags import inherited_tags
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.retention_report import expired_query


class LocalTagClient(TagClient):
    """The part of a local client that is about tags and policies."""

    _store: LineageStore
    _clock: Callable[[], int]

    def send_tag(self, field: DatasetField, tag: str, body: Json) -> Answer:
        note = tag_bodies.read_note(json.dumps(body).encode()).note
        return Answer(tags_json.tag(self._store.tags.put(field, tag, note)[0]))

    def delete_tag(self, field: DatasetField, tag: str) -> None:
        self._store.tags.remove(field, tag)

    def ask_field_tags(self, query: FieldTagsQuery, *, limit: int) -> Answer:
        if not query.inherited:
            return first_items(map(tags_json.tag, self._store.tags.field_tags(query.field)), "tags", limit)
        window = time_window.parse_window(query.window.start, query.window.end, now_ms=self._clock())
        result = inherited_tags(self._store, query.field, window, level=query.level)
        answer = first_items(map(tags_json.inherited_tag, result.tags), "tags", limit)
        return Answer(answer.body, answer.incomplete or truncation_hint(result.truncated_by))

    def ask_dataset_tags(self, dataset: Dataset, *, limit: int) -> Answer:
        return first_items(map(tags_json.tag, self._store.tags.dataset_tags(dataset)), "tags", limit)

    def ask_tags(self, *, limit: int) -> Answer:
        return first_items(self._store.tags.tags(), "tags", limit)

    def ask_tagged_fields(self, tag: str, *, limit: int) -> Answer:
        """Read pages of the fields with a tag, which may be short, up to the limit."""
        tags: list[FieldTag] = []
        next_after: DatasetField | None = None
        while True:
            page = self._store.tags.tagged(tag, limit=limit - len(tags), start_after=next_after)
            tags += page.tags
            next_after = page.next_after
            if next_after is None or len(tags) == limit:
                return Answer(tags_json.tagged_fields(tag, tags), LIMIT_REACHED if next_after else "")

    def send_policy(self, name: str, body: Json) -> Answer:
        policy = tag_bodies.read_policy(json.dumps(body).encode(), name=name).policy
        return Answer(tags_json.policy(self._store.policies.put(policy)[0]))

    def delete_policy(self, name: str) -> None:
        self._store.policies.remove(name)

    def ask_policies(self, *, limit: int) -> Answer:
        return first_items(map(tags_json.policy, self._store.policies.policies()), "policies", limit)

    def ask_retention(self, question: RetentionQuestion) -> Answer:
        # One `now` for the window and for the age.
        now = self._clock()
        policy = self._store.policies.get(question.policy)
        window = time_window.parse_window(question.window.start, question.window.end, now_ms=now)
        query = expired_query(
            policy, window=window, now_ms=now, indirect=question.indirect, failed=question.failed
        )
        report = self._store.retention_report(query)
        return Answer(retention_json.retention_report(report), truncation_hint(report.truncated_by))


def first_items(items: Iterator[Any], member: str, limit: int) -> Answer:
    """Return the first `limit` items as a list."""
    page = list(islice(items, limit + 1))
    return Answer({member: page[:limit]}, LIMIT_REACHED if len(page) > limit else "")
