"""One field: its type, whether and when it was read and written, and its tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import msgspec

from fll_hbase.queries.catalogue import ListedField, listed_field
from fll_hbase.queries.query import Answer, FieldQuery
from fll_hbase.runtime.errors import FieldError, InvalidQuery

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class FieldDetailsAnswer(ListedField, frozen=True, kw_only=True):
    """A field, and the names of its tags."""

    tags: tuple[str, ...]


@dataclass(frozen=True)
class FieldDetails(FieldQuery[FieldDetailsAnswer]):
    """Return what is recorded about one field. 404 if no recorded run read or wrote it.

    The answer has the members that the list of fields has for a field, and `tags`, the names of its own tags.
    For a field named `lineage` write `%6Cineage` in the URL: `fields/lineage` is another query. In Python,
    list the fields with this prefix instead.

    >>> body = client.field("bank", "RiskScores", "segment").body
    >>> body.type, body.written, body.tags
    ('string', True, ())
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}"
    result: ClassVar[str] = "OK"

    def check(self) -> None:
        """Raise InvalidQuery also for a field named `lineage`, because clients cannot write its path."""
        super().check()
        if self.field == "lineage":
            raise InvalidQuery([FieldError("field", "lineage has the path of another query; use `fields`")])

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[FieldDetailsAnswer]:
        """Return the field. Raises NotFound, and errors of the store."""
        listed = listed_field(store.field_writes.field(self.dataset_field))
        tags = tuple(entry.tag for entry in store.tags.field_tags(self.dataset_field))
        return Answer(FieldDetailsAnswer(**msgspec.structs.asdict(listed), tags=tags))
