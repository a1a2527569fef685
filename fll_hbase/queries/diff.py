"""Diffs of a field or a dataset: what derivations gained and lost since a base window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import msgspec
from msgspec import Meta

from fll_hbase.model import derivation_parts
from fll_hbase.model.derivation_parts import DerivationParts, OperationIdentity
from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.operations import Influence
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries import field_lineage, name_json, time_window
from fll_hbase.queries.field_lineage import Operation, OperationType
from fll_hbase.queries.names import FieldName, dataset_name, field_name
from fll_hbase.queries.parameters import About, Time, time_text
from fll_hbase.queries.query import (
    INDIRECT_HELP,
    Answer,
    Body,
    BodyT,
    DatasetQuery,
    FieldQuery,
    FirstReads,
    Printed,
    WindowBody,
    WindowedWithFailed,
)
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.diff_document import (
    DATASET_TABLE,
    FIELD_TABLE,
    Comparison,
    dataset_diff_document,
    field_diff_document,
)
from fll_hbase.queries.reports.report_document import Document, Stamp
from fll_hbase.queries.tables import TableShape
from fll_hbase.runtime.errors import FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.results import DerivationRuns, FieldDiff

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

Common = Annotated[int, Meta(description="Operations and edges in both windows")]
Omitted = Annotated[
    tuple[Literal["gained", "lost"], ...],
    Meta(description="Members whose parts are left out because a limit cut the window they depend on"),
]


class Edge(Body, frozen=True, kw_only=True):
    """A connection of the graph of a field, or from a field to the WRITE that takes it, `<WRITE>.<field>`."""

    start: str = msgspec.field(name="from")
    to: str
    operation: str
    influence: Literal["indirect"] | None = None


class SourceName(FieldName, frozen=True, kw_only=True):
    """A field that is read, at the beginning of a derivation."""

    schema_name: ClassVar[str] = "Source"


class DistinctDerivation(Body, frozen=True, kw_only=True):
    """A way in which a field is derived in one of two windows only; starts are in milliseconds since 1970."""

    digest: Annotated[str, Meta(description="Digest of the operations that lead into the field")]
    checksum: Annotated[str, Meta(description="Checksum of the newest run's content")]
    runs: Annotated[int, Meta(description="Runs of this window; 0 if a limit left all of them out")]
    first_start: int | None = None
    last_start: int | None = None


class Parts(Body, frozen=True, kw_only=True):
    """Derivations in only one of two windows, newest first, and parts of derivations, sorted."""

    schema_name: ClassVar[str] = "DerivationParts"

    operations: tuple[Operation, ...]
    edges: tuple[Edge, ...]
    sources: tuple[SourceName, ...]
    derivations: tuple[DistinctDerivation, ...]


class DiffAnswer(WindowBody, frozen=True, kw_only=True):
    """Derivations of a field, and parts of them, in one of two windows only."""

    gained: Parts
    lost: Parts
    common: Common = msgspec.field(name="kept")
    omitted: Omitted = ()
    truncated: bool
    truncated_by: tuple[str, ...] = ()


class ChangedField(Body, frozen=True, kw_only=True):
    """A field whose derivations differ, with the members of its own diff."""

    field: str
    gained: Parts
    lost: Parts
    common: Common = msgspec.field(name="kept")
    omitted: Omitted = ()


class DatasetDiffAnswer(WindowBody, frozen=True, kw_only=True):
    """The fields of a dataset whose derivations differ between two windows, by name."""

    fields: tuple[ChangedField, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Compared(WindowedWithFailed, Printed, DatasetQuery[BodyT]):
    """A query about a window and a base window, by default equally long and just before it."""

    formats: ClassVar[Mapping[str, Callable[..., str]]] = {html_report.HTML: html_report.to_html}

    indirect: Annotated[bool, About(INDIRECT_HELP)] = True
    base_start: Annotated[
        Time | None,
        About(
            "Start of the base window, included (default: the base window is as long as the window)",
            name="baseStart",
        ),
    ] = None
    base_end: Annotated[
        Time | None,
        About("End of the base window, excluded (default: the start of the window)", name="baseEnd"),
    ] = None

    @classmethod
    def check_times(cls, times: Mapping[str, str | None], *, now_ms: int) -> None:
        """Raise InvalidQuery for times of a URL that cannot be parsed, or in the wrong order."""
        _parse_windows(times, now_ms=now_ms)

    def windows(self, now_ms: int) -> tuple[Window, Window]:
        """Return the window and the base window. Raises InvalidQuery for invalid times or a wrong order."""
        times = {"start": self.start, "end": self.end, "baseStart": self.base_start, "baseEnd": self.base_end}
        texts = {name: None if time is None else time_text(time) for name, time in times.items()}
        window, base = _parse_windows(texts, now_ms=now_ms)
        return replace(window, failed=self.failed), replace(base, failed=self.failed)

    def answered_windows(self, window: Window | None, *, now_ms: int) -> tuple[Window, Window]:
        """Return the window of an answer and its base window; a server has its own `now`.

        `window` is used only if `end` is `now`: its end then replaces `now_ms`. Raises InvalidQuery as
        `windows` does.
        """
        return self.windows(window.stop_ms if window and self.end == "now" else now_ms)

    def to_text(self, media_type: str, body: Any, window: Window | None, *, stamp: Stamp) -> str:
        """Return the diff as a page to print."""
        return html_report.to_html(self.document(body, window, stamp=stamp))

    @abstractmethod
    def document(self, body: Any, window: Window | None, *, stamp: Stamp) -> Document:
        """Return the body of an answer about a window as a document to print."""

    def comparison(self, name: str, window: Window | None, *, now_ms: int) -> Comparison:
        """Return what an answer compares: a field or dataset by `name`, in both windows."""
        exact, base = self.answered_windows(window, now_ms=now_ms)
        return Comparison(name=name, window=exact, base=base, indirect=self.indirect)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return both windows of the dataset."""
        windows = self.windows(now_ms)
        return FirstReads(tuple(WindowQuery(Direction.BACKWARD, self.dataset, window) for window in windows))

    def retained_from_ms(self, store: LineageStore, window: Window, base: Window) -> int | None:
        """Return the retention horizon if either window begins before it, else None."""
        both = Window(min(window.start_ms, base.start_ms), max(window.stop_ms, base.stop_ms))
        return store.retained_from_ms(self.dataset, both)


