"""Documents that a server received recently: their senders and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from fll_hbase.queries import time_window
from fll_hbase.queries.parameters import About, Time, time_text
from fll_hbase.queries.query import Answer, Body, Query
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class Event(Body, frozen=True, kw_only=True):
    """One document that a client sent. Unknown facts are left out."""

    schema_name: ClassVar[str] = "ActivityEvent"

    time: Annotated[int, msgspec.Meta(description="Milliseconds since 1970")]
    outcome: Literal["recorded", "replaced", "repeated", "refused"]
    route: Annotated[
        str, msgspec.Meta(description="As in this document; the path itself if no route serves it")
    ]
    sender: Annotated[str, msgspec.Meta(description="The principal, with authentication")] = ""
    client: Annotated[str, msgspec.Meta(description="The User-Agent")] = ""
    namespace: str = ""
    program: Annotated[str, msgspec.Meta(description="Or the dataset that metadata is about")] = ""
    run: Annotated[str, msgspec.Meta(description="The first run of the document")] = ""
    warnings: Annotated[int, msgspec.Meta(description="How many parts were left out or are doubtful")] = 0
    reasons: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="The first warnings, or why the document was refused"),
    ] = ()


class EventsAnswer(Body, frozen=True, kw_only=True):
    """Recent documents, newest first."""

    schema_name: ClassVar[str] = "Activity"

    events: tuple[Event, ...]
    covers: Annotated[str, msgspec.Meta(description="The documents that the list can contain")]
    truncated: Annotated[bool, msgspec.Meta(description="True if `limit` left any out")]


def _rows(body: Json) -> list[Row]:
    return [{"warnings": 0, **item, "reasons": "; ".join(item.get("reasons", ()))} for item in body["events"]]


_TABLE = TableShape(
    (
        *("time", "outcome", "route", "sender", "client"),
        *("namespace", "program", "run", "warnings", "reasons"),
    ),
    _rows,
    times=("time",),
)


@dataclass(frozen=True, kw_only=True)
class Events(Query[EventsAnswer]):
    """List recent documents: from whom, accepted, with warnings, or refused and why.

    `since` (included) bounds the time of arrival, and `limit` the documents, at most 1,000. `outcome` selects
    documents that were accepted, accepted with warnings, or refused. With authentication, a caller who is not
    an administrator sees its own documents. It sees documents of other senders only if they were not refused
    and their program is in a namespace that it may read, without the texts of warnings. Only a server
    answers: for a store, Python raises ConfigurationError.
    """

    path: ClassVar[str] = "/v3/events"
    result: ClassVar[str] = "Newest first"
    statuses: ClassVar[tuple[int, ...]] = (400,)
    table: ClassVar[TableShape] = _TABLE

    since: Annotated[Time, About("Epoch seconds, ISO 8601 or `now-5m`; default `now-1h`")] = "now-1h"
    outcome: Annotated[
        Literal["", "accepted", "warned", "refused"],
        About("Only documents that were accepted, accepted with warnings, or refused"),
    ] = ""
    limit: Annotated[int, About(minimum=1, maximum=1_000)] = 100

    def since_ms(self, *, now_ms: int) -> int:
        """Return the earliest time of arrival, included, in milliseconds since 1970. Raises ValueError."""
        return ceil(time_window.parse_seconds(time_text(self.since), now_ms=now_ms) * 1000)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[EventsAnswer]:
        """Raise ConfigurationError: only a server receives documents."""
        raise ConfigurationError("documents arrive at a server: give its URL; fll serve starts one")
