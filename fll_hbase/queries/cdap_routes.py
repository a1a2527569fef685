"""The lineage queries of CDAP, in its words: `incoming` and `outgoing`, over our results.

Answers have the shapes of CDAP's lineage API; docs/reference/cdap.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.masking import is_hidden, is_hidden_operation
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write, inputs_of, outputs_of
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import BOTH, Direction
from fll_hbase.queries import name_json
from fll_hbase.queries.names import DatasetName, dataset_name
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import Answer, Body, DatasetQuery, FieldQuery, Required, WindowBody, Windowed

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.read.field_programs import FieldPrograms, PerformedOperations
    from fll_hbase.store.read.field_summaries import DatasetSummary, RelatedDataset, RelatedFields

CdapDirection: TypeAlias = Literal["incoming", "outgoing", "both"]
"""The words of CDAP: `incoming` is upstream, `outgoing` is downstream."""

_PATH = "/v3/namespaces/{namespace}/datasets/{name}/lineage"
_DIRECTIONS: dict[CdapDirection, tuple[Direction, ...]] = {
    "incoming": (Direction.BACKWARD,),
    "outgoing": (Direction.FORWARD,),
    "both": BOTH,
}
_UPPER: dict[CdapDirection, Literal["INCOMING", "OUTGOING", "BOTH"]] = {
    "incoming": "INCOMING",
    "outgoing": "OUTGOING",
    "both": "BOTH",
}
_WORDS = {Direction.BACKWARD: "incoming", Direction.FORWARD: "outgoing"}


class CdapField(Body, frozen=True, kw_only=True):
    """A field; `lineage` is true if a run of the window wrote it."""

    name: str
    lineage: bool


class CdapDataset(Body, frozen=True, kw_only=True):
    """A dataset by name. A hidden dataset has a number and no names."""

    hidden: int = 0
    namespace: Annotated[str, Required] = ""
    dataset: Annotated[str, Required] = ""
    entity: Literal["DATASET"]


class CdapDatasetFields(Body, frozen=True, kw_only=True):
    """Fields of one dataset."""

    dataset: CdapDataset
    fields: tuple[str, ...]


class CdapSummaryAnswer(WindowBody, frozen=True, kw_only=True):
    """The fields that a field comes from, and the fields derived from it, by direction."""

    incoming: tuple[CdapDatasetFields, ...] | None = None
    outgoing: tuple[CdapDatasetFields, ...] | None = None
    truncated: bool
    truncated_by: tuple[str, ...] = ()


class CdapProgram(Body, frozen=True, kw_only=True):
    """A program by name. A hidden program has a number and no names."""

    hidden: int = 0
    namespace: Annotated[str | None, Required] = None
    application: Annotated[str | None, Required] = None
    version: Annotated[str | None, Required] = None
    type: Annotated[str | None, Required] = None
    program: Annotated[str | None, Required] = None
    entity: Literal["PROGRAM"]


class CdapLastRun(Body, frozen=True, kw_only=True):
    """A program and the start of its newest run."""

    program: CdapProgram
    last_executed_time_in_seconds: int


class CdapInputField(Body, frozen=True, kw_only=True):
    """A field as the output of an operation. A field of a hidden dataset has a number and no names."""

    hidden: int = 0
    origin: Annotated[str | None, Required] = None
    name: Annotated[str | None, Required] = None


class CdapInputs(Body, frozen=True, kw_only=True):
    """The dataset that an operation reads, or the fields that it uses."""

    end_point: DatasetName | None = None
    fields: tuple[CdapInputField, ...] | None = None


class CdapOutputs(Body, frozen=True, kw_only=True):
    """The dataset that an operation writes, or the fields that it produces."""

    end_point: DatasetName | None = None
    fields: tuple[str, ...] | None = None


class CdapOperation(Body, frozen=True, kw_only=True):
    """An operation."""

    name: str
    description: str
    inputs: CdapInputs
    outputs: CdapOutputs


class CdapPerformed(Body, frozen=True, kw_only=True):
    """Operations in an order in which they can run, and their programs, the newest run first."""

    programs: tuple[CdapLastRun, ...]
    operations: tuple[CdapOperation, ...]


class CdapOperationsAnswer(WindowBody, frozen=True, kw_only=True):
    """The operations that lead into a field, and the operations that it leads to, by direction."""

    incoming: tuple[CdapPerformed, ...] | None = None
    outgoing: tuple[CdapPerformed, ...] | None = None
    truncated: bool
    truncated_by: tuple[str, ...] = ()


class CdapRelation(Body, frozen=True, kw_only=True):
    """A source field and a destination field."""

    source: str
    destination: str


class CdapRelations(Body, frozen=True, kw_only=True):
    """A related dataset, the number of its fields in the window, and the pairs with its fields."""

    entity_id: CdapDataset
    field_count: int
    relations: tuple[CdapRelation, ...]


class CdapDatasetSummaryAnswer(WindowBody, frozen=True, kw_only=True):
    """The relations of all fields of a dataset; times are in milliseconds since 1970."""

    direction: Literal["INCOMING", "OUTGOING", "BOTH"]
    start_ms: int = msgspec.field(name="start-ts")
    end_ms: int = msgspec.field(name="end-ts")
    entity_id: CdapDataset
    fields: tuple[str, ...]
    incoming: tuple[CdapRelations, ...]
    outgoing: tuple[CdapRelations, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CdapFields(Windowed, DatasetQuery[tuple[str | CdapField, ...]]):
    """List the fields of a dataset that runs of the window wrote, by name.

    With `includeCurrent=true` all fields ever recorded are listed, as objects.
    """

    path: ClassVar[str] = f"{_PATH}/fields"
    result: ClassVar[str] = "By name; objects with `includeCurrent=true`"

    prefix: Annotated[str, About("Prefix of the fields, ignoring case")] = ""
    include_current: Annotated[
        bool,
        About(
            "Include fields that no run of the window wrote; return objects, not names",
            name="includeCurrent",
        ),
    ] = False

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[tuple[str | CdapField, ...]]:
        """Return the fields that runs wrote, or all recorded ones, sorted, whose names begin with `prefix`.

        Raises InvalidQuery, NotFound, and errors of the store.
        """
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        written = store.summaries.written_fields(self.dataset, window)
        listed = written
        if self.include_current:
            listed = sorted({*written, *(store.catalogue.field_names(self.dataset) or ())})
        prefix = self.prefix.casefold()
        names = (name for name in listed if name.casefold().startswith(prefix))
        if not self.include_current:
            return Answer(tuple(names), window, retained_from_ms)
        by_runs = set(written)
        fields = tuple(CdapField(name=name, lineage=name in by_runs) for name in names)
        return Answer(fields, window, retained_from_ms)


@dataclass(frozen=True, kw_only=True)
class _Directed(Windowed):
    """A window and a direction of CDAP."""

    direction: Annotated[CdapDirection, About("Upstream, downstream or both", in_any_case=True)] = "both"


@dataclass(frozen=True, kw_only=True)
class CdapFieldSummary(_Directed, FieldQuery[CdapSummaryAnswer]):
    """Return the fields that a field comes from, and those that are made of it: one hop."""

    path: ClassVar[str] = f"{_PATH}/fields/{{field}}"
    result: ClassVar[str] = "By dataset and field"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[CdapSummaryAnswer]:
        """Return the fields. Raises InvalidQuery, NotFound for unknown names, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        related = {
            direction: store.summaries.related_fields(self.dataset_field, window, direction)
            for direction in _DIRECTIONS[self.direction]
        }
        limits = _limits(related.values())
        fields: dict[str, Any] = {
            _WORDS[direction]: _by_dataset(result.fields) for direction, result in related.items()
        }
        body = CdapSummaryAnswer(**fields, truncated=bool(limits), truncated_by=limits)
        return Answer(body, window, retained_from_ms, limits)


