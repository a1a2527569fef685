"""Tags and policies of a server."""

from __future__ import annotations

from dataclasses import replace

from fll_hbase.client.base import Answer
from fll_hbase.client.remote import problems
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.remote_answers import read_pages, truncatable
from fll_hbase.client.tag_base import FieldTagsQuery, RetentionQuestion, TagClient
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.runtime.json_types import Json


class HttpTagClient(TagClient):
    """The part of a client of a server that is about tags and policies."""

    _session: HttpSession

    def send_tag(self, field: DatasetField, tag: str, body: Json) -> Answer:
        """Send PUT …/fields/<field>/tags/<tag>."""
        response = self._session.send_json("PUT", *_tags_path(field), tag, body=body)
        return Answer(_without_warnings(problems.json_body(response, "tag", "at")))

    def delete_tag(self, field: DatasetField, tag: str) -> None:
        """Send DELETE …/fields/<field>/tags/<tag>."""
        self._session.delete(*_tags_path(field), tag)

    def ask_field_tags(self, query: FieldTagsQuery, *, limit: int) -> Answer:
        """Send GET …/fields/<field>/tags, and follow its links up to the limit."""
        params = {"start": query.window.start, "end": query.window.end} if query.inherited else {}
        params |= {"inherited": str(query.inherited).lower()}
        if query.level is not None:
            params["level"] = str(query.level)
        answer = read_pages(self._session, "tags", *_tags_path(query.field), params=params, limit=limit)
        return replace(answer, next_page={}, retained_from_ms=None)

    def ask_dataset_tags(self, dataset: Dataset, *, limit: int) -> Answer:
        """Send GET …/endpoints/<name>/tags, and follow its links up to the limit."""
        path = "v3", "namespaces", dataset.namespace, "endpoints", dataset.name, "tags"
        return read_pages(self._session, "tags", *path, params={}, limit=limit)

    def ask_tags(self, *, limit: int) -> Answer:
        """Send GET /v3/tags, and follow its links up to the limit."""
        return read_pages(self._session, "tags", "v3", "tags", params={}, limit=limit)

    def ask_tagged_fields(self, tag: str, *, limit: int) -> Answer:
        """Send GET /v3/tags/<tag>, and follow its links up to the limit."""
        answer = read_pages(self._session, "fields", "v3", "tags", tag, params={}, limit=limit)
        return replace(answer, body={"tag": tag, **answer.body})

    def send_policy(self, name: str, body: Json) -> Answer:
        """Send PUT /v3/policies/<policy>."""
        response = self._session.send_json("PUT", "v3", "policies", name, body=body)
        return Answer(_without_warnings(problems.json_body(response, "name", "maxAge")))

    def delete_policy(self, name: str) -> None:
        """Send DELETE /v3/policies/<policy>."""
        self._session.delete("v3", "policies", name)

    def ask_policies(self, *, limit: int) -> Answer:
        """Send GET /v3/policies, and follow its links up to the limit."""
        return read_pages(self._session, "policies", "v3", "policies", params={}, limit=limit)

    def ask_retention(self, question: RetentionQuestion) -> Answer:
        """Send GET /v3/reports/retention."""
        params = {
            "policy": question.policy,
            "start": question.window.start,
            "end": question.window.end,
            "indirect": str(question.indirect).lower(),
            "failed": str(question.failed).lower(),
        }
        response = self._session.get("v3", "reports", "retention", params=params)
        return truncatable(problems.json_body(response, "policy", "window", "fields", "truncated"))


def _tags_path(field: DatasetField) -> tuple[str, ...]:
    dataset = field.dataset
    return "v3", "namespaces", dataset.namespace, "endpoints", dataset.name, "fields", field.name, "tags"


def _without_warnings(body: Json) -> Json:
    return {member: value for member, value in body.items() if member != "warnings"}
