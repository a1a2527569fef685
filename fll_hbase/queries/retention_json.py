"""The retention report as JSON of the REST contract, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fll_hbase.model.runs import ProgramRun
from fll_hbase.queries import name_json, rest_json
from fll_hbase.queries.policies import policy_body
from fll_hbase.runtime import csv_text
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import ExpiredField, ProgramRuns, RetentionReport

CSV_COLUMNS = (
    "namespace",
    "name",
    "field",
    "sourceNamespace",
    "sourceName",
    "sourceField",
    "hops",
    "programNamespace",
    "application",
    "program",
    "type",
    "runs",
    "oldestRun",
    "oldestStart",
    "newestRun",
    "newestStart",
)


def retention_report(report: RetentionReport) -> Json:
    """Return a report; starts and the window are in milliseconds since 1970."""
    body: Json = {
        "policy": msgspec.to_builtins(policy_body(report.policy)),
        "window": {"start": report.window.start_ms, "end": report.window.stop_ms},
        "fields": [_expired_field(item) for item in report.fields],
    }
    if report.retained_from_ms > report.window.start_ms:
        body["retainedFrom"] = report.retained_from_ms
    return rest_json.truncatable(body, report.truncated_by)


def to_csv(body: Json) -> str:
    """Return a line for each field and program, after a line of the column names."""
    return csv_text.to_csv(CSV_COLUMNS, rows(body))


def rows(body: Json) -> Iterator[list[object]]:
    """Yield the cells of CSV_COLUMNS for each field and program."""
    for item in body["fields"]:
        yield from _rows(item)


def _rows(item: Json) -> Iterator[list[object]]:
    source = item["path"][0]
    ends = [name for step in (item, source) for name in name_json.names(step, ("namespace", "name", "field"))]
    for program in item["programs"]:
        names = name_json.names(program, name_json.PROGRAM)
        counts = [program[name] for name in CSV_COLUMNS[-5:]]
        yield [*ends, len(item["path"]) - 1, *names, *counts]


def _expired_field(item: ExpiredField) -> Json:
    programs = item.written.programs
    oldest = min((program.oldest for program in programs), key=_start_and_id)
    newest = max((program.newest for program in programs), key=_start_and_id)
    return {
        **name_json.field(item.path[-1]),
        "path": [name_json.field(step) for step in item.path],
        "runs": sum(program.runs for program in programs),
        **_span(oldest, newest),
        "programs": [_program(program) for program in programs],
    }


def _program(program: ProgramRuns) -> Json:
    return {
        **name_json.program(program.newest),
        "runs": program.runs,
        **_span(program.oldest, program.newest),
    }


def _span(oldest: ProgramRun, newest: ProgramRun) -> Json:
    return {
        "oldestRun": oldest.run,
        "oldestStart": oldest.start_ms,
        "newestRun": newest.run,
        "newestStart": newest.start_ms,
    }


def _start_and_id(run: ProgramRun) -> tuple[int, str]:
    return run.start_ms, run.run
