"""Tags and policies of a server."""

from __future__ import annotations

from fll_hbase.client.base import Answer
from fll_hbase.client.remote import problems
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.remote_answers import decode, read_pages, truncatable
from fll_hbase.client.tag_base import RetentionQuestion, TagClient
from fll_hbase.queries.tags import Tag, TagOfField
from fll_hbase.runtime.json_types import Json


class HttpTagClient(TagClient):
    """The part of a client of a server that is about tags and policies."""

    _session: HttpSession

    def send_tag(self, tag: TagOfField, body: Json) -> Tag:
        """Send PUT …/fields/<field>/tags/<tag>."""
        return decode(tag, self._session.send_json("PUT", *tag.segments(), body=body)).body

    def delete_tag(self, tag: TagOfField) -> None:
        """Send DELETE …/fields/<field>/tags/<tag>."""
        self._session.delete(*tag.segments())

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


def _without_warnings(body: Json) -> Json:
    return {member: value for member, value in body.items() if member != "warnings"}
