"""The history of a field: stretches of runs that derived it in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from fll_hbase.queries.names import RUN_NAMESPACE
from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import INDIRECT_HELP, Answer, Body, FieldQuery, WindowBody, WindowedWithFailed
from fll_hbase.queries.tables import CSV, TableShape, member_rows

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore


class Stretch(Body, frozen=True, kw_only=True):
    """Consecutive runs that derived a field in the same way; starts are in milliseconds since 1970."""

    checksum: Annotated[str, Meta(description="Checksum of the newest run's content")]
    first_run: str
    last_run: str
    first_run_namespace: Annotated[str | None, RUN_NAMESPACE] = None
    last_run_namespace: Annotated[str | None, RUN_NAMESPACE] = None
    first_start: int
    last_start: int
    runs: Annotated[int, Meta(description="Runs that wrote the field")]
    missing: Annotated[int, Meta(description="Runs between these that wrote the dataset without the field")]
    missing_after: Annotated[
        int,
        Meta(description="Such runs after the newest run, up to the next stretch or the end of the window"),
    ]


class HistoryAnswer(WindowBody, frozen=True, kw_only=True):
    """The stretches of a field, the newest first."""

    stretches: tuple[Stretch, ...]
    missing_before: Annotated[
        int, Meta(description="Runs before the first stretch that wrote the dataset without the field")
    ]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


_TABLE = TableShape(
    (
        *("checksum", "firstRun", "lastRun", "firstStart", "lastStart"),
        *("runs", "missing", "missingAfter", "firstRunNamespace", "lastRunNamespace"),
    ),
    member_rows("stretches"),
    times=("firstStart", "lastStart"),
)


@dataclass(frozen=True, kw_only=True)
class History(WindowedWithFailed, FieldQuery[HistoryAnswer]):
    """Return the stretches of runs that derived a field in the same way.

    A new stretch begins where the operations that lead into the field, or their connections, change. Runs
    that wrote the dataset without the field end no stretch and are counted as `missing`. Without `indirect`,
    indirect inputs are not compared; `failed` includes failed and aborted runs. On days without a seal, runs
    are read one by one, newest first, up to FLL_RUNS_MAX; older runs are then left out. With
    `Accept: text/csv` the answer is a line for each stretch.

    >>> answer = client.history("hospital", "PatientRecords", "patient_medical_score", start="now-90d")
    >>> [(stretch.runs, stretch.missing) for stretch in answer.body.stretches]
    [(45, 0), (42, 0)]
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/history"
    result: ClassVar[str] = "The newest stretch first"
    table: ClassVar[TableShape] = _TABLE
    formats: ClassVar[Mapping[str, Callable[[Any], str]]] = {CSV: _TABLE.to_csv}
    example: ClassVar[HistoryAnswer] = HistoryAnswer(
        stretches=(
            Stretch(
                checksum="ece74472f39e798217abf807fc7740f5",
                first_run="65e3088a-fe6c-54e0-8353-d756eed92917",
                last_run="8038bff3-25ee-5731-baeb-7b81313322a9",
                first_start=1756097118743,
                last_start=1759985114185,
                runs=45,
                missing=0,
                missing_after=0,
            ),
        ),
        missing_before=0,
        truncated=False,
    )

    indirect: Annotated[bool, About(INDIRECT_HELP)] = True

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[HistoryAnswer]:
        """Return the history. Raises InvalidQuery, NotFound for an unknown field, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        history = store.history(self.dataset_field, window, indirect=self.indirect)
        body = HistoryAnswer(
            stretches=tuple(map(stretch, history.stretches)),
            missing_before=history.missing_before,
            truncated=bool(history.truncated_by),
            truncated_by=history.truncated_by,
        )
        return Answer(body, window, retained_from_ms, history.truncated_by)


def stretch(item: results.Stretch) -> Stretch:
    """Return a stretch of the store in the form of an answer."""
    return Stretch(
        checksum=item.checksum,
        first_run=item.first_run.run,
        last_run=item.last_run.run,
        first_run_namespace=item.first_run.namespace or None,
        last_run_namespace=item.last_run.namespace or None,
        first_start=item.first_start_ms,
        last_start=item.last_start_ms,
        runs=item.runs,
        missing=item.missing,
        missing_after=item.missing_after,
    )
