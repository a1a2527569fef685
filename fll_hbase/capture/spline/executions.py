"""From a plan of Spline and its executions to an OpenLineage event for each execution."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from fll_hbase.capture.resolver.dataset_names import DatasetName
from fll_hbase.capture.resolver.dump import Application, Execution
from fll_hbase.capture.resolver.events import DIRECT_KINDS, FieldInput, WriteEvent, to_json
from fll_hbase.capture.resolver.plan_lineage import ColumnLineage
from fll_hbase.capture.spline.spline_plan import AttributeResolver, SplinePlan, read_plan
from fll_hbase.runtime.errors import InputError, UnreadableDocument
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import Part, Validator

PLAN, EVENTS, EVENT = "executionPlan", "executionEvents", "executionEvent"
TIME_LIMIT_MS = 253_402_300_800_000
"""The year 10000, which ISO 8601 times do not have."""

_CHANGES = ("delete", "merge", "update")
"""Parts of the names of writes that keep rows, whose columns Spline does not describe."""


def read_executions(raw: bytes, *, namespace: str) -> Iterator[bytes | InputError]:
    """Yield an OpenLineage event in JSON for each execution of a plan, or its error if it is unreadable.

    The text has the members `executionPlan` and either `executionEvents` (a list) or `executionEvent`. Jobs
    get `namespace`. An empty list gives nothing. Raises UnreadableDocument if the plan is unreadable, or if
    `executionEvent` is missing and `executionEvents` is missing or not a list. Raises TooLarge for JSON with
    too many objects and arrays (`strict_json`).
    """
    validator = Validator()
    top = Part(validator, strict_json.parse(raw)).as_object()
    plan = read_plan(top.member(PLAN, {}))
    if EVENT not in top and EVENTS not in top:
        top.error("missing", EVENTS)
    _check(validator)
    events = [top.member(EVENT)] if EVENT in top else top.items(EVENTS)
    write = _write_event(plan)
    for item in events:
        execution = Part(Validator(), item.value, item.path)
        try:
            yield msgspec.json.encode(_event(plan, write, execution, namespace))
        except InputError as error:
            yield error
    validator.check()


def _event(plan: SplinePlan, write: WriteEvent, part: Part, namespace: str) -> Json:
    """Return the event of one execution. Raises UnreadableDocument."""
    time_ms = part.as_object().integer("timestamp", below=TIME_LIMIT_MS)
    if part.get("planId", plan.id) != plan.id:
        part.error(f"must be the id of the plan, {plan.id}", "planId")
    extra = part.optional_object("extra")
    app_id, discriminator = extra.text("appId"), part.text("discriminator")
    _check(part.validator)
    duration_ns = part.get("durationNs")
    duration_ms = duration_ns // 1_000_000 if type(duration_ns) is int and duration_ns > 0 else 0
    application = Application(app_id or plan.id, plan.name, 0, version=plan.spark_version)
    execution = Execution(0, 0, max(time_ms - duration_ms, 0), time_ms, error=_error(part.get("error")))
    event = to_json(replace(write, application=application, execution=execution), namespace)
    # Spline has no id of an execution, but stores one execution of a plan at a time, for each discriminator.
    identity = "\0".join((plan.id, str(time_ms), discriminator))
    event["run"]["runId"] = str(uuid.uuid5(uuid.NAMESPACE_URL, identity))
    return event


def _check(validator: Validator) -> None:
    """Raise UnreadableDocument for errors, and for parts of wrong types: lineage would lack them."""
    if validator.errors or validator.warnings:
        raise UnreadableDocument([*validator.errors, *validator.warnings])


def _error(value: object) -> str:
    """Return the error of an execution as a text: "" for null, JSON unless it is a text, `failed` for ""."""
    if value is None:
        return ""
    return (value if isinstance(value, str) else json.dumps(value)) or "failed"


def _inputs(column: ColumnLineage, names: Sequence[DatasetName]) -> tuple[FieldInput, ...]:
    """Return the inputs of a column, direct ones first, each sorted, with the names of their datasets."""
    direct = (
        FieldInput(names[number], name, "DIRECT", DIRECT_KINDS[kind], masked=masked)
        for (number, name), kind, masked in sorted(column.direct)
    )
    indirect = (
        FieldInput(names[number], name, "INDIRECT", kind) for (number, name), kind in sorted(column.indirect)
    )
    return (*direct, *indirect)


def _write_event(plan: SplinePlan) -> WriteEvent:
    """Return the write of a plan, without its application and execution. Raises UnreadableDocument."""
    resolver = AttributeResolver(plan)
    is_change = any(word in plan.write.name.lower() for word in _CHANGES)
    types: dict[str, str] = {}
    resolved: dict[str, ColumnLineage | None] = {}
    for identity in plan.written or ():
        node = plan.nodes.get(("__attrId", identity), {})
        name = node.get("name")
        if isinstance(name, str) and name and not is_change:
            types[name] = plan.types.get(str(node.get("dataType")), "")
            resolved[name] = resolver.resolve(("__attrId", identity))
    fields: dict[str, tuple[FieldInput, ...]] | None = None
    if plan.written is not None and not is_change:
        # A column that is left out has unknown inputs.
        fields = {
            name: _inputs(column, resolver.names) for name, column in resolved.items() if column is not None
        }
    rows = _inputs(ColumnLineage(indirect=resolver.rows(plan)), resolver.names)
    application, execution = Application("", "", 0), Execution(0, 0, 0, 0)
    return WriteEvent(application, execution, plan.output, resolver.names, fields, rows, types=types)