@dataclass(frozen=True, kw_only=True)
class CdapFieldOperations(_Directed, FieldQuery[CdapOperationsAnswer]):
    """Return the operations that lead into a field, and those that it leads to, with their programs.

    Each program is listed with the start of its newest run. Every run of the window is read.
    """

    path: ClassVar[str] = f"{_PATH}/fields/{{field}}/operations"
    result: ClassVar[str] = "Operations of the newest run first"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[CdapOperationsAnswer]:
        """Return the operations. Raises InvalidQuery, NotFound for unknown names, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        programs = {
            direction: store.field_programs.read(self.dataset_field, window, direction)
            for direction in _DIRECTIONS[self.direction]
        }
        limits = _limits(programs.values())
        performed: dict[str, Any] = {
            _WORDS[direction]: tuple(map(_performed, result.performed))
            for direction, result in programs.items()
        }
        body = CdapOperationsAnswer(**performed, truncated=bool(limits), truncated_by=limits)
        return Answer(body, window, retained_from_ms, limits)


@dataclass(frozen=True, kw_only=True)
class CdapRelationsOfDataset(_Directed, DatasetQuery[CdapDatasetSummaryAnswer]):
    """Return the relations of all fields of a dataset with those of other datasets: one hop."""

    path: ClassVar[str] = f"{_PATH}/allfieldlineage"
    result: ClassVar[str] = "By dataset and field"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[CdapDatasetSummaryAnswer]:
        """Return the relations. Raises InvalidQuery, NotFound for an unknown dataset, and store errors."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        lineage = store.lineage(self.dataset, window, directions=_DIRECTIONS[self.direction])
        summary = store.summaries.summary(self.dataset, window, lineage)
        limits = _limits([summary])
        body = CdapDatasetSummaryAnswer(
            direction=_UPPER[self.direction],
            start_ms=window.start_ms,
            end_ms=window.stop_ms,
            entity_id=_dataset_id(self.dataset),
            fields=summary.fields,
            incoming=tuple(map(_relations, summary.incoming)),
            outgoing=tuple(map(_relations, summary.outgoing)),
            truncated=bool(limits),
            truncated_by=limits,
        )
        return Answer(body, window, retained_from_ms, limits)