def _parse_windows(times: Mapping[str, str | None], *, now_ms: int) -> tuple[Window, Window]:
    """Return the window and the base window. Raises InvalidQuery with every invalid time of the four.

    Also raises it for a start after its end, of the base window only if all times are valid.
    """
    errors: list[FieldError] = []
    base: dict[str, Fraction] = {}
    try:
        base = time_window.parse_times(
            {name: times[name] for name in ("baseStart", "baseEnd")}, now_ms=now_ms
        )
    except InvalidQuery as error:
        errors += error.errors
    try:
        window = time_window.parse_window(times["start"], times["end"], now_ms=now_ms)
    except InvalidQuery as error:
        raise InvalidQuery([*error.errors, *errors]) from error
    if errors:
        raise InvalidQuery(errors)
    return window, base_window(window, base.get("baseStart"), base.get("baseEnd"))


def base_window(window: Window, start: Fraction | None, end: Fraction | None) -> Window:
    """Return the base window between two times in seconds since 1970.

    `end` is by default the start of the window, and `start` as long before `end` as the window is, but not
    before 1970. Raises InvalidQuery if `start` is after `end`.
    """
    last = Fraction(window.start_ms, 1000) if end is None else end
    length = Fraction(window.stop_ms - window.start_ms, 1000)
    first = max(last - length, Fraction(0)) if start is None else start
    if first > last:
        default = "the default baseEnd, the start of the window; give `baseEnd`, too"
        raise InvalidQuery([FieldError("baseStart", f"is after {default if end is None else 'baseEnd'}")])
    # Both times are given, so `now` has no effect.
    return time_window.to_window(first, last, now_ms=0)


