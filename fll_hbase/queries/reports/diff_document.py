"""The diff of a field or dataset as a document: how fields are made in only one of two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.field_lineage import parse_node_id
from fll_hbase.queries.reports import diff_verdict
from fll_hbase.queries.reports.diff_verdict import KINDS, Kind
from fll_hbase.queries.reports.report_document import (
    Document,
    Section,
    Stamp,
    count_text,
    warnings,
)
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.json_types import Json

_ID_CHARACTERS = 8
"""Number of characters of a digest that name a way; the annex has the whole digest."""

_SIGNS = {"gained": "+ gained", "lost": "− lost"}
_CUT = {"gained": "base window", "lost": "window"}
"""The window whose truncation leaves out the gained or lost parts."""

_COLUMNS = {
    "derivations": ("Way", "Runs", "First run", "Last run"),
    "sources": ("Field",),
    "operations": ("Operation", "What it does"),
    "edges": ("From", "To", "By operation"),
}

LEGEND = {
    "Way": "all operations that lead into a field, with their links. A changed operation or link makes"
    " another way; two ways may have the same parts, linked in another way",
    "Gained": "in runs of the window, in no run of the base window",
    "Lost": "in runs of the base window, in no run of the window",
    "Source": "a field that an operation reads from a dataset, at the beginning of a way",
    "Link": "an operation takes a field and makes another one of it, or writes it",
    "Shapes it": "the field decides which rows or groups there are, its value is not taken",
    "What lineage cannot know": "whether the values were right, what a program did beside the operations that"
    " were recorded for it, and runs that were not recorded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The subject of a diff by name, the window and the base window, and the parameters that select runs."""

    name: str
    window: Window
    base: Window
    indirect: bool

    def facts(self, stamp: Stamp) -> dict[str, str]:
        """Return both windows, and whether failed runs and indirect inputs count, by name."""
        facts = {
            "Runs that started": _window_text(self.window, stamp),
            "Compared with those": _window_text(self.base, stamp),
        }
        if self.window.failed:
            facts["Failed and aborted runs"] = "included"
        if not self.indirect:
            facts["What only shapes it"] = "left out"
        return facts


def field_diff_document(body: Json, stamp: Stamp, comparison: Comparison) -> Document:
    """Return the diff of a field as a document, without tables if nothing was gained or lost."""
    has_changes = any(diff_verdict.changes(body, kind) for kind in KINDS)
    return Document(
        title=f"Changes of {comparison.name}",
        question=f"What changed in how {comparison.name} is made?",
        facts=comparison.facts(stamp),
        stamp=stamp,
        verdict=diff_verdict.field_verdict(body),
        warnings=[*_limits(body, stamp, comparison), *_omitted(body)],
        sections=[_kind_section(body, kind, stamp) for kind in KINDS] if has_changes else [],
        annex=[_digests([("", body)])] if has_changes else [],
        legend=LEGEND,
    )


def dataset_diff_document(body: Json, stamp: Stamp, comparison: Comparison) -> Document:
    """Return the diff of a dataset as a document: the fields that differ, if any, and their changes."""
    fields: Sequence[Json] = body["fields"]
    return Document(
        title=f"Changes of the fields of {comparison.name}",
        question=f"What changed in how the fields of {comparison.name} are made?",
        facts=comparison.facts(stamp),
        stamp=stamp,
        verdict=diff_verdict.dataset_verdict(body),
        warnings=[*_limits(body, stamp, comparison)],
        sections=[_overview(body), *(_field_section(field, stamp) for field in fields)] if fields else [],
        annex=[_digests((field["field"], field) for field in fields)] if fields else [],
        legend=LEGEND,
    )


def _change_rows(diff: Json) -> list[Row]:
    """Return a row for each gained or lost part of a diff; times are in UTC."""
    rows: list[Row] = []
    for kind in KINDS:
        for change, part in diff_verdict.changes(diff, kind):
            name, detail = _short_cells(part, kind, Stamp(0))
            rows.append({"change": change, "part": kind.noun, "name": name, "detail": detail})
    return rows


def _changes_by_field(body: Json) -> list[Row]:
    return [{"field": diff["field"], **row} for diff in body["fields"] for row in _change_rows(diff)]


FIELD_TABLE = TableShape(("change", "part", "name", "detail"), _change_rows)
DATASET_TABLE = TableShape(("field", *FIELD_TABLE.columns), _changes_by_field)


def _window_text(window: Window, stamp: Stamp) -> str:
    """Return the start and end of a window as text, with their zone."""
    start, stop = stamp.time(window.start_ms), stamp.time(window.stop_ms)
    return f"from {start} until {stop} {stamp.zone}, the end not included"


