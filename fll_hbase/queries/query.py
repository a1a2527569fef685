"""Queries: typed parameters and a typed answer, the same for Python, HTTP and the command line."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar, get_args

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.queries import time_window
from fll_hbase.queries.parameters import About, FlowDirection, Parameter, Time, parameters, time_text
from fll_hbase.queries.reports.report_document import Stamp
from fll_hbase.queries.tables import NO_TABLE, TableShape
from fll_hbase.runtime import damage
from fll_hbase.runtime.errors import FieldError, InvalidQuery, NotFound
from fll_hbase.store.query_parameters import WindowQuery

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

BodyT = TypeVar("BodyT", covariant=True)

FIELD_HELP = "Only runs that read or wrote this field"
INDIRECT_HELP = "Include indirect dependencies, such as filters and joins"
_NAME = re.compile(r"{(\w+)}")


Required = msgspec.Meta(extra={"required": True})
"""Annotates a member that only hidden things lack, so that the OpenAPI document requires it."""

Failed = msgspec.Meta(description="With `failed=true`: true if only failed and aborted runs have it")


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A JSON object of an answer, without members that have their default."""


class WindowBody(Body, frozen=True, kw_only=True):
    """A JSON object of an answer about a window; `checked_answer` sets the time from which it is complete."""

    retained_from: Annotated[
        int | None,
        msgspec.Meta(
            description="Runs that started before it, in milliseconds since 1970, may have been deleted;"
            " left out if the window begins later"
        ),
    ] = None


class Fault(Body, frozen=True, kw_only=True):
    """One error in a document or query."""

    path: Annotated[str, msgspec.Meta(description="A path such as `operations.2.inputs.0`")] = msgspec.field(
        name="at"
    )
    detail: str

    @classmethod
    def from_error(cls, error: FieldError) -> Fault:
        """Return an error or a warning as an object of an answer."""
        return cls(path=error.path, detail=error.detail)


@dataclass(frozen=True, slots=True)
class Answer(Generic[BodyT]):
    """The answer to a query: its body, and what HTTP sends in headers.

    `truncated_by` lists the limits that cut the body, as `limit=value`. `retained_from_ms` is the retention
    horizon, if the window begins before it. `cursor` leads to the next page, and is "" on the last page.
    `base_window` is the window that a diff compares with `window`. `principal` is the name for which a server
    made a report, "" if it knows none.
    """

    body: BodyT
    window: Window | None = None
    retained_from_ms: int | None = None
    truncated_by: tuple[str, ...] = ()
    cursor: str = ""
    base_window: Window | None = None
    principal: str = ""


@dataclass(frozen=True, slots=True)
class FirstReads:
    """Windows that a query reads first: checksums for `contents`, and also starts of runs for `times`."""

    contents: tuple[WindowQuery, ...] = ()
    times: tuple[WindowQuery, ...] = ()


