"""Derivations: the distinct ways in which a field was produced, with the runs of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.operations import Operation, Read, inputs_of, outputs_of
from fll_hbase.queries.pages import Paged, decode_skip_cursor, encode_cursor
from fll_hbase.queries.query import Answer, Body, FieldQuery, WindowBody, WindowedWithFailed
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.queries.time_window import short_seconds
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import Derivation

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class Step(Body, frozen=True, kw_only=True):
    """An operation of a path; inputs and outputs are names of fields."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str
    description: str


class Path(Body, frozen=True, kw_only=True):
    """One derivation of a field, with the number of its runs and the ids of the newest ones, newest first.

    `first_start` and `last_start` are the starts of its first and last run, in milliseconds since 1970.
    """

    operations: tuple[Step, ...]
    runs: tuple[str, ...]
    run_count: int
    first_start: int
    last_start: int


class DerivationsAnswer(WindowBody, frozen=True, kw_only=True):
    """The derivations of a field, newest first."""

    schema_name: ClassVar[str] = "FieldWays"

    field_name: str
    start_time_in_seconds: int | float
    end_time_in_seconds: int | float
    paths: tuple[Path, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def _rows(body: Json) -> list[Row]:
    """Return a row for each path of an answer's JSON; `lastRun` is the first listed run, or "" for none."""
    return [
        {
            "operations": ", ".join(step["name"] for step in path["operations"]),
            "runs": path["runCount"],
            # A later page may have no run of a path.
            "lastRun": next(iter(path["runs"]), ""),
        }
        for path in body["paths"]
    ]


@dataclass(frozen=True, kw_only=True)
class Derivations(WindowedWithFailed, Paged, FieldQuery[DerivationsAnswer]):
    """Return each distinct derivation of a field with its newest runs.

    A derivation is the operations that lead into the field, in an order in which they can run. `limit` bounds
    the run ids that each derivation lists, and the next page has older runs. The number of runs and the first
    and last start cover the whole window on every page. `failed` includes failed and aborted runs.

    >>> field = ("hospital", "PatientRecords", "patient_medical_score")
    >>> answer = client.derivations(*field, start="now-90d", limit=5)
    >>> [(path.run_count, len(path.runs)) for path in answer.body.paths]
    [(45, 5), (42, 5)]
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage"
    result: ClassVar[str] = "One path per distinct derivation, newest first"
    joins_pages: ClassVar[bool] = False
    table: ClassVar[TableShape] = TableShape(("operations", "runs", "lastRun"), _rows)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[DerivationsAnswer]:
        """Return the derivations. Raises InvalidQuery, NotFound for an unknown field, and store errors."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        result = store.field_derivations(
            self.dataset_field,
            window,
            limit=self.page_limit(store),
            skip=decode_skip_cursor(self.cursor),
        )
        body = DerivationsAnswer(
            field_name=self.field,
            start_time_in_seconds=short_seconds(window.start_ms),
            end_time_in_seconds=short_seconds(window.stop_ms),
            paths=tuple(map(derivation_path, result.derivations)),
            truncated=bool(result.truncated_by),
            truncated_by=result.truncated_by,
        )
        cursor = encode_cursor(str(result.next_skip)) if result.next_skip else ""
        return Answer(body, window, retained_from_ms, result.truncated_by, cursor)


def derivation_path(derivation: Derivation) -> Path:
    """Return a derivation of the store in the form of an answer, without operations of hidden datasets."""
    shown = (item for item in derivation.operations if not is_hidden_operation(item.name))
    return Path(
        operations=tuple(map(_step, shown)),
        runs=tuple(key.run for key in derivation.runs),
        run_count=derivation.run_count,
        first_start=derivation.first_start_ms,
        last_start=derivation.last_start_ms,
    )


def _step(operation: Operation) -> Step:
    """Return an operation as a step without hidden inputs; a READ has the name of its dataset as input."""
    if isinstance(operation, Read):
        inputs = [operation.source.name]
    else:
        # The answer has no member for the number of a hidden input.
        inputs = [item.name for item in inputs_of(operation) if not is_hidden_operation(item.origin)]
    return Step(
        inputs=tuple(inputs),
        outputs=tuple(output.name for output in outputs_of(operation)),
        name=operation.name,
        description=operation.description,
    )