def _limits(body: Json, stamp: Stamp, comparison: Comparison) -> Iterator[str]:
    """Yield the warnings about a diff, and what deleted runs mean for its changes."""
    yield from warnings(body, stamp)
    if "retainedFrom" not in body:
        return
    for window, change, other in (
        (comparison.base, "gained", "base window"),
        (comparison.window, "lost", "window"),
    ):
        if window.start_ms < body["retainedFrom"]:
            yield (
                f"The {other} begins before that: what is listed as {change} may have been in runs of it"
                " that were deleted."
            )


def _omitted(diff: Json) -> Iterator[str]:
    """Yield a warning for each kind of change that is left out because a limit cut a window."""
    for change in diff.get("omitted", ()):
        yield (
            f"Operations, links and sources that were {change} are not listed: a limit cut the"
            f" {_CUT[change]}, and they may be in what was cut."
        )


def _kind_section(diff: Json, kind: Kind, stamp: Stamp) -> Section:
    """Return the changes of one kind of parts as a table."""
    rows = [[_SIGNS[change], *_cells(part, kind, stamp)] for change, part in diff_verdict.changes(diff, kind)]
    counts = diff_verdict.counts_text(diff, kind) or "none listed"
    return Section(f"{kind.title}: {counts}", ("Change", *_COLUMNS[kind.member]), rows)


def _cells(part: Json, kind: Kind, stamp: Stamp) -> list[str]:
    """Return the cells of a part, in the order of the columns of its kind."""
    match kind.member:
        case "derivations":
            starts = (stamp.time(part[name]) if name in part else "" for name in ("firstStart", "lastStart"))
            runs = f"{part['runs']:,}" if part["runs"] else "not counted"
            return [part["digest"][:_ID_CHARACTERS], runs, *starts]
        case "sources":
            return [name_json.text(part)]
        case "operations":
            return [part["name"], diff_verdict.operation_text(part)]
        case _:
            shapes = " (shapes it)" if part.get("influence") == "indirect" else ""
            return [_node_text(part["from"]) + shapes, _node_text(part["to"]), part["operation"]]


def _overview(body: Json) -> Section:
    """Return the fields that differ, with the numbers of ways and the names of operations, as a table."""
    is_complete = diff_verdict.is_complete(body)
    rows = []
    for field in body["fields"]:
        numbers = (f"{len(field[change]['derivations']):,}" for change in _SIGNS)
        absent = diff_verdict.absent_text(field) if is_complete else ""
        rows.append([field["field"], *numbers, absent or diff_verdict.operations_text(field)])
    columns = ("Field", "Ways gained", "Ways lost", "What changed")
    return Section(f"Fields that differ: {len(rows):,}", columns, rows)


def _field_section(field: Json, stamp: Stamp) -> Section:
    """Return all changes of one field of a dataset as one table."""
    rows = [
        [_SIGNS[change], kind.noun, *_short_cells(part, kind, stamp)]
        for kind in KINDS
        for change, part in diff_verdict.changes(field, kind)
    ]
    note = " ".join([diff_verdict.common_text(field), *_omitted(field)])
    return Section(field["field"], ("Change", "Part", "Name", "What it is"), rows, note)


def _short_cells(part: Json, kind: Kind, stamp: Stamp) -> tuple[str, str]:
    """Return a part as two cells: its name, and its other facts."""
    name, *others = _cells(part, kind, stamp)
    match kind.member:
        case "derivations":
            _, first, last = others
            runs = count_text(part["runs"], "run") if part["runs"] else "runs that were not counted"
            span = f", at {first}" if first == last else f", from {first} to {last}"
            return name, runs + (span if first else "")
        case "edges":
            target, operation = others
            return f"{name} → {target}", f"by {operation}"
        case _:
            return name, "".join(others)


def _digests(diffs: Iterable[tuple[str, Json]]) -> Section:
    """Return the ways of diffs, by field name, with their ids in the API, as a table.

    If all names are "", it has no column of names.
    """
    (ways, *_) = KINDS
    rows = [
        [name, _SIGNS[change], part["digest"], part["checksum"]]
        for name, diff in diffs
        for change, part in diff_verdict.changes(diff, ways)
    ]
    columns = ("Field", "Change", "Digest of the way", "Content of its newest run")
    # The diff of one field has no column `Field`: the title names it.
    skipped = 0 if any(row[0] for row in rows) else 1
    return Section("ids of the ways in the API", columns[skipped:], [row[skipped:] for row in rows])


def _node_text(node: str) -> str:
    """Return a node of a link as `field of operation`, or a hidden dataset as `hidden 1`."""
    origin, name = parse_node_id(node)
    return f"{name} of {origin}" if origin else name
