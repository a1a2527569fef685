"""Tags and policies of a server."""

from __future__ import annotations

from msgspec import to_builtins

from fll_hbase.client.base import Answer
from fll_hbase.client.remote import problems
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.remote_answers import decode, truncatable
from fll_hbase.client.tag_base import RetentionQuestion, TagClient
from fll_hbase.queries.policies import Policy, PolicyBody, PolicyByName
from fll_hbase.queries.tags import Tag, TagBody, TagOfField


class HttpTagClient(TagClient):
    """The part of a client of a server that is about tags and policies."""

    _session: HttpSession

    def send_tag(self, tag: TagOfField, body: TagBody) -> Tag:
        """Send PUT …/fields/<field>/tags/<tag>."""
        response = self._session.send_json("PUT", *tag.segments(), body=to_builtins(body))
        return decode(tag, response).body

    def delete_tag(self, tag: TagOfField) -> None:
        """Send DELETE …/fields/<field>/tags/<tag>."""
        self._session.delete(*tag.segments())

    def send_policy(self, policy: PolicyByName, body: PolicyBody) -> Policy:
        """Send PUT /v3/policies/<policy>."""
        response = self._session.send_json("PUT", *policy.segments(), body=to_builtins(body))
        return decode(policy, response).body

    def delete_policy(self, policy: PolicyByName) -> None:
        """Send DELETE /v3/policies/<policy>."""
        self._session.delete(*policy.segments())

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
