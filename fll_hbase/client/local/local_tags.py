"""Tags and policies of a store in this process."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fll_hbase.client.base import Answer, truncation_hint
from fll_hbase.client.tag_base import RetentionQuestion, TagClient
from fll_hbase.queries import retention_json, time_window
from fll_hbase.queries.policies import Policy, PolicyBody, PolicyByName, policy_body
from fll_hbase.queries.tags import Tag, TagBody, TagOfField, tag_body
from fll_hbase.sources import tag_bodies
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.retention_report import expired_query


class LocalTagClient(TagClient):
    """The part of a local client that is about tags and policies."""

    _store: LineageStore
    _clock: Callable[[], int]

    def send_tag(self, tag: TagOfField, body: TagBody) -> Tag:
        note = tag_bodies.read_note(msgspec.json.encode(body)).note
        return tag_body(self._store.tags.put(tag.dataset_field, tag.tag, note)[0])

    def delete_tag(self, tag: TagOfField) -> None:
        self._store.tags.remove(tag.dataset_field, tag.tag)

    def send_policy(self, policy: PolicyByName, body: PolicyBody) -> Policy:
        parsed = tag_bodies.read_policy(msgspec.json.encode(body), name=policy.policy)
        return policy_body(self._store.policies.put(parsed.policy)[0])

    def delete_policy(self, policy: PolicyByName) -> None:
        self._store.policies.remove(policy.policy)

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
