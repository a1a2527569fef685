"""Tags and policies of a store in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from fll_hbase.client.base import LIMIT_REACHED, Answer, truncation_hint
from fll_hbase.client.tag_base import RetentionQuestion, TagClient
from fll_hbase.queries import retention_json, tags_json, time_window
from fll_hbase.queries.tags import Tag, TagOfField, tag_body
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import tag_bodies
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.retention_report import expired_query


class LocalTagClient(TagClient):
    """The part of a local client that is about tags and policies."""

    _store: LineageStore
    _clock: Callable[[], int]

    def send_tag(self, tag: TagOfField, body: Json) -> Tag:
        note = tag_bodies.read_note(json.dumps(body).encode()).note
        return tag_body(self._store.tags.put(tag.dataset_field, tag.tag, note)[0])

    def delete_tag(self, tag: TagOfField) -> None:
        self._store.tags.remove(tag.dataset_field, tag.tag)

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
