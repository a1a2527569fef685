"""Tags and policies: questions about them, and what both clients implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from fll_hbase.client.base import Answer, WindowText
from fll_hbase.queries.policies import Policy, PolicyBody, PolicyByName
from fll_hbase.queries.tags import Tag, TagBody, TagOfField


@dataclass(frozen=True, slots=True)
class RetentionQuestion:
    """A retention report of a policy."""

    policy: str
    window: WindowText
    indirect: bool
    failed: bool


class TagClient(ABC):
    """Reads and changes tags and policies; every method raises LineageError."""

    @abstractmethod
    def send_tag(self, tag: TagOfField, body: TagBody) -> Tag:
        """Give a field a tag with a note; return the tag."""

    @abstractmethod
    def delete_tag(self, tag: TagOfField) -> None:
        """Remove a tag from a field. Raises NotFound if the field does not have it."""

    @abstractmethod
    def send_policy(self, policy: PolicyByName, body: PolicyBody) -> Policy:
        """Put a policy; return it."""

    @abstractmethod
    def delete_policy(self, policy: PolicyByName) -> None:
        """Remove a policy. Raises NotFound."""

    @abstractmethod
    def ask_retention(self, question: RetentionQuestion) -> Answer:
        """Return where data is older than a policy allows."""