def _limits(results: Iterable[RelatedFields | FieldPrograms | DatasetSummary]) -> tuple[str, ...]:
    """Return the limits that cut any of the results, each once, sorted."""
    return tuple(sorted({limit for result in results for limit in result.truncated_by}))


def _by_dataset(fields: Sequence[DatasetField]) -> tuple[CdapDatasetFields, ...]:
    """Return sorted fields as groups by dataset; a hidden dataset has no fields."""
    return tuple(
        CdapDatasetFields(
            dataset=_dataset_id(dataset),
            fields=() if is_hidden(dataset) else tuple(field.name for field in group),
        )
        for dataset, group in groupby(fields, key=lambda field: field.dataset)
    )


def _dataset_id(dataset: Dataset) -> CdapDataset:
    """Return a dataset as CDAP names it, or the number of a hidden dataset."""
    if is_hidden(dataset):
        return CdapDataset(hidden=name_json.hidden_number(dataset.name), entity="DATASET")
    return CdapDataset(namespace=dataset.namespace, dataset=dataset.name, entity="DATASET")


def _relations(item: RelatedDataset) -> CdapRelations:
    """Return a related dataset of the store, with its field pairs, in the form of an answer."""
    relations = (
        CdapRelation(source=source, destination=destination) for source, destination in item.relations
    )
    return CdapRelations(
        entity_id=_dataset_id(item.dataset), field_count=item.fields, relations=tuple(relations)
    )


def _performed(item: PerformedOperations) -> CdapPerformed:
    """Return operations and their programs as one item of an answer, without hidden operations."""
    shown = (operation for operation in item.operations if not is_hidden_operation(operation.name))
    return CdapPerformed(
        programs=tuple(map(_last_run, item.last_runs)), operations=tuple(map(_operation, shown))
    )


def _last_run(run: ProgramRun) -> CdapLastRun:
    """Return the program of a run, with its start in whole seconds since 1970, rounded down as in CDAP."""
    program = CdapProgram(**name_json.program(run, name_json.PROGRAM_WITH_VERSION), entity="PROGRAM")
    return CdapLastRun(program=program, last_executed_time_in_seconds=run.start_ms // 1000)


def _operation(operation: Operation) -> CdapOperation:
    """Return an operation as CDAP has it: the input of a READ and the output of a WRITE are datasets."""
    inputs = CdapInputs(fields=tuple(map(_input, inputs_of(operation))))
    outputs = CdapOutputs(fields=tuple(field.name for field in outputs_of(operation)))
    match operation:
        case Read():
            inputs = CdapInputs(end_point=dataset_name(operation.source))
        case Write():
            outputs = CdapOutputs(end_point=dataset_name(operation.destination))
        case Transform():
            pass
    return CdapOperation(
        name=operation.name, description=operation.description, inputs=inputs, outputs=outputs
    )


def _input(item: InputField) -> CdapInputField:
    """Return an input by operation and field, or by the number of its hidden dataset."""
    if is_hidden_operation(item.origin):
        return CdapInputField(hidden=name_json.hidden_number(item.origin))
    return CdapInputField(origin=item.origin, name=item.name)