class Query(ABC, Generic[BodyT]):
    """A query: a frozen dataclass whose fields are its parameters, those in `path` first.

    The docstring of a query describes its route, without the examples, and its method in Python. `result`
    describes a successful answer.
    """

    path: ClassVar[str]
    result: ClassVar[str]
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 503)
    formats: ClassVar[Mapping[str, Callable[..., str]]] = MappingProxyType({})
    """Functions that write formats other than JSON, by media type; `to_text` knows their arguments."""

    limits_in_headers: ClassVar[bool] = False
    """True if headers also name the limits that cut a JSON object."""

    is_immutable: ClassVar[bool] = False
    """True if an answer never changes, so that caches may keep it."""

    concerns_runs: ClassVar[bool] = False
    """True if retention may have deleted the runs that the query needs."""

    table: ClassVar[TableShape] = NO_TABLE
    """The answer as a table."""

    example: ClassVar[Any] = None
    """The example of a body in the OpenAPI document."""

    @abstractmethod
    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[BodyT]:
        """Return the answer of a store. Raises LineageError.

        These are InvalidQuery for times or a cursor, NotFound for unknown names, which were never recorded,
        and errors of the store: StoreUnavailable, DeadlineExceeded, CorruptRow and ConfigurationError.
        """

    def checked_answer(self, store: LineageStore, *, now_ms: int) -> Answer[BodyT]:
        """Return `answer`, and report deleted runs and damaged rows that were left out.

        `retained_from` and `truncated_by` of the body are set if it has them, else only those of the answer.
        Raises LineageError.
        """
        with damage.noting() as damaged:
            try:
                answer = self.answer(store, now_ms=now_ms)
            except NotFound as error:
                raise self._not_found(error, store) from error
        body: Any = answer.body
        if answer.retained_from_ms is not None and isinstance(body, WindowBody):
            body = msgspec.structs.replace(body, retained_from=answer.retained_from_ms)
            answer = replace(answer, body=body)
        if not damaged:
            return answer
        bounds = tuple(sorted({*answer.truncated_by, damage.DAMAGED}))
        if hasattr(body, "truncated_by"):
            body = msgspec.structs.replace(body, truncated=True, truncated_by=bounds)
        return replace(answer, body=body, truncated_by=bounds)

    def _not_found(self, error: NotFound, store: LineageStore) -> NotFound:
        """Return an error of `answer`, with a note if deleted runs may have had the name."""
        deleted_ms = store.runs_retained_from_ms(Window(0, 1)) if self.concerns_runs else None
        if deleted_ms is None:
            return error
        time = time_window.iso_text(deleted_ms)
        return NotFound(f"{error}. Runs that started before {time} may have been deleted, and their names")

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the windows to read first, which a batch reads for all queries. Raises InvalidQuery."""
        return FirstReads()

    def to_text(self, media_type: str, body: Any, window: Window | None, *, stamp: Stamp) -> str:
        """Return the body of an answer about a window in one of `formats`."""
        return self.formats[media_type](body)

    @classmethod
    def body_type(cls) -> Any:
        """Return the type argument of the first generic base. Raises TypeError if no base has one."""
        for base in cls.__orig_bases__:  # type: ignore[attr-defined]  # of every class with a generic base
            if arguments := get_args(base):
                return arguments[0]
        raise TypeError(f"{cls.__name__} does not say what its answer is")

    @classmethod
    def path_names(cls) -> frozenset[str]:
        """Return the names of the parameters in the path."""
        return frozenset(_NAME.findall(cls.path))

    @classmethod
    def url_parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters that are not in the path."""
        return tuple(item for item in parameters(cls) if item.attribute not in cls.path_names())

    @classmethod
    def check_times(cls, times: Mapping[str, str | None], *, now_ms: int) -> None:
        """Raise InvalidQuery for times of a URL, by name, that cannot be parsed or are in the wrong order."""
        # Defined here: in `Windowed` it would require that class to be the first base of every query.
        if issubclass(cls, Windowed):
            time_window.parse_window(times["start"], times["end"], now_ms=now_ms)
        else:
            time_window.parse_times(times, now_ms=now_ms)

    def check(self) -> None:
        """Raise InvalidQuery with every parameter that is not valid; texts of times are not parsed."""
        faults = ((item, item.fault(getattr(self, item.attribute))) for item in parameters(type(self)))
        if errors := [FieldError(item.attribute, text) for item, text in faults if text]:
            raise InvalidQuery(errors)

    def segments(self) -> tuple[str, ...]:
        """Return the segments of the path with the values of its parameters, not percent-encoded."""
        return tuple(
            getattr(self, segment[1:-1]) if segment.startswith("{") else segment
            for segment in self.path.strip("/").split("/")
        )

    def params(self) -> dict[str, str]:
        """Return the parameters of the URL as text, with defaults, but without None and ""."""
        texts = ((item.name, item.to_text(getattr(self, item.attribute))) for item in self.url_parameters())
        return {name: text for name, text in texts if text}


