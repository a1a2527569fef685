"""Client of a store in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec

from fll_hbase.client.connection import Connection
from fll_hbase.ingest import DocumentReader, RecordResult, ingest
from fll_hbase.ingest.document_batches import LocatedDocument
from fll_hbase.queries import query as queries
from fll_hbase.queries.policies import Policy, PolicyBody, PolicyByName, policy_body
from fll_hbase.queries.query import BodyT, Query
from fll_hbase.queries.query_batch import BatchAnswer
from fll_hbase.queries.tags import Tag, TagBody, TagOfField, tag_body
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.sources import name_rules, tag_bodies
from fll_hbase.store.lineage_store import LineageStore


class LocalClient(Connection):
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
        self,
        documents: Sequence[LocatedDocument],
        *,
        take_over: bool = False,
        wait_seconds: float | None = None,
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
            take_over=take_over,
        )

    # Built on first use: an invalid FLL_NAME_RULES must not stop queries, which need no reader.
    @cached_property
    def _reader(self) -> DocumentReader:
        return DocumentReader(
            columns=self._store.catalogue.field_names,
            name_rules=name_rules.parse_rules(self._settings.name_rules),
        )

    def read_answer(self, query: Query[BodyT]) -> queries.Answer[BodyT]:
        return query.answer(self._store, now_ms=self._clock())

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

    def read_batch(self, queries: Sequence[Mapping[str, str]]) -> BatchAnswer:
        """Raise ConfigurationError: only a server answers batches."""
        raise ConfigurationError("a batch of questions needs a server: give its URL; fll serve starts one")

    def close(self) -> None:
        if self._owned:
            self._store.close()
