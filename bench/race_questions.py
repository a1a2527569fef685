"""Questions of the race: how the store and the tables made by hand are asked, and when answers are equal.

Answers are compared part by part. For derivations, these are their operations, the number of runs, and the
newest and oldest run. Paths of reports are left out, since any of several shortest paths is right.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, TypeAlias
from urllib.parse import urlencode

import msgspec

from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.race_by_hand import ByHand, ConsumptionRows, ReachRows, WayRow
from bench.race_workload import DAYS, SEED, Workload, starting_fields
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.window import Window
from fll_hbase.queries.diff import DatasetDiff
from fll_hbase.queries.reports.field_report import Consumption
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.json_types import Json

LEVEL = 5
WEEK_MS, MONTH_MS = 7 * DAY_MS, 30 * DAY_MS
_FIRST_STOP_DAY, _BASE_WEEKS_MAX = 120, 15
_RUNS_MAX = 10_000

Parts: TypeAlias = Mapping[str, Sequence[tuple[Any, ...]]]
"""An answer in the form in which it is compared: the rows of each part, sorted unless their order matters."""


class DifferentAnswers(Exception):
    """The store and the tables made by hand answer a question differently."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a field, or about its dataset for the field `*`. `base` is the compared window."""

    field: DatasetField
    window: Window
    base: Window

    def __str__(self) -> str:
        windows = (f"{window.start_ms} to {window.stop_ms}" for window in (self.window, self.base))
        return f"{self.field.dataset}.{self.field.name}, {' and '.join(windows)}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question: how it is asked of both, and how their answers are compared.

    The store's answer may take `ratio_max` times as long as the tables' answer. `path` returns the path of
    the HTTP request. Questions are about fields of some namespaces that are read (`is_source`) or written, or
    about their datasets (`is_dataset`).
    """

    name: str
    ratio_max: int
    window_ms: int
    namespaces: tuple[str, ...]
    ask_store: Callable[[LocalClient, Question], Any]
    ask_by_hand: Callable[[ByHand, Question], Any]
    store_parts: Callable[[Any], Parts]
    by_hand_parts: Callable[[Any], Parts]
    path: Callable[[Question], str] | None = None
    is_source: bool = False
    is_dataset: bool = False

    def questions(
        self, workload: Workload, recorded: Sequence[FieldLineageInfo], count: int
    ) -> list[Question]:
        """Return the first questions about fields of contents that were recorded, the same at every size."""
        return list(islice(self._questions(workload, recorded), count))

    def _questions(self, workload: Workload, recorded: Sequence[FieldLineageInfo]) -> Iterator[Question]:
        rng = random.Random(f"{SEED} {self.name}")
        fields = self._fields([content for program in workload.programs for content in program.contents])
        recorded_fields = set(self._fields(recorded))
        rng.shuffle(fields)
        for field in fields:
            stop_ms = FIRST_DAY_MS + rng.randint(_FIRST_STOP_DAY, DAYS) * DAY_MS
            base_stop_ms = stop_ms - rng.randint(1, _BASE_WEEKS_MAX) * WEEK_MS
            if field in recorded_fields:
                window = Window(stop_ms - self.window_ms, stop_ms)
                yield Question(field, window, Window(base_stop_ms - self.window_ms, base_stop_ms))

    def _fields(self, contents: Sequence[FieldLineageInfo]) -> list[DatasetField]:
        fields = starting_fields(contents, is_source=self.is_source)
        if self.is_dataset:
            fields = sorted({DatasetField(field.dataset, WHOLE_DATASET) for field in fields})
        return [field for field in fields if field.dataset.namespace in self.namespaces]

    def check_equal(self, question: Question, store: Parts, by_hand: Parts) -> None:
        """Raise DifferentAnswers with the first row in which two answers differ."""
        for part in sorted(store.keys() | by_hand.keys()):
            rows = zip_longest(store.get(part, ()), by_hand.get(part, ()))
            for number, (row, other) in enumerate(rows):
                if row != other:
                    raise DifferentAnswers(
                        f"{self.name} of {question}: row {number} of {part} is {row!r} of the store,"
                        f" {other!r} by hand"
                    )


def _ask_reach(client: LocalClient, question: Question, *, causal: bool) -> Json:
    (namespace, name), field = question.field
    window = _window_text(question.window)
    answer = client.reach(
        namespace, name, field, start=window.start, end=window.end, level=LEVEL, causal=causal
    )
    return _object(msgspec.to_builtins(answer.body))


def _reach_path(question: Question, *, causal: bool) -> str:
    field = question.field
    params = {**_window_params(question.window), "level": LEVEL, "causal": str(causal).lower()}
    base = (
        f"/v3/namespaces/{field.dataset.namespace}/endpoints/{field.dataset.name}/fields/{field.name}/reach"
    )
    return f"{base}?{urlencode(params)}"


def _reach_parts(body: Json) -> Parts:
    edges = [
        (*_names(edge["from"]), *_names(edge["to"]), edge["influence"] == "direct", *_span(edge))
        for edge in body["edges"]
    ]
    fields = [(*_names(node), node["hops"]) for node in body["nodes"]]
    return {"fields": sorted(fields), "edges": sorted(edges), **_incomplete(body)}


def _reach_row_parts(rows: ReachRows) -> Parts:
    return {
        "fields": sorted((*name, hops) for name, hops in rows.fields),
        "edges": sorted((*source, *to, direct, *span) for source, to, direct, span in rows.edges),
    }


def _ask_consumption(client: LocalClient, question: Question) -> Json:
    return _object(msgspec.to_builtins(client.ask(_consumption(question)).body))


def _consumption(question: Question) -> Consumption:
    dataset, window = question.field.dataset, _window_text(question.window)
    return Consumption(
        dataset.namespace, dataset.name, question.field.name, start=window.start, end=window.end
    )


def _consumption_path(question: Question) -> str:
    query = replace(_consumption(question), limit=_RUNS_MAX)
    return f"/{'/'.join(query.segments())}?{urlencode(query.params())}"


def _consumption_parts(body: Json) -> Parts:
    members = (
        "run",
        "namespace",
        "application",
        "version",
        "type",
        "program",
        "startTime",
        "state",
        "checksum",
    )
    return {
        "runs": [tuple(run[member] for member in members) for run in body["runs"]],
        "programs": sorted(
            (
                *(program[member] for member in ("namespace", "application", "program", "type", "failed")),
                *_span(program),
            )
            for program in body["programs"]
        ),
        "derived": sorted(
            (
                *_names(item),
                item["hops"],
                item["influence"] == "direct",
                item.get("dropped", False),
                *_span(item),
            )
            for item in body["derived"]
        ),
        "dropped": [(body["dropped"],)],
        **_incomplete(body),
    }


def _consumption_row_parts(rows: ConsumptionRows) -> Parts:
    return {
        "runs": [(*run[:8], run.checksum) for run in rows.runs],
        "programs": sorted((*row.program, row.failed, *row.span) for row in rows.programs),
        "derived": sorted((*row.name, row.hops, row.direct, row.dropped, *row.span) for row in rows.derived),
        "dropped": [(rows.dropped,)],
    }


def _ask_derivations(client: LocalClient, question: Question) -> Json:
    (namespace, name), field = question.field
    window = _window_text(question.window)
    answer = client.derivations(namespace, name, field, start=window.start, end=window.end)
    return _object(msgspec.to_builtins(answer.body))


def _derivation_parts(body: Json) -> Parts:
    ways = [
        (_operations(way["operations"]), len(way["runs"]), way["runs"][0], way["runs"][-1])
        for way in body["paths"]
    ]
    return {"ways": ways, **_incomplete(body)}


def _way_parts(rows: Sequence[WayRow]) -> Parts:
    return {
        "ways": [
            (_operations(json.loads(row.operations)), row.runs, row.last_run, row.first_run) for row in rows
        ]
    }


def _ask_diff(client: LocalClient, question: Question) -> Json:
    return _object(msgspec.to_builtins(client.ask(_diff(question)).body))


def _diff(question: Question) -> DatasetDiff:
    dataset, base = question.field.dataset, _window_text(question.base)
    window = _window_text(question.window)
    return DatasetDiff(
        dataset.namespace,
        dataset.name,
        start=window.start,
        end=window.end,
        base_start=base.start,
        base_end=base.end,
    )


def _diff_path(question: Question) -> str:
    query = _diff(question)
    return f"/{'/'.join(query.segments())}?{urlencode(query.params())}"


def _diff_parts(body: Json) -> Parts:
    return {"fields": [(field["field"],) for field in body["fields"]], **_incomplete(body)}


KINDS = (
    Kind(
        "reach",
        ratio_max=4,
        window_ms=WEEK_MS,
        namespaces=("mart",),
        ask_store=lambda client, question: _ask_reach(client, question, causal=False),
        ask_by_hand=lambda by_hand, question: by_hand.reach(
            question.field, question.window, level=LEVEL, causal=False
        ),
        store_parts=_reach_parts,
        by_hand_parts=_reach_row_parts,
        path=lambda question: _reach_path(question, causal=False),
    ),
    Kind(
        "causal",
        ratio_max=6,
        window_ms=WEEK_MS,
        namespaces=("mart",),
        ask_store=lambda client, question: _ask_reach(client, question, causal=True),
        ask_by_hand=lambda by_hand, question: by_hand.reach(
            question.field, question.window, level=LEVEL, causal=True
        ),
        store_parts=_reach_parts,
        by_hand_parts=_reach_row_parts,
        path=lambda question: _reach_path(question, causal=True),
    ),
    Kind(
        "consumption",
        ratio_max=20,
        window_ms=MONTH_MS,
        namespaces=("raw", "staged"),
        ask_store=_ask_consumption,
        ask_by_hand=lambda by_hand, question: by_hand.consumption(question.field, question.window),
        store_parts=_consumption_parts,
        by_hand_parts=_consumption_row_parts,
        path=_consumption_path,
        is_source=True,
    ),
    Kind(
        "derivations",
        ratio_max=5,
        window_ms=MONTH_MS,
        namespaces=("staged", "core", "mart"),
        ask_store=_ask_derivations,
        ask_by_hand=lambda by_hand, question: by_hand.derivations(question.field, question.window),
        store_parts=_derivation_parts,
        by_hand_parts=_way_parts,
    ),
    Kind(
        "diff",
        ratio_max=8,
        window_ms=WEEK_MS,
        namespaces=("staged", "core", "mart"),
        ask_store=_ask_diff,
        ask_by_hand=lambda by_hand, question: by_hand.diff(
            question.field.dataset, question.window, question.base
        ),
        store_parts=_diff_parts,
        by_hand_parts=lambda names: {"fields": sorted((name,) for name in names)},
        path=_diff_path,
        is_dataset=True,
    ),
)


def _object(body: Any) -> Json:
    """Return the body of an answer, which is a JSON object."""
    return dict(body)


def _names(body: Json) -> tuple[str, str, str]:
    return body["namespace"], body["name"], body["field"]


def _span(body: Json) -> tuple[int, int, int, str]:
    return body["runs"], body["firstStart"], body["lastStart"], body["lastRun"]


def _incomplete(body: Json) -> Parts:
    """Return what the tables never have: limits that cut an answer, and relations without fields."""
    unknown = [(*item["source"].values(), *item["destination"].values()) for item in body.get("unknown", ())]
    more = [("moreRuns",)] if body.get("moreRuns") else []
    return {"limits": [*((limit,) for limit in body.get("truncatedBy", ())), *more], "unknown": unknown}


def _operations(steps: Sequence[Json]) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (step["name"], step["description"], tuple(step["inputs"]), tuple(step["outputs"])) for step in steps
    )


def _window_text(window: Window) -> WindowText:
    return WindowText(**_window_params(window))


def _window_params(window: Window) -> dict[str, str]:
    """Return the bounds of a window in seconds since 1970: windows of the race begin and end at midnight."""
    return {"start": str(window.start_ms // 1_000), "end": str(window.stop_ms // 1_000)}