class Changeable(Query[BodyT]):
    """A query about one thing, such as a tag, that clients put and remove at its path."""

    @abstractmethod
    def put(self, store: LineageStore, raw: bytes) -> tuple[BodyT, bool]:
        """Put the thing that a JSON body describes; return it, and whether it is new. Raises LineageError."""

    @abstractmethod
    def remove(self, store: LineageStore) -> None:
        """Remove the thing. Raises NotFound."""


class Posted(Query[BodyT]):
    """A query with further parameters in a JSON object, which is sent by POST and changes nothing.

    The fields of these parameters have the metadata `IN_BODY`.
    """

    request: ClassVar[type[Body]]
    """The JSON object of a request, for the OpenAPI document."""

    @classmethod
    @abstractmethod
    def body_parameters(cls, raw: bytes) -> dict[str, Any]:
        """Return the parameters in the body of a request. Raises UnreadableDocument with every error."""

    @abstractmethod
    def request_body(self) -> Body:
        """Return the JSON object of a request."""

    @abstractmethod
    def named_fields(self) -> Iterator[DatasetField]:
        """Yield the fields that the body names, for the audit log."""


@dataclass(frozen=True)
class DatasetQuery(Query[BodyT]):
    """A query about one dataset."""

    concerns_runs: ClassVar[bool] = True

    namespace: str
    name: str

    @property
    def dataset(self) -> Dataset:
        """The dataset."""
        return Dataset(self.namespace, self.name)


@dataclass(frozen=True)
class FieldQuery(DatasetQuery[BodyT]):
    """A query about one field."""

    field: str

    @property
    def dataset_field(self) -> DatasetField:
        """The field."""
        return DatasetField(self.dataset, self.field)


@dataclass(frozen=True, kw_only=True)
class Windowed:
    """A window on the start of runs, `start` included, `end` excluded."""

    concerns_runs: ClassVar[bool] = True

    start: Annotated[Time, About("Epoch seconds, `2026-11-01T06:00:00Z` or `now-7d`; default `now-30d`")] = (
        time_window.DEFAULT_START
    )
    end: Annotated[Time, About("End of the window, excluded: a time as for `start` (default: `now`)")] = (
        time_window.DEFAULT_END
    )

    def window(self, now_ms: int) -> Window:
        """Return the window. Raises InvalidQuery for times that are invalid or in the wrong order."""
        return time_window.parse_window(time_text(self.start), time_text(self.end), now_ms=now_ms)


@dataclass(frozen=True, kw_only=True)
class WindowedWithFailed(Windowed):
    """A window, and whether failed and aborted runs are included."""

    failed: Annotated[bool, About("Include failed and aborted runs")] = False

    def window(self, now_ms: int) -> Window:
        """Return the window with `failed`. Raises InvalidQuery for times that are invalid or out of order."""
        return replace(super().window(now_ms), failed=self.failed)

    def window_queries(self, dataset: Dataset, direction: str, *, now_ms: int) -> tuple[WindowQuery, ...]:
        """Return a dataset's window in each direction of a word. Raises InvalidQuery as `window` does."""
        window = self.window(now_ms)
        return tuple(WindowQuery(item, dataset, window) for item in directions(direction))


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A query whose answer can be a page to print, with times in a zone."""

    timezone: Annotated[
        str,
        About(
            "Zone of the times on a page to print, such as `Europe/Berlin`",
            minimum=1,
            text_fault=time_window.zone_fault,
        ),
    ] = "UTC"


def flow_word(direction: Direction) -> FlowDirection:
    """Return the word for a direction: backward or forward."""
    return "backward" if direction is Direction.BACKWARD else "forward"


def directions(direction: str) -> tuple[Direction, ...]:
    """Return the directions for `both`, `backward` or `forward`. Raises ValueError for other words."""
    return BOTH if direction == "both" else (Direction(direction),)