_NO_PARTS = Parts(operations=(), edges=(), sources=(), derivations=())
_GAINED = Parts(
    operations=(Operation(name="inflammation", description="C-reactive protein, scaled", type="TRANSFORM"),),
    edges=(Edge(start="read_labs.crp", to="inflammation.inflammation_index", operation="inflammation"),),
    sources=(SourceName(namespace="hospital", name="LabResults", field="crp"),),
    derivations=(
        DistinctDerivation(
            digest="92c41a1ba1b9840afab9bf8fad961870",
            checksum="ece74472f39e798217abf807fc7740f5",
            runs=29,
            first_start=1757479502648,
            last_start=1759985114185,
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Diff(Compared[DiffAnswer], FieldQuery[DiffAnswer]):
    """Return which derivations a field gained and lost since a base window, and which parts of them.

    By default the base window is as long as the window and ends where the window starts. Nothing is gained or
    lost if, and only if, the field is derived in the same ways in both windows. Without `indirect`, indirect
    inputs are not compared; `failed` includes failed and aborted runs. If a limit cut one window, nothing is
    reported as missing from it. `Accept` selects JSON or `text/html`, a page to print.

    >>> field = ("hospital", "PatientRecords", "patient_medical_score")
    >>> answer = client.diff(*field, base_start="now-90d", base_end="now-60d")
    >>> [str(source) for source in answer.body.gained.sources], answer.body.lost.sources
    (['hospital/LabResults.crp'], ())
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/diff"
    result: ClassVar[str] = "Parts by name"
    table: ClassVar[TableShape] = FIELD_TABLE
    example: ClassVar[DiffAnswer] = DiffAnswer(gained=_GAINED, lost=_NO_PARTS, common=19, truncated=False)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DiffAnswer]:
        """Return the diff. Raises InvalidQuery, NotFound for an unknown field, and errors of the store."""
        window, base = self.windows(now_ms)
        retained_from_ms = self.retained_from_ms(store, window, base)
        diff = store.diff(self.dataset_field, window, base, indirect=self.indirect)
        body = DiffAnswer(
            **_difference(diff), truncated=bool(diff.truncated_by), truncated_by=diff.truncated_by
        )
        return Answer(body, window, retained_from_ms, diff.truncated_by, base_window=base)

    def document(self, body: Any, window: Window | None, *, stamp: Stamp) -> Document:
        """Return the diff of the field as a document to print."""
        comparison = self.comparison(str(field_name(self.dataset_field)), window, now_ms=stamp.now_ms)
        return field_diff_document(msgspec.to_builtins(body), stamp, comparison)


@dataclass(frozen=True, kw_only=True)
class DatasetDiff(Compared[DatasetDiffAnswer]):
    """Return the fields of a dataset whose derivations differ between two windows, with the differences.

    By default the base window is as long as the window and ends where the window starts. Each field that
    differs has the members of its own diff; `indirect` and `failed` have the same meaning as there. The time
    grows with the contents of both windows and the fields that differ. The answer has at most
    FLL_LIST_LIMIT_MAX fields, the first ones by name. `Accept` selects JSON or `text/html`, a page to print.

    >>> answer = client.dataset_diff("hospital", "PatientRecords", base_start="now-90d")
    >>> [changed.field for changed in answer.body.fields]
    ['patient_medical_score']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/diff"
    result: ClassVar[str] = "Changed fields by name"
    table: ClassVar[TableShape] = DATASET_TABLE
    example: ClassVar[DatasetDiffAnswer] = DatasetDiffAnswer(
        fields=(ChangedField(field="patient_medical_score", gained=_GAINED, lost=_NO_PARTS, common=19),),
        truncated=False,
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DatasetDiffAnswer]:
        """Return the diff. Raises InvalidQuery, NotFound for an unknown dataset, and errors of the store."""
        window, base = self.windows(now_ms)
        retained_from_ms = self.retained_from_ms(store, window, base)
        diff = store.dataset_diff(self.dataset, window, base, indirect=self.indirect)
        body = DatasetDiffAnswer(
            fields=tuple(ChangedField(field=item.name, **_difference(item.diff)) for item in diff.fields),
            truncated=bool(diff.truncated_by),
            truncated_by=diff.truncated_by,
        )
        return Answer(body, window, retained_from_ms, diff.truncated_by, base_window=base)

    def document(self, body: Any, window: Window | None, *, stamp: Stamp) -> Document:
        """Return the diff of the dataset as a document to print."""
        comparison = self.comparison(str(self.dataset), window, now_ms=stamp.now_ms)
        return dataset_diff_document(msgspec.to_builtins(body), stamp, comparison)


def _difference(diff: FieldDiff) -> Json:
    """Return the members of a diff; unknown parts (None) are empty, and `omitted` names them."""
    parts = {"gained": diff.gained, "lost": diff.lost}
    return {
        "gained": _parts(diff.gained or DerivationParts(), diff.gained_derivations),
        "lost": _parts(diff.lost or DerivationParts(), diff.lost_derivations),
        "common": diff.common,
        "omitted": tuple(name for name, part in parts.items() if part is None),
    }


def _parts(parts: DerivationParts, derivations: Iterable[DerivationRuns]) -> Parts:
    """Return the parts that only one window has, without operations of hidden datasets.

    Operations, edges and sources are sorted; derivations keep their order.
    """
    operations = [operation for operation in parts.operations if not is_hidden_operation(operation.name)]
    edges = map(_edge, parts.edges)
    return Parts(
        operations=tuple(map(_operation, sorted(operations, key=_operation_key))),
        edges=tuple(
            sorted(edges, key=lambda edge: (edge.start, edge.to, edge.operation, edge.influence or ""))
        ),
        sources=tuple(SourceName(**name_json.field(source)) for source in sorted(parts.sources)),
        derivations=tuple(map(_derivation, derivations)),
    )


def _derivation(item: DerivationRuns) -> DistinctDerivation:
    """Return a derivation in the form of an answer."""
    return DistinctDerivation(
        digest=item.digest,
        checksum=item.checksum,
        runs=item.runs,
        first_start=item.first_start_ms,
        last_start=item.last_start_ms,
    )


def _operation_key(operation: OperationIdentity) -> tuple[str, ...]:
    """Return the sort key of an operation: name, type, description, and the names of its dataset if any."""
    # A TRANSFORM has no dataset, and Python cannot compare None with names.
    dataset = operation.dataset
    names = (dataset.namespace, dataset.name) if dataset else ()
    return (operation.name, operation.type, operation.description, *names)


def _operation(operation: OperationIdentity) -> Operation:
    """Return an operation in the form of an answer, with the dataset of a READ or WRITE."""
    return Operation(
        name=operation.name,
        description=operation.description,
        type=cast(OperationType, operation.type),
        end_point=None if operation.dataset is None else dataset_name(operation.dataset),
    )


def _edge(edge: derivation_parts.Edge) -> Edge:
    """Return an edge in the form of an answer; `influence` is set only for an indirect edge."""
    return Edge(
        start=field_lineage.node_id(edge.start),
        to=field_lineage.node_id(edge.end),
        operation=field_lineage.operation_name(edge.operation),
        influence="indirect" if edge.influence is Influence.INDIRECT else None,
    )
