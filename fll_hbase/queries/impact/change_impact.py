"""Impact of a change: fields, types and rows that it changes, and what recorded runs made from them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from fll_hbase.ingest.registry import DocumentReader
from fll_hbase.model.content_changes import ChangeKind, Way
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_relations import edges_into
from fll_hbase.model.masking import is_hidden, without_labels
from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.impact import PATH
from fll_hbase.queries.impact.comparison import Comparison, FoundChange, ProgramStatus, compare_programs
from fll_hbase.queries.impact.downstream import Downstream, DownstreamReader
from fll_hbase.queries.impact.proposed_programs import DOCUMENTS_MAX, read_proposal
from fll_hbase.queries.names import FieldName, ProgramName, field_name
from fll_hbase.queries.parameters import IN_BODY, About
from fll_hbase.queries.query import Answer, Body, Fault, Posted, WindowBody, Windowed
from fll_hbase.queries.tables import TableShape
from fll_hbase.runtime.errors import FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import name_rules, strict_json
from fll_hbase.sources.sql.names.column_names import canonical_type
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part, Validator

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

KindWord: TypeAlias = Literal[
    "removed", "renamed", "retyped", "rows", "derived", "literals", "unknown", "added"
]

FIELDS_MAX = 100
"""Maximum number of single fields in one request."""

INPUTS_MAX = 50
"""Maximum number of listed inputs of one way."""


class FieldChange(Body, frozen=True, kw_only=True):
    """A change of one recorded field. `to` is the new name, or the new type, and is not needed for `drop`."""

    namespace: str
    name: str
    field: str
    change: Literal["drop", "rename", "type"]
    to: str = ""


class ImpactRequest(Body, frozen=True, kw_only=True):
    """A change: documents as recording accepts them (native, SQL, pipeline or dbt), or single fields."""

    schema_name: ClassVar[str] = "ImpactRequest"

    namespace: Annotated[str, msgspec.Meta(description="Namespace of documents that have none")] = ""
    documents: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(max_length=DOCUMENTS_MAX)] = ()
    fields: Annotated[tuple[FieldChange, ...], msgspec.Meta(max_length=FIELDS_MAX)] = ()


class Derivation(Body, frozen=True, kw_only=True):
    """How a field or the rows of a dataset are made: text of the operations, inputs, and type if known."""

    schema_name: ClassVar[str] = "ImpactDerivation"

    text: str = ""
    inputs: tuple[FieldName, ...] = ()
    type: str = ""


class Change(Body, frozen=True, kw_only=True):
    """A change of a field, or of a whole dataset (`*`), and what is downstream of it.

    `to` is the new name of a renamed field. `downstream` is absent for added fields, and if a limit was
    reached. `program` is absent for the change of a single field.
    """

    schema_name: ClassVar[str] = "ImpactChange"

    kind: KindWord
    field: FieldName
    to: str = ""
    program: ProgramName | None = None
    old: Derivation | None = None
    new: Derivation | None = None
    downstream: Downstream | None = None


class ComparedProgram(ProgramName, frozen=True, kw_only=True):
    """A program of the change, and the run with which it was compared.

    `compared`: all that it writes was compared. `unknown`: some fields that it writes, or wrote, are not
    known. `unrecorded`: no run of the window is known, so nothing was compared. `removed`: the change no
    longer contains it. `not_compiled`: the change contains it without its SQL, so nothing was compared.
    """

    status: ProgramStatus
    changes: int
    last_run: str | None = None
    last_start: int | None = None
    without_literals: Annotated[
        bool,
        msgspec.Meta(
            description="Constants in the SQL were not compared: the SQL of the last run is not known"
        ),
    ] = False


class ImpactAnswer(WindowBody, frozen=True, kw_only=True):
    """Changes, the most severe kind first, and the compared programs by name.

    A program that is listed as `compared` without changes is unchanged; nothing is known of the others.
    """

    changes: tuple[Change, ...]
    programs: tuple[ComparedProgram, ...]
    counts: Annotated[dict[str, int], msgspec.Meta(description="Number of changes by kind")]
    warnings: tuple[Fault, ...] = ()
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def change_rows(body: Json) -> list[Json]:
    """Return a row for each change of an answer."""
    return [_row(change) for change in body["changes"]]


def _row(change: Json) -> Json:
    """Return a row for one change, in which counts are None without `downstream`."""
    downstream = change.get("downstream") or {}
    return {
        **change["field"],
        "kind": change["kind"],
        "to": change.get("to", ""),
        "fields": downstream.get("fieldCount"),
        "datasets": len(downstream["datasets"]) if downstream else None,
        "programs": len(downstream["programs"]) if downstream else None,
    }


@dataclass(frozen=True, kw_only=True)
class Impact(Windowed, Posted[ImpactAnswer]):
    """Compare what a change would write with what is recorded, and return what is downstream of each change.

    `documents` are read as recording reads them, and nothing is stored. Each program is compared with its
    last run of the window that wrote the same dataset and did not fail. A field is renamed only if exactly
    one new field is made in the same way from the same inputs. `rows` is a change of all rows of a dataset:
    a filter, join, grouping or sort. `fields` are changes of single fields. `level` bounds the hops.

    >>> field = {"namespace": "bank", "name": "DailyTransactions", "field": "UID", "change": "drop"}
    >>> (change,) = client.impact(fields=[field], start="now-90d").body.changes
    >>> change.kind, len(change.downstream.datasets) > 2
    ('removed', True)
    """

    path: ClassVar[str] = PATH
    result: ClassVar[str] = "Changes by kind and name"
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 413, 415, 422, 503)
    request: ClassVar[type[Body]] = ImpactRequest
    table: ClassVar[TableShape] = TableShape(
        ("kind", "namespace", "name", "field", "to", "fields", "datasets", "programs"), change_rows
    )

    level: Annotated[
        int | None, About("Maximum number of hops (default: `FLL_LEVEL_MAX` of the server)", minimum=1)
    ] = None
    namespace: str = dataclasses.field(default="", metadata=IN_BODY)
    documents: tuple[dict[str, Any], ...] = dataclasses.field(default=(), metadata=IN_BODY)
    fields: tuple[FieldChange | dict[str, str], ...] = dataclasses.field(default=(), metadata=IN_BODY)

    @classmethod
    def body_parameters(cls, raw: bytes) -> dict[str, Any]:
        """Return namespace, documents and fields of a body. Raises UnreadableDocument with every error."""
        request = parse_request(strict_json.parse(raw))
        return {"namespace": request.namespace, "documents": request.documents, "fields": request.fields}

    def request_body(self) -> ImpactRequest:
        """Return the change as a JSON object. Raises UnreadableDocument with every error."""
        members = {"documents": list(self.documents), "fields": msgspec.to_builtins(list(self.fields))}
        return parse_request(members | ({"namespace": self.namespace} if self.namespace else {}))

    def named_fields(self) -> Iterator[DatasetField]:
        """Yield the fields of single changes."""
        for item in self.request_body().fields:
            yield DatasetField(Dataset(item.namespace, item.name), item.field)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ImpactAnswer]:
        """Return the impact. Raises UnreadableDocument, TooLarge, NotFound, InvalidQuery, and store errors.

        NotFound is for a single field that was never recorded, InvalidQuery for times and new names already
        taken.
        """
        window = self.window(now_ms)
        request = self.request_body()
        reader = document_reader(store)
        proposal = read_proposal(
            request.documents,
            reader,
            namespace=request.namespace,
            now_ms=now_ms,
            may_read=store.may_read,
        )
        comparison = compare_programs(store, proposal, window)
        downstream = DownstreamReader(store, window, level=self.level, in_change=proposal.programs.keys())
        changes = [
            *_single_changes(store, request, downstream),
            *_program_changes(comparison.changes, downstream),
        ]
        limits = tuple(sorted(comparison.truncated_by | downstream.truncated_by))
        body = ImpactAnswer(
            changes=tuple(sorted(changes, key=_order)),
            programs=_programs(comparison),
            counts=_counts(changes),
            warnings=tuple(map(Fault.from_error, proposal.warnings)),
            truncated=bool(limits),
            truncated_by=limits,
        )
        return Answer(body, window, self._retained_from_ms(store, body, window), limits)

    def _retained_from_ms(self, store: LineageStore, body: ImpactAnswer, window: Window) -> int | None:
        """Return the latest horizon of the changed datasets, if the window begins before it."""
        datasets = {Dataset(item.field.namespace, item.field.name) for item in body.changes}
        return store.retained_with_ms(datasets, window, None)


def document_reader(store: LineageStore) -> DocumentReader:
    """Return a reader of documents with the catalogue and the name rules of a store."""
    settings = store.settings
    rules = name_rules.parse_rules(settings.name_rules, settings.namespace_rules)
    return DocumentReader(columns=store.catalogue.field_names, name_rules=rules)


def parse_request(document: object) -> ImpactRequest:
    """Parse the body of a request. Raises UnreadableDocument with every error."""
    validator = Validator()
    top = Part(validator, document).as_object()
    for name in top.members.keys() - {"namespace", "documents", "fields"}:
        top.error("unknown member: expected namespace, documents or fields", str(name))
    namespace = top.optional("namespace", bytes_max=NAME_BYTES_MAX)
    documents = list(_items(top, "documents", DOCUMENTS_MAX))
    fields = [_field_change(item) for item in _items(top, "fields", FIELDS_MAX)]
    if top.is_object and not documents and not fields and not validator.errors:
        top.error("describes no change: give documents or fields")
    validator.check()
    return ImpactRequest(
        namespace=namespace, documents=tuple(item.value for item in documents), fields=tuple(fields)
    )


def _items(top: Part, name: str, limit: int) -> Iterator[Part]:
    """Yield the first `limit` items; add an error for each that is not an object, and for more items."""
    items = list(top.items(name))
    if len(items) > limit:
        top.error(f"has {len(items)} items, the limit is {limit}", name)
    for item in items[:limit]:
        yield item.as_object()


def _field_change(part: Part) -> FieldChange:
    """Parse the change of one field; note an error, and use another value, for each wrong member."""
    for name in part.members.keys() - set(FieldChange.__struct_fields__):
        part.error("unknown member", str(name))
    names = {
        name: part.required(name, bytes_max=NAME_BYTES_MAX) if part.is_object else "?"
        for name in ("namespace", "name", "field")
    }
    change = part.choice("change", ("drop", "rename", "type"), "") if part.is_object else "drop"
    to = part.optional("to", bytes_max=NAME_BYTES_MAX)
    if change in ("rename", "type") and not to:
        part.error(f"missing: the new {'name' if change == 'rename' else 'type'}", "to")
    elif change == "drop" and to:
        part.error("is only for `rename` and `type`", "to")
    return FieldChange(**names, change=change or "drop", to=to)  # type: ignore[arg-type]  # one of `choices`


def _single_changes(
    store: LineageStore, request: ImpactRequest, downstream: DownstreamReader
) -> Iterator[Change]:
    """Yield the changes of single fields, without a change to the type that a field already has.

    Raises NotFound for a field that was never recorded. If new names are fields already, raises InvalidQuery
    after the other changes.
    """
    errors: list[FieldError] = []
    for number, item in enumerate(request.fields):
        dataset = Dataset(item.namespace, item.name)
        field = DatasetField(dataset, item.field)
        store.catalogue.require_field(field)
        if item.change == "rename" and item.to in (store.catalogue.field_names(dataset) or ()):
            errors.append(FieldError(f"fields.{number}.to", f"{item.to!r} is a field of {dataset} already"))
            continue
        kind, types = _KINDS[item.change], None
        if item.change == "type":
            old = store.catalogue.types([field]).get(field, "")
            if old and canonical_type(old) == canonical_type(item.to):
                continue
            types = Derivation(type=old), Derivation(type=item.to)
        yield Change(
            kind=kind,
            field=field_name(field),
            to=item.to if item.change == "rename" else "",
            old=types and types[0],
            new=types and types[1],
            downstream=downstream.read(field, must_exist=True),
        )
    if errors:
        raise InvalidQuery(errors)


_KINDS: Mapping[str, KindWord] = {"drop": "removed", "rename": "renamed", "type": "retyped"}


def _program_changes(items: Sequence[FoundChange], downstream: DownstreamReader) -> Iterator[Change]:
    """Yield the changes of programs, in order, with what is downstream unless the field is new."""
    inputs = Inputs()
    for item in items:
        inputs.add(item.old_map, item.change.field)
        inputs.add(item.new_map, _new_field(item))
    for item in items:
        yield _change(item, inputs, downstream)


def _new_field(item: FoundChange) -> DatasetField:
    """Return a changed field under its new name."""
    field = item.change.field
    return field._replace(name=item.change.to or field.name)


def _change(item: FoundChange, inputs: Inputs, downstream: DownstreamReader) -> Change:
    """Return a change of a program in the form of an answer, without `downstream` for an added field.

    `inputs` must have its fields already.
    """
    change = item.change
    is_added = change.kind is ChangeKind.ADDED
    return Change(
        kind=change.kind.value,
        field=field_name(change.field),
        to=change.to,
        program=ProgramName(**name_json.program(item.run)),
        old=_derivation(change.old, inputs.first(item.old_map, change.field)),
        new=_derivation(change.new, inputs.first(item.new_map, _new_field(item))),
        downstream=None if is_added else downstream.read(change.field),
    )


def _derivation(way: Way | None, inputs: Sequence[DatasetField] | None) -> Derivation | None:
    """Return how a field is made, with its inputs, or None if the way or the inputs are None."""
    if way is None or inputs is None:
        return None
    return Derivation(text=without_labels(way.text), inputs=tuple(map(field_name, inputs)), type=way.type)


class Inputs:
    """The first inputs of changed fields; for a whole dataset, the fields that decide its rows.

    Fields are added before they are read, because all fields of one dataset and field map are read together.
    """

    def __init__(self) -> None:
        self._maps: dict[tuple[int, Dataset], tuple[FieldMap, set[str]]] = {}
        self._listed: dict[tuple[int, Dataset], dict[str, list[DatasetField]]] = {}

    def add(self, field_map: FieldMap | None, field: DatasetField) -> None:
        """Add a field that a field map writes."""
        if field_map is not None:
            # The entry keeps the map alive, so that no other map gets its id.
            self._maps.setdefault((id(field_map), field.dataset), (field_map, set()))[1].add(field.name)

    def first(self, field_map: FieldMap | None, field: DatasetField) -> Sequence[DatasetField] | None:
        """Return up to INPUTS_MAX visible inputs, sorted, of an added field, or None without a field map."""
        if field_map is None:
            return None
        key = id(field_map), field.dataset
        if key not in self._listed:
            self._listed[key] = _first_inputs(field_map, field.dataset, self._maps[key][1])
        return self._listed[key].get(field.name, ())


def _first_inputs(
    field_map: FieldMap, dataset: Dataset, names: Collection[str]
) -> dict[str, list[DatasetField]]:
    """Return the first INPUTS_MAX visible inputs, sorted, of each field in `names` that has any.

    Also returns, under `*`, the inputs of the dataset as a whole, if there are any.
    """
    edges = (
        (edge.destination_field or WHOLE_DATASET, DatasetField(edge.source, edge.source_field))
        for edge in edges_into(field_map, dataset, names=names)
        if edge.source is not None and edge.source_field is not None and not is_hidden(edge.source)
    )
    return {
        name: sorted({field for _, field in listed})[:INPUTS_MAX]
        for name, listed in groupby(edges, key=itemgetter(0))
    }


def _programs(comparison: Comparison) -> tuple[ComparedProgram, ...]:
    """Return how each program was compared, sorted by name."""
    return tuple(
        ComparedProgram(
            **name_json.program(item.run),
            status=item.status,
            changes=item.changes,
            last_run=item.last.run if item.last else None,
            last_start=item.last.start_ms if item.last else None,
            without_literals=not item.has_literals,
        )
        for item in sorted(comparison.programs, key=lambda item: item.run.program_id)
    )


def _order(change: Change) -> tuple[int, str, str, str]:
    name = change.field
    return _RANKS[change.kind], name.namespace, name.name, name.field


_RANKS = {kind.value: rank for rank, kind in enumerate(ChangeKind)}


def _counts(changes: Iterable[Change]) -> dict[str, int]:
    """Return the number of changes of each kind that occurs, the most severe first."""
    counts = Counter[str](change.kind for change in changes)
    return {kind: counts[kind] for kind in _RANKS if counts[kind]}
